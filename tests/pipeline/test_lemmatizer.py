"""`ssvm_lemmatizer` and what it is made of: edit scripts, lexicon, known lemmas."""

import pickle
from collections import Counter
from copy import deepcopy
from functools import cache
from random import Random

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.converters import conllu_to_docs

from spacy_ssvm.pipeline.codec import values_of
from spacy_ssvm.pipeline.lemmas.edit_scripts import CASES, EditScript, distinct_cases, parse_script, script_of
from spacy_ssvm.pipeline.lemmas.known_lemmas import Endings, KnownLemmas, unpack_lemmas
from spacy_ssvm.pipeline.lemmas.lemma_lexicon import (
    LEVELS,
    READ,
    keys_of,
    pack_lexicon,
    read_lemma_lexicon,
    unpack_lexicon,
)

from ..corpora import DATA, needs_ewt, sentences
from .components import learnt
from .toy import LANG, LEMMATISED, blank, doc, lemmatizer_examples, teach, train

WORDS = st.text(st.sampled_from("aAbBcçÇıİiIßæ-'|>\\=_ 1\n"), min_size=1, max_size=8)
NAME = "ssvm_lemmatizer"


@given(form=WORDS, lemma=WORDS)
def test_the_script_of_a_pair_makes_its_lemma_and_is_read_back(form, lemma):
    script = script_of(form, lemma)
    assert script.apply(form) == lemma
    assert parse_script(str(script)) == script
    assert script.case in distinct_cases(form)


@given(form=WORDS, lemma=WORDS)
def test_no_script_of_the_same_kind_changes_fewer_letters(form, lemma):
    found = script_of(form, lemma)
    for case, change in CASES.items():
        cased = change(form)
        for first in range(len(cased)):
            for end in range(first + 1, len(cased) + 1):
                at = lemma.find(cased[first:end])
                if at >= 0:
                    other = EditScript(case, first, lemma[:at], len(cased) - end, lemma[at + end - first :])
                    assert found.size <= other.size


@pytest.mark.parametrize("text", ["", "lower", "lower|a>|0>", "small|0>|0>", "lower|0>|0>a>b", "lower=went"])
def test_other_texts_are_no_scripts(text):
    with pytest.raises(ValueError, match="no edit script"):
        parse_script(text)


@pytest.mark.parametrize("name", ["ud_english_ewt/en_ewt", "ud-2.5/tr_imst", "ud-2.5/got_proiel", "ud-2.5/ga_idt"])
def test_scripts_give_the_lemmas_of_a_treebank_back(name):
    path = DATA / f"{name}-ud-dev.conllu"
    if not path.exists():
        pytest.skip("no data")
    rows = [line.split("\t") for line in path.read_text(encoding="utf8").splitlines() if line.count("\t") == 9]
    pairs = {(row[1], row[2]) for row in rows if row[0].isdigit()}
    assert len(pairs) > 1000
    assert all(parse_script(str(script_of(form, lemma))).apply(form) == lemma for form, lemma in pairs)


KNOWN = st.dictionaries(st.integers(1, 12), st.sets(st.sampled_from("abcd"), min_size=1), max_size=4)


@given(first=KNOWN, steps=st.lists(st.tuples(st.integers(0, 9), KNOWN), max_size=12))
def test_a_lexicon_that_grows_is_a_value(first, steps):
    """Any of them may be the next one's beginning; all stay as they were, and look-up and file say the same."""
    values = np.array([[1000 + key, 0, 0, 0] for key in range(1, 13)], np.uint64)
    keys = keys_of(values, LEVELS[2]).tolist()
    expected = [{keys[key - 1]: scripts for key, scripts in first.items()}]
    lexicons = [pack_lexicon(expected[0])]
    for place, known in steps:
        before, place = expected[place % len(expected)], place % len(expected)
        more = {keys[key - 1]: scripts for key, scripts in known.items()}
        lexicons.append(lexicons[place].with_known(more))
        expected.append({key: before.get(key, set()) | more.get(key, set()) for key in {*before, *more}})
    for lexicon, known in zip(lexicons, expected):
        assert {key: set(scripts) for key, scripts in lexicon.known().items()} == known
        assert lexicon.packed == (pack_lexicon(known).packed if known else lexicon.packed)
        found = lexicon.look_up(values).tolist()
        assert [set(lexicon.scripts[n]) if n >= 0 else None for n in found] == [known.get(key) for key in keys]
        assert pickle.loads(pickle.dumps(lexicon)) == lexicon


PAIRS = st.lists(
    st.tuples(st.sampled_from(["a", "A", "ab", "b"]), st.sampled_from(["a", "ab", "abc", "ba"])), max_size=4
)


