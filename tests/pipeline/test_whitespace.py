"""Whitespace tokens are transparent: words have the annotation that they have without them, and train the same models.

Line breaks are put between the words of Docs that have none, by hand, or, in gold annotation, by spaCy's augmenter.
"""

import pytest
import spacy
from spacy.scorer import Scorer
from spacy.tokens import Doc, DocBin, Span, Token
from spacy.training import Example

from spacy_ssvm.corpus.reader import create_corpus
from spacy_ssvm.features.columns import ColumnReader
from spacy_ssvm.words import BREAKS, breaks, example_of_words, origin_of, tokens_of, words_of

from .components import COMPONENTS, LANG, SCORE, TEXTS, every, learnt, learnt_as, written
from .toy import EXAMPLES, blank, doc, teach, variant

ALL = ("ssvm_senter", "ssvm_tagger", "ssvm_morphologizer", "ssvm_lemmatizer", "ssvm_ner", "ssvm_parser")
READ_NO_BREAKS = ALL[1:]
"""Components whose features say nothing of whitespace before a word, as the senter's do."""


def spaced(tokens: Doc, every: int) -> Doc:
    """A Doc of the same words, with whitespace before the first, after each `every`th, and after the last one."""
    words, spaces = ["\n \n"], [False]
    for token in tokens:
        is_end = (token.i + 1) % every == 0 or token.i + 1 == len(tokens)
        words += [token.text, *["\n", "  "] * is_end]
        spaces += [bool(token.whitespace_) and not is_end, *[False] * 2 * is_end]
    return Doc(tokens.vocab, words, spaces)


def token_numbers(tokens: Doc) -> list[int]:
    return [token.i for token in tokens if not token.is_space]


def annotation(tokens: Doc) -> list[tuple]:
    """What a Doc says of its words, which are named by their numbers."""
    number = {token: word for word, token in enumerate(token_numbers(tokens))}
    words = [tokens[token] for token in number]
    heads = [number.get(word.head.i, -1) for word in words]
    tags = [(w.tag_, w.pos_, str(w.morph), w.lemma_, w.dep_, w.ent_iob_, w.ent_type_) for w in words]
    # spaCy's first sentence begins with the first token, whatever it is.
    starts = [word.is_sent_start for word in words[1:]]
    return [tags, heads, starts]


@pytest.mark.parametrize("step", [1, 2, 3, 5])
def test_words_have_the_annotation_that_they_have_without(step):
    nlp = learnt_as({name: name for name in ALL})
    docs = [doc(nlp, text) for text in [*TEXTS, " ".join(TEXTS[:9])]]
    with_space = list(nlp.pipe(spaced(tokens, step) for tokens in docs))
    for tokens, after in zip(nlp.pipe(docs), with_space):
        assert annotation(after) == annotation(tokens)
        assert not any(token.head.is_space for token in after if not token.is_space)
        assert not any(entity[0].is_space or entity[-1].is_space for entity in after.ents)
        assert after[0].is_sent_start and not any(token.is_space and token.is_sent_start for token in after[1:])
        assert not any(all(token.is_space for token in sentence) for sentence in after.sents)
        for token in after:
            if token.is_space:
                expected = next((t.i for t in reversed(after[: token.i]) if not t.is_space), None)
                expected = token_numbers(after)[0] if expected is None else expected
                assert (token.head.i, token.dep_, token.lemma_) == (expected, "dep", token.text)
                assert (token.tag_, token.pos_, str(token.morph)) == ("_SP", "SPACE", "")
        kept = ["HEAD", "TAG", "SENT_START"]
        assert Doc(nlp.vocab).from_bytes(after.to_bytes()).to_array(kept).tolist() == after.to_array(kept).tolist()


@pytest.mark.parametrize("factory", READ_NO_BREAKS)
def test_whitespace_trains_the_same_model(factory):
    """In both Docs, or in the predicted one alone."""
    nlps = [blank(factory) for _ in range(3)]
    plain, both, alone = ([*EXAMPLES[factory](nlp)] for nlp in nlps)
    assert example_of_words(plain[0]) is plain[0]
    both = [variant(nlps[1], example, [2, 1, 1, 0]) for example in both]
    alone = [Example(spaced(example.predicted, 2), example.reference) for example in alone]
    for nlp, examples in zip(nlps, (plain, both, alone)):
        teach(nlp, examples, 3)
    assert len({nlp.get_pipe(factory).to_bytes(exclude=["vocab"]) for nlp in nlps}) == 1
    assert nlps[1].evaluate(both)[SCORE[factory]] == nlps[0].evaluate(plain)[SCORE[factory]]


def moved(factory: str, item, places: list[int], end_of: dict[int, int]):
    """An item of an analysis of words, by tokens. places: of the words. end_of: the end of tokens for each of words."""
    if factory == "ssvm_ner":
        return places[item[0]], end_of[item[1]], item[2]
    if factory == "ssvm_parser":
        return places[item[0]], places[item[1]], item[2]
    return places[item] if factory == "ssvm_senter" else item


