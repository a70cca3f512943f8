"""Predictions within constraints: the best of those analyses that keep to them, of all that there are."""

from functools import cache

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.util import load_model_from_config

from spacy_ssvm.pipeline.lexicon_patterns import lexicon_patterns
from spacy_ssvm.pipeline.patterns import Patterns

from .components import CRF, every, written
from .toy import EXAMPLES, annotation, blank, doc, trained, tree_of

ALL = 10_000
LABEL = {
    "ssvm_tagger": "VERB",
    "ssvm_morphologizer": "POS=VERB",
    "ssvm_ner": "PER",
    "ssvm_senter": "S",
    "ssvm_parser": "ROOT",
    "ssvm_lemmatizer": "lower|0>|0>",
}
pytestmark = pytest.mark.filterwarnings("ignore:.*(which no training Doc has|sentence boundaries|says of some tokens)")
MODEL = {"ssvm_parser": {"model": tree_of("projective", 1, max_heads=0)}}
"""All arcs are candidates, so that all trees can be listed."""


@cache
def free(factory, **model):
    return trained(factory, **(model or MODEL.get(factory, {})))


def limited(factory, patterns=(), **settings):
    """The same component with other settings."""
    nlp = blank(factory, **MODEL.get(factory, {}), **settings, patterns=list(patterns))
    nlp.get_pipe(factory).from_bytes(free(factory).get_pipe(factory).to_bytes())
    return nlp


def rule(text, index=None, **labels):
    words = [{} if word == "*" else {"LOWER": word.lower()} for word in text.split()]
    return {"patterns": [words], **labels, **({} if index is None else {"index": index})}


def check(factory, nlp, text, keeps, bare=None):
    """The n best of the component are those of the free one that `keeps` is true of, and the best one is written.

    text: a Doc with what is preset. bare: the same without.
    """
    pipe = nlp.get_pipe(factory)
    every = free(factory).get_pipe(factory).kbest(bare or text, ALL)
    expected = [(score, analysis) for score, analysis in every if keeps(analysis)]
    assert expected[0] != every[0], "it must take something else"
    best = pipe.kbest(text, ALL)
    assert [score for score, _ in best] == pytest.approx([score for score, _ in expected], abs=1e-6)
    assert sorted(analysis for _, analysis in best) == sorted(analysis for _, analysis in expected)
    after = nlp(text.copy())
    assert written(factory, after) == best[0][1]
    return after


# Patterns


def test_words_have_the_tags_of_a_lexicon(tmp_path):
    path = tmp_path / "lexicon.tsv"
    path.write_text("saw\tNOUN\nsaw\tDET\nham\tVERB\nsaw\tNOUN\nHam\tNOUN\nNOUN\tNOUN\n", encoding="utf8")
    patterns = {"@misc": "spacy-ssvm.LexiconPatterns.v1", "path": str(path)}
    nlp = limited("ssvm_tagger", lexicon_patterns(path))
    check("ssvm_tagger", nlp, doc(nlp, "We saw ham"), lambda tags: tags[1] in ("NOUN", "DET") and tags[2] == "VERB")
    config = nlp.config.copy()
    config["components"]["ssvm_tagger"]["patterns"] = patterns
    again = load_model_from_config(config, auto_fill=True)
    again.get_pipe("ssvm_tagger").from_bytes(nlp.get_pipe("ssvm_tagger").to_bytes())
    texts = [doc(nlp, "We saw ham"), doc(nlp, "We eat Ham")]
    assert [[t.tag_ for t in again(text.copy())] for text in texts] == [[t.tag_ for t in nlp(text)] for text in texts]


SAW, ANNA, EAT = "She saw ham", "Anna Berg saw Paris", "Dogs eat ham"
NOUN_SAW = [rule("saw", allow=["NOUN", "VERB"]), rule("she saw", forbid=["VERB"], index=-1)]
NO_START = [rule(". *", forbid=["S"], index=1), rule("ham", allow=["S"])]
NO_OBJECT = [rule("Dogs", allow=["ROOT"]), rule("ham", forbid=["obj"])]


