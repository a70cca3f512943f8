"""Questions about Docs that a component has processed: its own output is no constraint, all other annotation is."""

import math
import pickle
import threading

import pytest
from spacy.tokens import Doc, Span
from spacy.training import Example

from ..inspect.test_confidence import TEXTS
from .components import COMPONENTS, OF_TOKENS, ORDER_1, SVM, every, learnt, learnt_as, written
from .toy import SPANS, doc, morph_label, tree_of

OF = {
    "ssvm_tagger": [(token, tag) for token in range(3) for tag in ("NOUN", "VERB", "PRON")],
    "ssvm_morphologizer": [(token, morph_label(pos)) for token in range(3) for pos in ("NOUN", "VERB", "PRON")],
    "ssvm_ner": [(0, 1, "PER"), (0, 2, "PER"), (3, 4, "PER"), (1, 4, "GPE")],
    "ssvm_senter": [1, 3, 4],
    "ssvm_lemmatizer": [(token, script) for token in range(3) for script in ("lower|0>|0>", "lower|0>|1>")],
    "ssvm_parser": [(1, 0, "nsubj"), (1, 0, "obj"), (2, 0, "nsubj"), (0, 0, "ROOT"), (1, 1, "ROOT")],
}
ALL = 10_000


def asked(factory, pipe, tokens):
    """All answers about a Doc."""
    findings = [(f.start, f.end, f.label, f.head, f.margin, f.runner_up) for f in pipe.explain(tokens).findings]
    return pipe.kbest(tokens, 5), findings, getattr(pipe, COMPONENTS[factory].scored)(tokens)


def settings(factory):
    return {**SVM, **ORDER_1.get(factory, {})}


@every
@pytest.mark.parametrize("overwrite", [False, True])
def test_answers_about_a_processed_doc_are_those_about_the_text(factory, overwrite):
    more = {} if factory == "ssvm_ner" else {"overwrite": overwrite}
    nlp = learnt(factory, **settings(factory), **more)
    pipe, text = nlp.get_pipe(factory), TEXTS[factory]
    expected = asked(factory, pipe, doc(nlp, text))
    once = nlp(doc(nlp, text))
    twice = nlp(nlp(doc(nlp, text)))
    stored = Doc(nlp.vocab).from_bytes(once.to_bytes())
    for processed in (once, twice, stored, once.copy()):
        before = processed.to_bytes()
        assert asked(factory, pipe, processed) == expected
        assert processed.to_bytes() == before
    other = pickle.loads(pickle.dumps(pipe))
    assert asked(factory, other, once) == expected


@every
def test_a_doc_has_one_answer_and_docs_a_list(factory):
    nlp = learnt(factory, **settings(factory))
    pipe = nlp.get_pipe(factory)
    one, other = doc(nlp, TEXTS[factory]), doc(nlp, "Nothing")
    for ask in (pipe.explain, lambda docs: pipe.kbest(docs, 2)):
        assert ask([one, other]) == [ask(one), ask(other)] == ask(iter([one, other]))
        assert ask([]) == []
    scored = getattr(pipe, COMPONENTS[factory].scored)
    pair = [scored(one), scored(other)]
    assert scored([one, other]) == (tuple(map(list, zip(*pair))) if factory == "ssvm_parser" else pair)
    for wrong in ("a text", [one[0]], one[0]):
        with pytest.raises(TypeError, match=rf"\[{factory}\] asks for a Doc, or for an iterable of Docs|not iterable"):
            pipe.kbest(wrong, 1)