@every
def test_answers_name_tokens(factory):
    nlp = learnt(factory)
    pipe = nlp.get_pipe(factory)
    text = TEXTS[6] if factory != "ssvm_parser" else TEXTS[0]
    plain = doc(nlp, text)
    for annotated in (False, True):
        with_space = spaced(plain, 2)
        if annotated:
            nlp(with_space)
        places = token_numbers(with_space)
        end_of = {word + 1: token + 1 for word, token in enumerate(places)}

        best, other = pipe.kbest(plain, 3), pipe.kbest(with_space, 3)
        assert [(score, [moved(factory, item, places, end_of) for item in items]) for score, items in best] == other
        expected, explained = pipe.explain(plain), pipe.explain(with_space)
        assert [t.text for t in with_space] == list(explained.words)
        assert len(expected.findings) == len(explained.findings)
        for first, second in zip(expected.findings, explained.findings):
            assert (places[first.start], end_of[first.end]) == (second.start, second.end)
            assert (first.label, first.margin, first.runner_up) == (second.label, second.margin, second.runner_up)
            assert [places[reason.token] for reason in first.reasons] == [reason.token for reason in second.reasons]
        assert explained.text() and "<html" in explained.html()
        assert [s.score for s in pipe.suggest([plain])] == [s.score for s in pipe.suggest([with_space])]
        if COMPONENTS[factory].scored == "scored_tags" or factory == "ssvm_lemmatizer":
            scores, others = (getattr(pipe, COMPONENTS[factory].scored)(tokens) for tokens in (plain, with_space))
            assert {(places[token], label): score for (token, label), score in scores.items()} == others
        asked = {"ssvm_ner": (places[0], end_of[2], "PER"), "ssvm_senter": places[1]}
        labels = [label for label in pipe.labels if label != "ROOT"]
        of = asked.get(factory, (places[0], labels[0]))
        of = (places[0], places[1], labels[0]) if factory == "ssvm_parser" else of
        (finding,) = pipe.explain(with_space, of).findings
        assert finding.start == (places[1] if factory in ("ssvm_senter", "ssvm_parser") else places[0])
        whitespace = {"ssvm_ner": (0, 2, "PER"), "ssvm_senter": 0, "ssvm_parser": (0, 1, "det")}
        with pytest.raises(ValueError, match="token 0 is whitespace"):
            pipe.explain(with_space, whitespace.get(factory, (0, labels[0])))


def test_a_word_below_whitespace_depends_on_the_head_of_that():
    tokens = Doc(
        spacy.blank(LANG).vocab,
        words=["\n", "Go", " ", "\t", "home", "\n", "now"],
        spaces=[False] * 7,
        heads=[1, 1, 3, 1, 2, 1, 5],
        deps=["dep", "ROOT", "dep", "dep", "obj", "dep", "advmod"],
    )
    words = words_of(tokens)
    assert [(word.text, word.head.i, word.dep_) for word in words] == [
        ("Go", 0, "ROOT"),
        ("home", 0, "obj"),
        ("now", 0, "advmod"),
    ]
    assert words.text == "Go home now"
    assert origin_of(words) is tokens and tokens_of(words).tolist() == [1, 4, 6]
    assert words_of(words) is words
    assert [BREAKS[kind] for kind in breaks(words)] == ["line break", "spaces", "line break"]


def test_a_whitespace_root_is_replaced_by_the_only_word_below_it():
    vocab = spacy.blank(LANG).vocab
    one = words_of(Doc(vocab, words=["\n", "Go", "home"], heads=[0, 0, 1], deps=["ROOT", "x", "obj"]))
    assert [(word.head.i, word.dep_) for word in one] == [(0, "ROOT"), (0, "obj")]
    nlp = blank("ssvm_parser")
    several = Doc(nlp.vocab, words=["\n", "Go", "home"], heads=[0, 0, 0], deps=["ROOT", "x", "obj"])
    examples = [*EXAMPLES["ssvm_parser"](nlp), Example(Doc(nlp.vocab, words=["\n", "Go", "home"]), several)]
    with pytest.warns(UserWarning, match="tokens have a relation, but no head"):
        nlp.initialize(lambda: examples)


def test_sentences_and_entities_begin_and_end_at_words():
    vocab = spacy.blank(LANG).vocab
    tokens = Doc(vocab, words=["Go", "\n", "\n", "We", "went", "\n", "Stop"], sent_starts=[1, 1, 0, 0, 0, 0, 1])
    assert [word.is_sent_start == 1 for word in words_of(tokens)] == [True, True, False, True]
    tokens = Doc(vocab, words=["\n", "New", "\n", "York", " ", "\n", "Rome", "x"])
    tokens.ents = [Span(tokens, 0, 5, "GPE"), Span(tokens, 5, 6, "ORG"), Span(tokens, 6, 7, "GPE")]
    tokens.spans["no"] = [Span(tokens, 0, 5, "X"), Span(tokens, 5, 6, "Y")]
    words = words_of(tokens)
    assert [(e.start, e.end, e.label_) for e in words.ents] == [(0, 2, "GPE"), (2, 3, "GPE")]
    assert [(s.start, s.end, s.label_) for s in words.spans["no"]] == [(0, 2, "X")]