@pytest.mark.parametrize(
    ("factory", "text", "patterns", "keeps"),
    [
        ("ssvm_tagger", SAW, NOUN_SAW, lambda tags: tags[1] == "NOUN"),
        ("ssvm_ner", ANNA, [rule("saw", forbid=["O"])], lambda ents: any(s <= 2 < e for s, e, _ in ents)),
        (
            "ssvm_ner",
            ANNA,
            [rule("Anna Berg", allow=["GPE", "O"])],
            lambda ents: all(s > 1 or label == "GPE" for s, _, label in ents),
        ),
        (
            "ssvm_ner",
            ANNA,
            [rule("Anna *", allow=["O"], index=1)],
            lambda ents: not any(s <= 1 < e for s, e, _ in ents),
        ),
        (
            "ssvm_senter",
            "We saw ham . It is",
            NO_START,
            lambda starts: starts[0] == 0 and 4 not in starts and 2 in starts,
        ),
        ("ssvm_parser", EAT, [rule("eat", forbid=["ROOT"])], lambda arcs: arcs[1][2] != "ROOT"),
        ("ssvm_parser", EAT, NO_OBJECT, lambda arcs: arcs[0][0] == 0 and arcs[2][2] != "obj"),
    ],
)
def test_labels_are_allowed_and_forbidden(factory, text, patterns, keeps):
    """Rules of one token are combined; other texts are annotated as without any."""
    nlp = limited(factory, patterns)
    check(factory, nlp, doc(nlp, text), keeps)
    assert annotation(nlp(doc(nlp, "The cat sleeps"))) == annotation(free(factory)(doc(nlp, "The cat sleeps")))


def test_the_first_token_starts_a_sentence_all_the_same():
    nlp = limited("ssvm_senter", NO_START)
    assert written("ssvm_senter", nlp(doc(nlp, ". it ham"))) == [0, 2]
    nlp = limited("ssvm_senter", [rule("We", forbid=["S"])], overwrite=True)
    assert written("ssvm_senter", nlp(doc(nlp, "We saw")))[0] == 0


def test_words_are_matched_as_spacys_matcher_does():
    """Rules of single words are looked up by word; the same rules with an optional word before are not."""
    single = [
        [{"LOWER": {"IN": ["saw", "ham"]}}],
        [{"TEXT": {"REGEX": "^[Ss]"}}],
        [{"shape": "xxx"}],
        [{"LENGTH": {">": 4}, "IS_ALPHA": True}],
        [{"IS_SPACE": True}],
        [{"IS_PUNCT": True}],
    ]
    nlp = spacy.blank("en")
    texts = ["She saw  ham, she said.", "", "Saw\nHAM greenish saw she she saw"]
    docs = [nlp.make_doc(text) for text in texts]
    free = np.ones(sum(map(len, docs)), np.bool_)
    for pattern in single:
        by_word = Patterns("a", nlp.vocab, [{"patterns": [pattern], "forbid": ["A"]}])
        others = [[{"LOWER": "!", "OP": "?"}, *pattern]]
        by_text = Patterns("a", nlp.vocab, [{"patterns": others, "index": -1, "forbid": ["A"]}])
        for given in (docs, docs[::-1]):
            found, expected = (patterns.allowed(given, ["A", "B"], free)[0].tolist() for patterns in (by_word, by_text))
            assert found == expected != []


# What is on a Doc


