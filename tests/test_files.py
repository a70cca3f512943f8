"""Lines and records: every file that is read is read in the same way."""

import gzip
import json
import warnings
from pathlib import Path

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.strings import get_string_id
from spacy.vocab import Vocab

from spacy_ssvm.corpus.reader import create_corpus
from spacy_ssvm.corpus.texts import read_sentences
from spacy_ssvm.distributed.annotation import Annotation, Annotator, cut
from spacy_ssvm.features.gazetteer import PatternFile, PhraseFile, TableColumn
from spacy_ssvm.features.word_classes import ClassFile, Lexicon, VectorClasses, read_lexicon
from spacy_ssvm.files import read_lines, read_records, split_lines
from spacy_ssvm.pipeline.lemmas.lemma_lexicon import read_lemma_lexicon
from spacy_ssvm.pipeline.lexicon_patterns import lexicon_patterns

MARK = b"\xef\xbb\xbf"
NO_ENDS = ["\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\r"]
"""Characters at which Python's `str.splitlines` ends a line, or its text files do."""
NLP = spacy.blank("xx")
ROW = "1\t{}\t_\tX\t_\t_\t0\troot\t_\t_\n"


def sentences(path):
    return [" ".join(words) for words in read_sentences(path, lambda text: [text], NLP.vocab)]


def annotated(path):
    annotate = Annotator(NLP, Annotation(path.parent / "results"))
    results = [annotate(shard) for shard in cut([path])]
    aside = [f"{document.place}: {document.reason}" for result in results for document in result.set_aside]
    docs = [doc for result in results for doc in docbin(path.parent / "results" / result.file)]
    if not docs:
        raise ValueError("; ".join(aside))
    if aside:
        warnings.warn("; ".join(aside), stacklevel=1)
    return [doc.text.rstrip(" ") for doc in docs]


def docbin(path):
    return spacy.tokens.DocBin().from_disk(path).get_docs(NLP.vocab)


READERS = {
    "ClassFile": ("a.tsv", "c{0}\t{0}\n", "no tab\n", lambda path: list(ClassFile(path)(Vocab()))),
    "Lexicon": ("a.tsv", "{}\tTAG\n", "no tab\n", lambda path: list(Lexicon(path)(Vocab()))),
    "read_lexicon": ("a.tsv", "x\t{}\n", "x\t\n", lambda path: read_lexicon(path)["x"]),
    "LexiconPatterns": (
        "a.tsv",
        "{}\tTAG\n",
        "no tab\n",
        lambda path: lexicon_patterns(path)[0]["patterns"][0][0]["TEXT"]["IN"],
    ),
    "LemmaLexicon": ("a.tsv", "{}\tlemma\n", "x\tNN\tx\n", lambda path: [row[0] for row in read_lemma_lexicon(path)]),
    "PhraseFile": ("a.txt", "{}\n", None, lambda path: PhraseFile(path)()),
    "PatternFile": ("a.jsonl", '{{"label": "", "pattern": "{}"}}\n', "[]\n", lambda path: PatternFile(path)()),
    "csv": ("a.csv", "1,{}\n", "1\n", lambda path: TableColumn(path, "name")()),
    "quoted csv": ("a.csv", '1,"{}"\n', "1\n", lambda path: TableColumn(path, "name")()),
    "tsv": ("a.tsv", "1\t{}\n", "1\n", lambda path: TableColumn(path, "name")()),
    "texts in .txt": ("a.txt", "{}\n", None, sentences),
    "texts in .jsonl": ("a.jsonl", '{{"text": "{}"}}\n', '{"txt": ""}\n', sentences),
    "apply .txt": ("a.txt", "{}\n", None, annotated),
    "apply .jsonl": ("a.jsonl", '{{"text": "{}"}}\n', "text\n", annotated),
    "apply .conllu": ("a.conllu", ROW + "\n", "1\tx\n\n", annotated),
    "CoNLL-U": (
        "a.conllu",
        ROW + "\n",
        "1\tx\n\n",
        lambda path: [example.reference[0].text for example in create_corpus(path, gold_preproc=True)(NLP)],
    ),
}
"""The name of a file, a record with a word, a bad record that is a line, and what reads the words."""
HEADS = {"csv": "number,name\n", "quoted csv": "number,name\n", "tsv": "number\tname\n"}
each_reader = pytest.mark.parametrize("reader", READERS)


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def known(words):
    """Words as the reader gives them, or their keys."""
    return [words, [get_string_id(word) for word in words]]