@pytest.mark.parametrize("bounds", [(0, 3), (1, 3), (0, 2), (3, 4)])
def test_entities_that_were_there_stay(bounds):
    nlp = learnt("ssvm_ner")
    tokens = Doc(nlp.vocab, words=["\n", "Anna", "\n", "\t", "lives", "in", "New", "\n", "York", "."])
    tokens.set_ents([Span(tokens, *bounds, "GPE", kb_id="Q1", span_id="x")], blocked=[tokens[9:10]], default="missing")
    nlp(tokens)
    assert (*bounds, "GPE") in written("ssvm_ner", tokens)
    ids = [(entity.kb_id_, entity.ent_id_) for entity in tokens.ents if (entity.start, entity.end) == bounds]
    assert ids == [("Q1", "x")]
    before = written("ssvm_ner", tokens)
    assert written("ssvm_ner", nlp(tokens)) == before


def test_whitespace_alone_and_nothing():
    nlp = learnt_as({name: name for name in ALL})
    docs = list(
        nlp.pipe([nlp.make_doc("\n \n"), nlp.make_doc(""), Doc(nlp.vocab, words=["\n", " "]), nlp.make_doc("x")])
    )
    assert [(t.tag_, t.pos_, t.head.i, t.dep_) for t in docs[2]] == [
        ("_SP", "SPACE", 0, "ROOT"),
        ("_SP", "SPACE", 0, "dep"),
    ]
    assert len(list(docs[2].sents)) == 1 and not docs[2].ents
    for name in ALL:
        assert nlp.get_pipe(name).kbest(docs[2], 2) == [(0.0, [])]


@every
def test_no_scorer_counts_whitespace(factory):
    """Gold annotation of whitespace, and whatever else is said of it, is neither right nor wrong."""
    nlp = learnt(factory)
    pipe = nlp.get_pipe(factory)
    gold = EXAMPLES[factory](nlp)
    with_space = [variant(nlp, example, [1, 0]) for example in gold]
    plain = pipe.score([Example(nlp(eg.predicted.copy()), eg.reference) for eg in gold])
    assert pipe.score([Example(nlp(eg.predicted.copy()), eg.reference) for eg in with_space]) == plain
    direct = Scorer(nlp).score([Example(nlp(eg.predicted.copy()), eg.reference) for eg in with_space])
    assert direct[SCORE[factory]] == plain[SCORE[factory]]


def test_extension_attributes_follow_their_words():
    Token.set_extension("mark", default=None, force=True)
    tokens = Doc(spacy.blank(LANG).vocab, words=["\n", "a", "\n", "b"], spaces=[False] * 4)
    for token in tokens:
        token._.mark = token.text
    assert [word._.mark for word in words_of(tokens)] == ["a", "b"]
    Token.remove_extension("mark")


def test_a_senter_can_learn_from_line_breaks():
    nlp = blank("ssvm_senter", model={"features": {"@ssvm_features": "spacy-ssvm.SenterFeatures.v1"}})
    words = ["go", "home", "\n", "stop", "here", "\n \n", "go", "now"]
    gold = Doc(nlp.vocab, words=words, sent_starts=[1, 0, 0, 0, 0, 0, 1, 0])
    other = Doc(nlp.vocab, words=["stop", "\n", "go", "home", "\n\n", "stop"], sent_starts=[1, 0, 0, 0, 0, 1])
    examples = [Example(Doc(nlp.vocab, words=[t.text for t in d]), d) for d in (gold, other)]
    teach(nlp, examples, 10)
    found = nlp(Doc(nlp.vocab, words=["home", "\n", "go", "here", "\n\n", "home"]))
    assert written("ssvm_senter", found) == [0, 5]
    assert "blank line" in nlp.get_pipe("ssvm_senter").explain(found).text(50)


def test_columns_are_those_of_words():
    vocab = spacy.blank(LANG).vocab
    columns = ColumnReader(["word", "break_before"], {}, {})
    tokens = Doc(vocab, words=["a", "\n", "b", "\n\n", "c", " ", "d"])
    keys = columns.read([words_of(tokens)], vocab).keys
    assert keys[0].tolist() == [vocab.strings[word] for word in "abcd"]
    assert keys[1].tolist() == [0, 2, 3, 1]


def test_jackknifed_tags_are_those_without(tmp_path):
    tags = []
    for places in ([], [2, 0]):
        nlp = spacy.blank(LANG)
        examples = [variant(nlp, example, places) for example in EXAMPLES["ssvm_tagger"](nlp) * 3]
        DocBin(docs=[example.reference for example in examples]).to_disk(tmp_path / "c.spacy")
        read = create_corpus(tmp_path / "c.spacy", jackknife=["tag"], folds=3)
        for _ in range(2):  # The second pass is from memory.
            tags.append([[t.tag_ for t in words_of(example.predicted)] for example in read(nlp)])
        (tmp_path / "c.spacy").unlink()
    assert tags[0] == tags[1] == tags[2] == tags[3]
    assert all(tag for of_doc in tags[0] for tag in of_doc)