@pytest.mark.parametrize(
    ("factory", "text", "given", "patterns", "kept"),
    [
        ("ssvm_tagger", SAW, {"tags": ["", "NOUN", ""]}, [rule("saw", forbid=["NOUN"])], ["PRON", "NOUN", "NOUN"]),
        ("ssvm_tagger", SAW, {"tags": ["", "X", "VERB"]}, [rule("saw", forbid=["VERB"])], ["PRON", "X", "VERB"]),
        (
            "ssvm_ner",
            ANNA,
            {"ents": ["B-PER", "I-PER", "", ""]},
            [rule("Anna", forbid=["PER"]), rule("saw", allow=["PER"]), rule("Paris", allow=["GPE"])],
            [(0, 2, "PER"), (2, 3, "PER"), (3, 4, "GPE")],
        ),
    ],
)
def test_annotation_that_is_there_comes_before_patterns(factory, text, given, patterns, kept):
    """Also of labels that the component does not have."""
    nlp = limited(factory, patterns)
    assert written(factory, nlp(doc(nlp, text, **given))) == kept


@pytest.mark.parametrize("overwrite", [False, True])
def test_heads_that_are_there_come_before_patterns_and_the_first_pass(overwrite):
    """Also with a label that the parser does not have."""
    nlp = trained("ssvm_parser", overwrite=overwrite, model=tree_of("projective", 3, max_heads=1))
    text = "I like green eggs and the old dog sleeps today"
    for head, token in ((9, 0), (0, 9), (7, 1)):
        after = nlp(with_heads(nlp, text, {token: (head, "odd")}))
        assert ((after[token].head.i, after[token].dep_) == (head, "odd")) != overwrite


def test_training_does_not_read_tags_that_are_there():
    """They are what is to be learnt."""
    models = []
    for tags in (False, True):
        nlp = blank("ssvm_tagger")
        examples = EXAMPLES["ssvm_tagger"](nlp)
        for example in examples if tags else ():
            for token in example.predicted:
                token.tag_ = "NOUN"
        nlp.initialize(lambda examples=examples: examples)
        nlp.update(examples)
        models.append(nlp.get_pipe("ssvm_tagger").to_bytes(exclude=["vocab"]))
    assert models[0] == models[1]


def with_heads(nlp, text, arcs, **settings):
    """A Doc with some heads: token → (head, label)."""
    n = len(text.split())
    heads = [arcs.get(token, (token, ""))[0] for token in range(n)]
    deps = [arcs.get(token, (token, ""))[1] for token in range(n)]
    found = doc(nlp, text, heads=heads, deps=deps)
    found.from_array(["SENT_START"], np.array(settings.get("starts", [1] + [-1] * (n - 1))).astype(np.uint64))
    return found


@pytest.mark.parametrize("structure", [("projective", 1), ("projective", 3), ("nonprojective", 1)])
@pytest.mark.parametrize(
    "arcs", [{0: (2, "obj")}, {0: (0, "ROOT")}, {2: (0, "nsubj"), 1: (2, "det")}, {0: (1, "amod"), 1: (2, "obj")}]
)
def test_heads_that_are_there(structure, arcs):
    model = {"model": tree_of(*structure, max_heads=0)}
    base = trees_of(structure)
    nlp = blank("ssvm_parser", **model, overwrite=False)
    nlp.get_pipe("ssvm_parser").from_bytes(base.get_pipe("ssvm_parser").to_bytes())
    text = with_heads(nlp, "Dogs eat ham", arcs)
    every = base.get_pipe("ssvm_parser").kbest(doc(nlp, "Dogs eat ham"), ALL)
    expected = [(score, tree) for score, tree in every if all((h, t, label) in tree for t, (h, label) in arcs.items())]
    assert expected[0] != every[0]
    pipe = nlp.get_pipe("ssvm_parser")
    best = pipe.kbest(text, ALL)
    assert [score for score, _ in best] == pytest.approx([score for score, _ in expected], abs=1e-6)
    assert written("ssvm_parser", nlp(text.copy())) == best[0][1] and best[0][1] in [tree for _, tree in expected[:2]]
    (heads,), (labels,) = pipe.scored_parses([text])
    for token, (head, label) in arcs.items():
        assert heads[token, head] == labels[token, label] == np.inf
    findings = {finding.start: finding for finding in pipe.explain(text).findings}
    assert [(findings[t].head, t, findings[t].label) for t in sorted(findings)] == best[0][1]
    assert {token for token, finding in findings.items() if finding.margin == np.inf} >= arcs.keys()
    assert written("ssvm_parser", base(text)) == every[0][1], "unless it overwrites"