@given(first=PAIRS, steps=st.lists(st.tuples(st.integers(0, 9), PAIRS), max_size=12))
def test_lemmas_that_grow_are_a_value(first, steps):
    pairs, lemmas = [first], [KnownLemmas().with_pairs(first)]
    for place, more in steps:
        place %= len(pairs)
        pairs.append([*pairs[place], *more])
        lemmas.append(lemmas[place].with_pairs(more))
    for known, said in zip(lemmas, pairs):
        assert known == KnownLemmas().with_pairs(said) == pickle.loads(pickle.dumps(known))
        for _, lemma in said:
            assert {lemma[:end] for end in range(len(lemma) + 1)} <= known.beginnings
            for form in ("a", "ab", "b"):
                assert known.is_known(form, lemma) == any(
                    other.lower() != form for other, its_lemma in said if its_lemma == lemma
                )


def test_the_most_specific_entry_of_a_lexicon_counts():
    values = np.array([[7, 1, 2, 3], [7, 9, 2, 3], [7, 9, 9, 9], [8, 1, 2, 3]], np.uint64)
    keys = [int(keys_of(values[:1], level)[0]) for level in LEVELS]
    lexicon = pack_lexicon({key: {str(number)} for number, key in enumerate(keys)})
    found = lexicon.look_up(values)
    assert [lexicon.scripts[number] for number in found[:3]] == [["0"], ["1"], ["2"]]
    assert found[3] == -1


@given(pairs=st.lists(st.tuples(WORDS, WORDS), max_size=12), form=WORDS)
def test_candidates_are_the_scripts_that_make_a_lemma_of_another_form(pairs, form):
    lemmas = KnownLemmas().with_pairs(pairs)
    scripts = [script_of(*pair) for pair in pairs]
    expected = {
        number
        for number, script in enumerate(scripts)
        if isinstance(script, EditScript)
        and script.case in distinct_cases(form)
        and any(script.apply(form) == lemma and other.lower() != form.lower() for other, lemma in pairs)
    }
    found = Endings(scripts).candidates(form, unpack_lemmas(lemmas.packed), len(scripts))
    assert set(found) == expected
    assert [scripts[number].size for number in found] == sorted(scripts[number].size for number in found)


@pytest.mark.parametrize("packed", ["x", "AAAA", "eJw="])
@pytest.mark.parametrize("kind", [unpack_lexicon, unpack_lemmas])
def test_damaged_notes_are_refused(kind, packed):
    with pytest.raises(ValueError, match="damaged"):
        kind(packed)


def test_lemmas_of_unseen_words():
    nlp = learnt(NAME)
    assert [token.lemma_ for token in nlp(doc(nlp, "We loved hams"))] == ["we", "love", "ham"]


def test_each_annotated_token_is_an_example():
    nlp = blank(NAME)
    words = ["Cats", "saw", "dogs"]
    examples = lemmatizer_examples(nlp)
    examples.append(Example(Doc(nlp.vocab, words), Doc(nlp.vocab, words, lemmas=["cat", "", "_"])))
    with pytest.warns(UserWarning, match=r"2 of \d+ training tokens .* in the others nothing is learnt from them"):
        nlp.initialize(lambda: examples)
    component = nlp.get_pipe(NAME)
    assert component.problem().n_examples == sum(len(text.split()) for text, _ in LEMMATISED) + 1
    train(nlp, examples)
    assert component.certificate().gap >= -1e-9


def test_edit_trees_are_refused_as_labels():
    spacys, ours = spacy.blank(LANG), blank(NAME)
    component = spacys.add_pipe("trainable_lemmatizer", config={"min_tree_freq": 1})
    spacys.initialize(lambda: lemmatizer_examples(spacys))
    ours.config["initialize"]["components"][NAME] = {"labels": component.label_data}
    with pytest.raises(ValueError, match="labels are edit trees of spaCy's trainable_lemmatizer"):
        ours.initialize(lambda: lemmatizer_examples(ours))


def test_words_of_the_examples_have_their_lemmas_whatever_the_weights_are():
    nlp = blank(NAME)
    nlp.initialize(lambda: lemmatizer_examples(nlp))
    for text, lemmas in LEMMATISED:
        assert [token.lemma_ for token in nlp(doc(nlp, text))] == lemmas.split()


