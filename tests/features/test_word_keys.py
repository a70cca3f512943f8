"""Keys of word types in bulk, against the definitions that read one Lexeme after the other."""

import pytest
import spacy
from hypothesis import example, given
from hypothesis import strategies as st
from spacy.lexeme import Lexeme
from spacy.strings import StringStore, get_string_id
from spacy.symbols import IDS
from spacy.vocab import Vocab

from spacy_ssvm.features.attributes import TEXT_PARTS, TYPE_ATTRIBUTES
from spacy_ssvm.features.word_keys import FORMS, IS_BLANK, keys_of_words
from spacy_ssvm.word_forms import forms

from ..corpora import DATA
from .reference import VALUES

NAMES = (*TYPE_ATTRIBUTES, *FORMS, IS_BLANK)


def key(name: str, lexeme: Lexeme) -> int:
    """The key of what the reference says of a single lexeme."""
    if name in FORMS:
        return get_string_id(forms(lexeme.text)[FORMS.index(name)])
    value = lexeme.text.isspace() if name == IS_BLANK else VALUES[name](lexeme)
    return get_string_id(value) if isinstance(value, str) else int(value or 0)


def assert_keys(words: list[str], vocab: Vocab, names: tuple[str, ...] = NAMES) -> None:
    """The keys of words are those of the former definitions, and the names of their parts have these keys."""
    lexemes = [vocab[word] for word in words]
    for name, keys in zip(names, keys_of_words(names, words, vocab), strict=True):
        expected = [key(name, lexeme) for lexeme in lexemes]
        assert keys.tolist() == expected, (name, [w for w, a, b in zip(words, keys, expected) if a != b][:9])
        if name in TEXT_PARTS:
            assert [get_string_id(TEXT_PARTS[name].of(lexeme) or "") for lexeme in lexemes] == expected, name


CORNERS = "Σσςİıßẞﬁǅʼnΐ\u0301\u0307\u00ad'’ .aB0٣²Ⅷⅷª_-\n\r\t\x00東𝒳𝟘👩\u200d\U0010ffff"
"""Letters that lower case and shapes treat specially, alone or between others."""
corners = st.text(st.sampled_from(CORNERS), min_size=1, max_size=12)
words = st.lists(st.one_of(st.text(min_size=1), corners, st.sampled_from([*TYPE_ATTRIBUTES, *IDS][:-1])), max_size=12)
VOCABS = {"English": spacy.blank("en").vocab, "Turkish": spacy.blank("tr").vocab, "bare": Vocab()}


@pytest.mark.parametrize("vocab", VOCABS.values(), ids=VOCABS)
@given(words)
@example([])
@example(["ΟΔΟΣ", "ΟΔΟΣ'", "ΣΑΣ.", "İSTANBUL", "STRASSE", "e\u0301", "a\n\nb", "aaa\n\n\n", "\n", "x" * 5000, "det"])
def test_keys_are_those_of_single_lexemes(vocab, drawn):
    assert_keys([word for word in drawn if word], vocab)


@given(st.sets(st.sampled_from(NAMES)), words)
def test_any_attributes_can_be_asked_for(names, drawn):
    assert_keys([word for word in drawn if word], VOCABS["English"], tuple(names))


def test_strings_that_spacy_numbers_itself():
    names = [name for name in IDS if name]
    keys = keys_of_words(FORMS, [name.lower() for name in names], Vocab())
    assert keys[1].tolist() == [StringStore()[name.lower()] for name in names]
    assert_keys([f"{name}x" for name in names] + names, VOCABS["English"], ("short_shape", "prefix3", *FORMS))


def test_what_a_vocabulary_says_of_its_words_is_read():
    vocab = spacy.blank("en").vocab
    vocab["Ham"].lower_, vocab["Ham"].shape_, vocab["Ham"].is_stop = "eggs", "odd", True
    keys = dict(zip(NAMES, keys_of_words(NAMES, ["Ham", "ham"], vocab)[:, 0].tolist(), strict=True))
    assert keys["lower"] == get_string_id("eggs") and keys["shape"] == get_string_id("odd") and keys["is_stop"] == 1
    assert keys["lower_suffix3"] == get_string_id("ggs") and keys["suffix2"] == get_string_id("am")
    assert keys["has_upper"] == 1 and keys[FORMS[1]] == get_string_id("ham")


@pytest.mark.slow
def test_every_character():
    codes = [code for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000]
    assert_keys(list(map(chr, codes[:0x30000:3])), VOCABS["English"])
    names = ("short_shape", "lower_suffix1", "lower_prefix2", *FORMS, "has_digit")
    assert_keys([f"aΣ{chr(code)}1" for code in codes[::5]], VOCABS["Turkish"], names)


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason=f"no corpora in {DATA}: set SPACY_SSVM_DATA")
def test_all_words_of_the_corpora():
    files = [*DATA.rglob("*.conllu"), *DATA.rglob("*.conll"), *DATA.rglob("*.annotated")]
    columns = {column for path in files for line in path.read_text("utf8").splitlines() for column in line.split("\t")}
    assert_keys(sorted(columns - {""}), VOCABS["English"])