def test_what_was_there_before_and_what_was_corrected_are_constraints():
    nlp = learnt("ssvm_ner")
    ner = nlp.get_pipe("ssvm_ner")
    ruler = nlp.add_pipe("entity_ruler", before="ssvm_ner")
    ruler.add_patterns([{"label": "GPE", "pattern": "Berlin"}, {"label": "X", "pattern": "met"}])
    tokens = nlp(doc(nlp, SPANS[1][0]))
    margins = {finding.start: finding.margin for finding in ner.explain(tokens).findings}
    assert margins[4] == math.inf and 0 < margins[0] < math.inf
    nlp.remove_pipe("entity_ruler")
    tokens = nlp(doc(nlp, SPANS[0][0]))
    assert written("ssvm_ner", tokens) == [(0, 2, "PER"), (4, 6, "GPE")]
    tokens.ents = [Span(tokens, 0, 1, "GPE"), tokens.ents[1]]
    margins = {(f.start, f.end, f.label): f.margin for f in ner.explain(tokens).findings}
    assert margins[0, 1, "GPE"] == math.inf and 0 < margins[4, 6, "GPE"] < math.inf
    stored = Doc(nlp.vocab).from_bytes(tokens.to_bytes())
    assert {(f.start, f.end, f.label): f.margin for f in ner.explain(stored).findings} == margins


def test_a_doc_that_is_annotated_in_part_was_not_processed():
    """Its annotation was given, even where it is what would be predicted."""
    nlp = learnt("ssvm_tagger", **SVM)
    pipe = nlp.get_pipe("ssvm_tagger")
    tags = pipe.kbest(doc(nlp, TEXTS["ssvm_tagger"]), 1)[0][1]
    given = doc(nlp, TEXTS["ssvm_tagger"], tags=[tags[0], "", ""])
    assert [finding.margin == math.inf for finding in pipe.explain(given).findings] == [True, False, False]
    assert [finding.margin == math.inf for finding in pipe.explain(nlp(given)).findings] == [True, False, False]


def test_boundaries_of_later_components_are_no_constraint():
    nlp = learnt_as({"ner": "ssvm_ner", "senter": "ssvm_senter", "parser": "ssvm_parser"})
    text = "Tom met Anna in New York . We saw ham"
    tokens = nlp(doc(nlp, text))
    assert tokens.has_annotation("SENT_START")
    for name in ("ner", "senter"):
        assert nlp.get_pipe(name).kbest(tokens, 5) == nlp.get_pipe(name).kbest(doc(nlp, text), 5)
    cut = doc(nlp, text)
    nlp.get_pipe("senter")(cut)
    assert nlp.get_pipe("parser").kbest(tokens, 5) == nlp.get_pipe("parser").kbest(cut, 5)


@pytest.mark.parametrize("bounds", [None, [0, 3]])
def test_boundaries_from_heads_are_told_apart_from_given_ones(bounds):
    nlp = learnt("ssvm_parser", multi_root=True, model=tree_of("projective", 1))
    parser = nlp.get_pipe("ssvm_parser")
    starts = bounds and [place in bounds for place in range(6)]
    bare = [doc(nlp, "Eat ham Nothing the cat sleeps", sent_starts=starts) for _ in range(2)]
    expected = asked("ssvm_parser", parser, bare[0])
    processed = nlp(bare[1])
    for tokens in (processed, processed.copy()):
        assert asked("ssvm_parser", parser, tokens) == expected


def test_calibration_looks_past_predictions():
    nlp, text = learnt("ssvm_ner"), SPANS[0][0]
    gold = doc(nlp, text, ents=["B-PER", "I-PER", "O", "O", "B-GPE", "I-GPE", "O"])
    ner, docs = nlp.get_pipe("ssvm_ner"), (doc(nlp, text), nlp(doc(nlp, text)))
    found = [ner.calibration_examples([Example(tokens, gold)])[0].items(1.0)[0] for tokens in docs]
    assert found[0] == found[1] and len(found[0]) >= 2