def record(reader, word):
    _, form, _, _ = READERS[reader]
    # In JSON, control characters are escaped; others need not be.
    return form.format(json.dumps(word, ensure_ascii=False)[1:-1] if "jsonl" in READERS[reader][0] else word)


@each_reader
@pytest.mark.parametrize("end", NO_ENDS, ids=ascii)
def test_lines_end_at_line_feeds_alone(reader, end, tmp_path):
    words = ["one", f"co{end}op", "two"]
    name, _, _, read = READERS[reader]
    text = HEADS.get(reader, "") + "".join(record(reader, word) for word in words)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sorted(read(written(tmp_path / name, text.encode()))) in map(sorted, known(words))


@each_reader
def test_windows_lines_and_byte_order_marks_are_no_text(reader, tmp_path):
    """As of files that were joined; the last line has no end."""
    name, _, _, read = READERS[reader]
    first, *others = [record(reader, word).replace("\n", "\r\n").encode() for word in ("one", "two", "three")]
    head = HEADS.get(reader, "").replace("\n", "\r\n").encode()
    parts = [head + first if head else first, *others]
    content = b"".join(MARK + part for part in parts) if not head else MARK + head + first + MARK + MARK.join(others)
    expected = known(["one", "two", "three"])
    assert sorted(read(written(tmp_path / name, content.removesuffix(b"\r\n")))) in map(sorted, expected)


@each_reader
@pytest.mark.parametrize("kind", ["bad record", "no UTF-8"])
def test_a_bad_record_is_left_out_with_file_and_line(reader, kind, tmp_path):
    name, _, line, read = READERS[reader]
    bad = line.encode() if kind == "bad record" and line else record(reader, "caf?").encode().replace(b"?", b"\xe9")
    head, good = HEADS.get(reader, "").encode(), [record(reader, word).encode() for word in ("one", "two", "three")]
    place = 1 + (head + good[0] + good[1]).count(b"\n")
    with pytest.warns(UserWarning, match=rf"{name}, line {place}\b") as said:
        found = read(written(tmp_path / name, head + b"".join([*good[:2], bad, good[2]])))
    assert len(said) == 1 and sorted(found) in map(sorted, known(["one", "two", "three"]))
    with pytest.raises(ValueError, match=rf"{name}, line {1 + head.count(10)}\b"):
        read(written(tmp_path / name, head + bad + bad))


@each_reader
@pytest.mark.parametrize("codec", ["utf-16", "utf-16-be", "utf-16-le without mark", "utf-16-be without mark"])
def test_files_in_utf16_are_refused(reader, codec, tmp_path):
    name, _, _, read = READERS[reader]
    text = HEADS.get(reader, "") + record(reader, "one") * 3
    content = text.encode(codec.split()[0]) if codec != "utf-16-be" else f"\ufeff{text}".encode(codec)
    with pytest.raises(ValueError, match=rf"{name} is in UTF-16: save it in UTF-8"):
        read(written(tmp_path / name, content))


@pytest.mark.parametrize("reader", [reader for reader in READERS if "conllu" not in READERS[reader][0]])
def test_compressed_files_are_read_alike(reader, tmp_path):
    name, _, _, read = READERS[reader]
    text = HEADS.get(reader, "") + record(reader, "one") + record(reader, "two")
    plain = read(written(tmp_path / name, text.encode()))
    assert read(written(tmp_path / f"{name}.gz", MARK + text.encode())) == plain
    cut_off = gzip.compress(text.encode() * 1000)[:-12]
    (tmp_path / f"{name}.gz").write_bytes(cut_off)
    with pytest.raises(ValueError, match=r"\.gz cannot be read after line \d+"):
        read(tmp_path / f"{name}.gz")


@pytest.mark.parametrize("reader", ["ClassFile", "Lexicon", "read_lexicon", "LexiconPatterns", "LemmaLexicon"])
def test_whitespace_around_columns_is_no_part_of_them(reader, tmp_path):
    name, _, _, read = READERS[reader]
    plain, spaced = (record(reader, word) for word in ("one", " two "))
    spaced = spaced.replace("\t", " \t ").replace("\n", " \n")
    assert sorted(read(written(tmp_path / name, f"{plain}{spaced}".encode()))) in map(sorted, known(["one", "two"]))