@cache
def trees_of(structure):
    return trained("ssvm_parser", model=tree_of(*structure, max_heads=0))


def test_given_heads_are_certain():
    model = tree_of("projective", 1)
    nlp = trained("ssvm_parser", model=model, overwrite=False, **CRF)
    (heads,), (labels,) = nlp.get_pipe("ssvm_parser").scored_parses(
        [with_heads(nlp, "Dogs eat ham", {2: (0, "nsubj")})]
    )
    assert heads[2, 0] == pytest.approx(1.0) and labels[2, "nsubj"] == pytest.approx(1.0)
    assert sum(score for (token, _), score in heads.items() if token == 1) == pytest.approx(1.0, abs=0.02)


# What cannot be


@pytest.mark.parametrize(
    ("arcs", "starts", "reason"),
    [
        ({0: (1, "x"), 1: (2, "x"), 2: (0, "x")}, [1, 0, 0, 0], "token 2 .'the'. .* given heads contain a cycle"),
        ({0: (0, "ROOT"), 2: (2, "ROOT")}, [1, 0, 0, 0], "token 2 .'the'. .* says that it is a root, and an earlier"),
        ({0: (2, "x"), 1: (3, "x")}, [1, 0, 0, 0], "token 1 .'eat'. .* no projective tree within the limits"),
        ({1: (2, "x")}, [1, 0, 1, 0], r"token 1 .'eat'. of .*: its head, token 2 \('the'\), is in another sentence"),
    ],
)
def test_heads_that_contradict_each_other(arcs, starts, reason):
    nlp = limited("ssvm_parser", overwrite=False)
    text = with_heads(nlp, "Dogs eat the ham", arcs, starts=starts)
    for ask in (nlp, lambda text: nlp.get_pipe("ssvm_parser").kbest(text, 1)):
        with pytest.raises(ValueError, match=rf"\[ssvm_parser\] {reason}"):
            ask(text)
    if "root" in reason:
        nlp = trained("ssvm_parser", overwrite=False, multi_root=True, **MODEL["ssvm_parser"])
        assert [nlp(text)[token].head.i for token in arcs] == [*arcs]


NO_TAG = [rule("we", allow=["PRON"]), rule("saw", allow=["NOUN"]), rule("saw", forbid=["NOUN"])]
TWO_ROOTS = [rule("Dogs", allow=["ROOT"]), rule("ham", allow=["ROOT"])]


@pytest.mark.parametrize(
    ("factory", "text", "patterns", "reason"),
    [
        (
            "ssvm_tagger",
            "We saw ham",
            NO_TAG,
            r"token 1 \('saw'\) .*: patterns\[1\] and patterns\[2\] leave it no label",
        ),
        ("ssvm_parser", EAT, TWO_ROOTS, r"token 2 \('ham'\) .*: patterns leave it only labels that no tree within"),
        (
            "ssvm_tagger",
            SAW,
            [rule("saw", index=1, forbid=["VERB"])],
            r"patterns\[0\]: its match 'saw' in 'She saw ham ' has no token with the index 1",
        ),
    ],
)
def test_patterns_that_contradict_each_other(factory, text, patterns, reason):
    nlp = limited(factory, patterns)
    pipe = nlp.get_pipe(factory)
    bad = Doc(nlp.vocab, words=text.split(" "))
    for ask in (nlp, lambda text: pipe.kbest(text, 1)):
        with pytest.raises(ValueError, match=rf"\[{factory}\] {reason}"):
            ask(bad.copy())
    # Others are annotated.
    failed = []
    pipe.set_error_handler(lambda name, pipe, docs, error: failed.extend(docs))
    good = [doc(nlp, "New York"), doc(nlp, "")]
    assert len(list(nlp.pipe([good[0], bad, good[1]]))) == 2
    assert len(failed) == 1 and failed[0] is bad