def test_rare_scripts_are_no_labels_but_their_words_are_known():
    nlp = blank(NAME, min_tree_freq=2)
    teach(nlp, lemmatizer_examples(nlp), warns=None)
    component = nlp.get_pipe(NAME)
    assert str(script_of("saw", "see")) not in component.labels
    assert str(script_of("dogs", "dog")) in component.labels
    again = blank(NAME, min_tree_freq=2)
    again.get_pipe(NAME).from_bytes(component.to_bytes())
    for pipeline in (nlp, again):
        assert [token.lemma_ for token in pipeline(doc(pipeline, "She saw old dogs"))] == ["she", "see", "old", "dog"]


def test_a_lexicon_goes_before_what_is_learnt(tmp_path):
    path = tmp_path / "lexicon.tsv"
    path.write_text("geese\tgoose\nleaves\tNOUN\tleaf\nleaves\tVERB\tleave\n", encoding="utf8")
    nlp = blank(NAME)
    component = nlp.get_pipe(NAME)
    component.initialize(lambda: lemmatizer_examples(nlp), nlp, lexicon=read_lemma_lexicon(path))
    train(nlp, lemmatizer_examples(nlp))
    again = blank(NAME)
    again.get_pipe(NAME).from_bytes(component.to_bytes())
    words = ["geese", "leaves", "leaves"]
    for pipeline in (nlp, again):
        tokens = pipeline(Doc(pipeline.vocab, words, pos=["NOUN", "NOUN", "VERB"]))
        assert [token.lemma_ for token in tokens] == ["goose", "leaf", "leave"]


@pytest.mark.parametrize("line", ["geese", "a\tb\tc\td", "leaves\tNN\tleaf", "\tgoose", "geese\t"])
def test_a_bad_line_of_a_lexicon_is_named(tmp_path, line):
    path = tmp_path / "lexicon.tsv"
    path.write_text(f"a\tb\n{line}\n", encoding="utf8")
    with pytest.warns(UserWarning, match=r"1 lines of .* left out: lexicon\.tsv, line 2: "):
        assert read_lemma_lexicon(path) == [("a", "", "b")]
    path.write_text(f"{line}\n", encoding="utf8")
    with pytest.raises(ValueError, match=r"lemma lexicon: none of the lines of .*lexicon\.tsv, line 1: "):
        read_lemma_lexicon(path)


@pytest.mark.parametrize(("backoff", "lemma"), [("orth", "Xy"), ("lower", "xy"), (None, "")])
def test_backoff_is_for_words_that_no_script_applies_to(backoff, lemma):
    nlp = blank(NAME, backoff=backoff)
    words = ["walking", "Sleeping", "talking"]
    teach(nlp, [Example(Doc(nlp.vocab, words), Doc(nlp.vocab, words, lemmas=["walk", "sleep", "talk"]))])
    assert nlp.get_pipe(NAME).labels == ("lower|0>|3>",)
    assert [token.lemma_ for token in nlp(doc(nlp, "Xy eating"))] == [lemma, "eat"]


CORRECTIONS = [
    ("She saw cats", 2, "feline"),
    ("old dogs sleep", 1, "hound"),
    ("I like eggs", 2, "eggs"),
    ("He walked home", 1, "wander"),
    ("We saw zyxes", 2, "zyx"),
    ("green mice", 1, "mouse"),
    ("Berlin parties", 1, "fete"),
    ("The oxen sleep", 1, "ox"),
    ("She went", 1, "go"),
    ("He is old", 1, "be"),
]
"""Text, the token that is corrected, and its lemma: of words that are known or not, with scripts that are no labels."""


@pytest.mark.parametrize("settings", [{}, {"weight_dtype": "int8", "keep_fraction": 0.5}, {"min_tree_freq": 3}])
@pytest.mark.parametrize("tags", [True, False])
def test_corrections_with_new_scripts_are_learnt_at_once(settings, tags):
    """Of words with other lemmas, too; the other lemmas stay, in a copy and after saving, as well."""
    nlp = blank(NAME, **{"min_tree_freq": 2, **settings})
    model = blank(NAME, **{"min_tree_freq": 2, **settings})
    teach(model, lemmatizer_examples(model), warns=None)
    nlp.from_bytes(model.to_bytes())
    component = nlp.get_pipe(NAME)

    def words(text, **annotation):
        return doc(nlp, text, **annotation, **({"tags": [f"{word[-1]}" for word in text.split()]} if tags else {}))

    def lemmas(pipeline, text):
        return [token.lemma_ for token in pipeline.get_pipe(NAME)(words(text))]

    corrected = []
    for text, place, lemma in CORRECTIONS:
        expected = lemmas(nlp, text)
        expected[place] = lemma
        nlp.update([Example(words(text), words(text, lemmas=expected))], sgd=False)
        assert lemmas(nlp, text) == expected
        assert str(script_of(text.split()[place], lemma)) in component.labels
        corrected.append((text, place, lemma))
    again = blank(NAME, **settings).from_bytes(nlp.to_bytes())
    for pipeline in (nlp, again, deepcopy(nlp)):
        assert sum(lemmas(pipeline, text)[place] == lemma for text, place, lemma in corrected) >= 9
        assert lemmas(pipeline, "We loved Berlin cities") == ["we", "love", "Berlin", "city"]