@pytest.mark.parametrize(("name", "delimiter"), [("a.csv", ","), ("a.tsv", "\t")])
def test_stray_quotation_marks_do_not_hide_rows(name, delimiter, tmp_path):
    rows = ["number,name", '1,19" rack', '2,"Big" Ben', '3,"Oslo"', '4,"Rio', "5,Bonn"]
    path = written(tmp_path / name, "\n".join(rows).replace(",", delimiter).encode())
    with pytest.warns(UserWarning, match=rf"2 rows of .*{name}, line 3: .*; {name}, line 5: unexpected end of data"):
        assert TableColumn(path, "name")() == ['19" rack', "Oslo"]


def test_half_of_a_character_is_no_pattern(tmp_path):
    lines = ['{"label": "", "pattern": "A\\ud83d"}', '{"label": "", "pattern": "A\\ud83d\\ude00"}']
    with pytest.warns(UserWarning, match=r"a\.jsonl, line 1: this is not \{"):
        assert PatternFile(written(tmp_path / "a.jsonl", "\n".join(lines).encode()))() == ["A\U0001f600"]


def test_an_empty_lemma_lexicon_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"lemma lexicon: .*a\.tsv is empty"):
        read_lemma_lexicon(written(tmp_path / "a.tsv", b"\n"))


def test_fields_of_a_table_may_contain_line_ends(tmp_path):
    content = b'number,name\n1,"San\r\nJose"\n2,"Rio\r"\n\n\xff,x\n4\n5,Oslo\n'
    with pytest.warns(UserWarning) as said:
        assert TableColumn(written(tmp_path / "a.csv", content), "name")() == ["San\nJose", "Rio", "Oslo"]
    (message,) = [str(warning.message) for warning in said]
    assert message.startswith("2 rows of ") and "a.csv, line 6: this is not text in UTF-8" in message
    assert "a.csv, line 7: the row has no name" in message


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.jsonl.gz"])
def test_lines_of_json_are_no_phrases(name, tmp_path):
    with pytest.raises(ValueError, match=r"is no file of phrases, one a line: .*PatternFile"):
        PhraseFile(written(tmp_path / name, b"x\n"))()


@pytest.mark.parametrize(
    "read",
    [
        lambda path: ClassFile(path)(Vocab()),
        lambda path: Lexicon(path)(Vocab()),
        lambda path: VectorClasses(2, words=path)(Vocab()),
        lambda path: PhraseFile(path)(),
        lambda path: PatternFile(path)(),
        read_lemma_lexicon,
        lexicon_patterns,
    ],
)
def test_rows_of_conllu_are_no_records(read, tmp_path):
    with pytest.raises(ValueError, match=r"a.conllu: lines of a \.conllu file are not what is to be read here"):
        read(written(tmp_path / "a.conllu", ROW.format("x").encode()))
    with pytest.raises(ValueError, match=r'has no column "name"'):
        TableColumn(tmp_path / "a.conllu", "name")()


def test_words_that_are_to_get_classes_are_lines(tmp_path):
    pytest.importorskip("sklearn")
    vocab = Vocab()
    for number, word in enumerate(["a", "b\u2028c", "d"]):
        vocab.set_vector(word, np.eye(3, dtype=np.float32)[number])
    path = written(tmp_path / "words.txt", MARK + "a\r\nb\u2028c\r\n".encode() + MARK + b"d")
    assert VectorClasses(2, words=path)(vocab).keys() == set(map(get_string_id, ["a", "b\u2028c", "d"]))


# A file that has a null at its beginning counts as one in UTF-16.
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\ufeff\0"), max_size=9)))
def test_lines_are_those_that_were_written(tmp_path_factory, lines):
    lines = [line.rstrip("\r") for line in lines]
    for end in ("\n", "\r\n"):
        path = written(tmp_path_factory.mktemp("lines") / "a.txt", "".join(line + end for line in lines).encode())
        assert [line.decode() for _, line in read_lines(path)] == lines
        assert split_lines("".join(line + end for line in lines)) == lines


def test_a_message_lists_three_records(tmp_path):
    path = written(tmp_path / "numbers.txt", b"1\n\nx\ny\nz\nw\n2\n")
    with pytest.warns(UserWarning, match=r"^4 lines of .*numbers\.txt cannot be read .*: .*; and 1 more$"):
        assert list(read_records(path, int)) == [(1, 1), (7, 2)]
    assert list(read_records(written(path, b"\n \n"), int)) == []