@every
def test_what_is_not_predicted_is_explained_too(factory):
    """Against all analyses: how far the best analysis with a part is behind, and which features hold it back."""
    nlp = learnt(factory, **settings(factory))
    pipe, text = nlp.get_pipe(factory), doc(nlp, TEXTS[factory])
    analyses = pipe.kbest(text, ALL)
    assert len(analyses) < ALL

    def has(analysis, part):
        return analysis[part[0]] == part[1] if factory in OF_TOKENS else part in analysis

    signs = set()
    for part in OF[factory]:
        (finding,) = pipe.explain(nlp(doc(nlp, TEXTS[factory])), of=part).findings
        having = [score for score, analysis in analyses if has(analysis, part)]
        others = [score for score, analysis in analyses if not has(analysis, part)]
        margin = max(having, default=-math.inf) - max(others)
        assert finding.margin == pytest.approx(margin, abs=1e-9)
        assert finding.is_predicted == has(analyses[0][1], part)
        signs.add(finding.is_predicted)
        if math.isfinite(margin):
            assert sum(reason.gain for reason in finding.reasons) == pytest.approx(margin, abs=1e-4)
            of_bias = [reason.feature == "bias" for reason in finding.reasons]
            against = [
                (reason.gain > 0) != finding.is_predicted for reason in finding.reasons if reason.feature != "bias"
            ]
            assert of_bias == sorted(of_bias) and against == sorted(against)
        said = pipe.explain(text, part).text()
        if not finding.is_predicted:
            assert ", not predicted: " in said and (" behind " in said or "rule it out" in said)
            assert "not predicted" in pipe.explain(text, part).html()
    assert signs == {True, False}


def test_spans_and_bad_questions():
    nlp = learnt("ssvm_ner")
    ner, text = nlp.get_pipe("ssvm_ner"), doc(nlp, "Anna Berg saw Paris")
    assert ner.explain(text, Span(text, 0, 2, "PER")) == ner.explain(text, (0, 2, "PER"))
    for wrong in ((0, 9, "PER"), (2, 2, "PER"), (-1, 1, "PER"), "PER", 3, (0, "PER"), (0, 1, 2)):
        with pytest.raises(ValueError, match=r"\[ssvm_ner\] explains an entity: .* in a Doc of 4 tokens, not "):
            ner.explain(text, of=wrong)
    with pytest.raises(ValueError, match=r"\[ssvm_ner\] unknown label 'X': the labels are GPE, PER"):
        ner.explain(text, of=(0, 1, "X"))
    with pytest.raises(ValueError, match="part of a single Doc"):
        ner.explain([text], of=(0, 1, "PER"))
    given = doc(nlp, "Anna Berg saw Paris", ents=["B-GPE", "I-GPE", "O", "O"])
    (finding,) = ner.explain(given, (0, 2, "PER")).findings
    assert finding.margin == -math.inf and not finding.reasons
    trees = learnt("ssvm_parser", model=tree_of("projective", 1))
    parser, two = trees.get_pipe("ssvm_parser"), doc(trees, "Eat ham Nothing", sent_starts=[True, False, True])
    assert parser.explain(two, (0, 2, "obj")).findings[0].margin == -math.inf
    for wrong in ((1, 0, "ROOT"), (0, 0, "obj")):
        with pytest.raises(ValueError, match=r"is no label of (a root|an arc): known are"):
            parser.explain(two, wrong)
    with pytest.raises(ValueError, match=r"explains an arc: \(head, token, label\)"):
        parser.explain(two, (5, 0, "obj"))


def test_retokenised_docs_are_unknown():
    nlp = learnt("ssvm_tagger")
    tokens = nlp(doc(nlp, "She eats green ham"))
    with tokens.retokenize() as retokenizer:
        retokenizer.merge(tokens[2:4])
    assert len(nlp.get_pipe("ssvm_tagger").explain(tokens).findings) == 3


@every
def test_user_data_that_cannot_be_copied_stays(factory):
    """A Doc with a lock and a Span in its user data, which `Doc.copy` refuses, is processed and asked about again."""
    nlp = learnt(factory)
    tokens = doc(nlp, TEXTS[factory])
    tokens.user_data["lock"], tokens.user_data["span"] = threading.Lock(), tokens[0:1]
    data, pipe = dict(tokens.user_data), nlp.get_pipe(factory)
    first = written(factory, nlp(tokens))
    assert all(asked(factory, pipe, tokens)[:2])
    assert written(factory, nlp(tokens)) == first
    assert {key: tokens.user_data[key] for key in data} == data