def test_a_correction_admits_a_lemma_beside_those_that_are_known():
    """Of the form with these tags; its lemmas with other tags stay."""
    nlp = blank(NAME)

    def example(text, tags, lemmas):
        return Example(doc(nlp, text, tags=tags.split()), doc(nlp, text, lemmas=lemmas.split()))

    def lemmas(text, tags):
        return [token.lemma_ for token in nlp.get_pipe(NAME)(doc(nlp, text, tags=tags.split()))]

    teach(nlp, [example("I saw a saw", "P V D N", "I see a saw"), example("we saw dogs", "P V N", "we see dog")] * 3)
    nlp.from_bytes(nlp.to_bytes())
    nlp.update([example("a saw", "D N", "a blade")], sgd=False)
    assert lemmas("a saw", "D N") == ["a", "blade"]
    assert lemmas("we saw dogs", "P V N") == ["we", "see", "dog"]
    component = nlp.get_pipe(NAME)
    values = values_of(doc(nlp, "saw saw", tags=["V", "N"]), READ)
    known = [set(component.codec.lexicon.scripts[number]) for number in component.codec.lexicon.look_up(values)]
    assert known == [
        {str(script_of("saw", "see"))},
        {str(script_of("saw", "saw")), str(script_of("saw", "blade"))},
    ]


def conllu(part: str, number: int) -> list[Doc]:
    """The first sentences of a part of EWT."""
    return list(conllu_to_docs("\n\n".join(sentences(part)[:number]), n_sents=1, no_print=True))


def with_tags(nlp, tokens: Doc, changes: dict[int, str] | None = None) -> Example:
    """A sentence with gold tags; changes: lemmas of some tokens in place of its own."""
    words, tags = ([getattr(token, attribute) for token in tokens] for attribute in ("text", "tag_"))
    lemmas = [(changes or {}).get(token.i, token.lemma_) for token in tokens]
    return Example(Doc(nlp.vocab, words=words, tags=tags), Doc(nlp.vocab, words=words, lemmas=lemmas))


@cache
def of_ewt() -> bytes:
    """A lemmatizer of 1,000 sentences."""
    nlp = spacy.blank("en")
    nlp.add_pipe(NAME)
    teach(nlp, [with_tags(nlp, tokens) for tokens in conllu("train", 1000)], 6)
    return nlp.get_pipe(NAME).to_bytes()


@pytest.mark.slow
@needs_ewt
@pytest.mark.parametrize("seed", range(3))
def test_fifty_corrections_of_a_treebank_with_new_scripts(seed):
    """Each is learnt by its update, nearly all stay, and accuracy on other sentences does not fall."""
    nlp, rng = spacy.blank("en"), Random(seed)
    component = nlp.add_pipe(NAME).from_bytes(of_ewt())
    dev = conllu("dev", 400)
    counts = Counter(token.text for tokens in dev for token in tokens)
    chosen = [(tokens, token) for tokens in dev for token in tokens if token.text.isalpha() and counts[token.text] == 1]
    chosen = list({id(tokens): (tokens, token) for tokens, token in rng.sample(chosen, len(chosen))}.values())[:50]
    texts = {id(tokens) for tokens, _ in chosen}
    rest = [with_tags(nlp, tokens) for tokens in dev if id(tokens) not in texts]
    before, learnt, n_labels = nlp.evaluate(rest)["lemma_acc"], [], len(component.labels)

    def is_right(corrected):
        found = component(corrected.predicted.copy())
        pairs = zip(found, corrected.reference)
        return all(token.lemma == gold.lemma for token, gold in pairs if gold.lemma_ not in ("", "_"))

    for tokens, token in chosen:
        corrected = with_tags(nlp, tokens, {token.i: "".join(rng.sample("bcdfghjklmnpqrstvwxz", 6))})
        nlp.update([corrected])
        assert is_right(corrected)
        learnt.append(corrected)
    assert len(learnt) == 50 and len(component.labels) >= n_labels + 50
    assert sum(map(is_right, learnt)) >= 45
    assert nlp.evaluate(rest)["lemma_acc"] >= before - 0.001