def test_a_pattern_of_annotation_that_is_not_there():
    nlp = limited("ssvm_tagger", [{"patterns": [[{"LEMMA": "see"}]], "forbid": ["VERB"]}])
    with pytest.raises(ValueError, match="E155"):
        nlp(doc(nlp, SAW))


@every
def test_unknown_labels(factory):
    nlp = blank(factory, patterns=[rule("a", allow=["NONSENSE"])])
    examples = EXAMPLES[factory](nlp)
    reason = rf"\[{factory}\] patterns\[0\]: allow has unknown labels, NONSENSE; the component has "
    with pytest.raises(ValueError, match=reason):
        nlp.initialize(lambda: examples)
    with pytest.raises(ValueError, match=reason):
        limited(factory, [rule("a", allow=["NONSENSE"])])(doc(nlp, "a"))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("saw", "patterns must be a list, not 'saw'"),
        ([["saw"]], r"patterns\[0\] must have \"patterns\", either \"allow\" or \"forbid\""),
        ([rule("saw", allow=["A"]), rule("saw")], r"patterns\[1\] must have"),
        ([rule("saw", allow=["A"], forbid=["B"])], r"patterns\[0\] must have"),
        ([{**rule("saw", allow=["A"]), "label": "A"}], r"patterns\[0\] must have"),
        ([rule("saw", allow=[])], r"patterns\[0\]: allow must be a list of labels, not \[\]"),
        ([rule("saw", forbid="VERB")], r"patterns\[0\]: forbid must be a list of labels, not 'VERB'"),
        ([rule("saw", index="1", forbid=["A"])], r"patterns\[0\]: index must be a whole number, not '1'"),
        ([{"forbid": ["A"]}], r"patterns\[0\]: patterns must be a list of patterns for spaCy's Matcher, not None"),
        ([{"patterns": [[{"LOVER": "a"}]], "forbid": ["A"]}], r"patterns\[0\]: spaCy's Matcher does not take"),
        ([{"patterns": [[]], "forbid": ["A"]}], r"patterns\[0\]: spaCy's Matcher does not take"),
    ],
)
def test_settings_that_are_refused(given, reason):
    with pytest.raises(ValueError, match=rf"\[tags\] {reason}"):
        Patterns("tags", spacy.blank("xx").vocab, given)


# As part of a pipeline


@every
def test_patterns_are_saved_and_can_be_given_when_loading(factory, tmp_path):
    label = LABEL[factory]
    patterns = [{"patterns": [[{"LOWER": {"IN": ["anna", "saw", "eat"]}}]], "forbid": [label]}]
    nlp, texts = limited(factory, patterns), ["We saw ham", "Anna left . Eat blue ham", ""]
    nlp.to_disk(tmp_path / "limited")
    free(factory).to_disk(tmp_path / "free")
    expected = [annotation(nlp(doc(nlp, text))) for text in texts]
    assert expected != [annotation(free(factory)(doc(nlp, text))) for text in texts]
    again = spacy.load(tmp_path / "limited")
    given = spacy.load(tmp_path / "free", config={"components": {factory: {"patterns": patterns}}})
    rebuilt = load_model_from_config(nlp.config).from_bytes(nlp.to_bytes())
    for other in (again, given, rebuilt):
        assert [annotation(other(doc(other, text))) for text in texts] == expected
    assert nlp.get_pipe(factory).kbest(doc(nlp, ""), 1) == [(0.0, [])]
    assert [annotation(text) for text in nlp.pipe([doc(nlp, text) for text in texts])] == expected
