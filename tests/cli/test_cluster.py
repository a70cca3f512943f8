"""`spacy ssvm cluster`, as a user calls it."""

import gzip

import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin

from spacy_ssvm.cli import cluster
from spacy_ssvm.clustering import brown_classes, exchange_classes, learning

from ..clustering.texts import from_grammar
from .calling import call, plain, refusal, said

SENTENCES = [*from_grammar(5, 60), ["In", "1984"], ["In", "2001"]]


def classes(path):
    rows = [line.split("\t") for line in path.read_text("utf8").splitlines()]
    assert rows == sorted(rows, key=lambda row: (row[0], -int(row[2]), row[1]))
    return {word: (name, int(count)) for name, word, count in rows}


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(map(" ".join, SENTENCES)) + "\n\n", "utf8")
    return path


@pytest.mark.parametrize("method, function", [("brown", brown_classes), ("exchange", exchange_classes)])
def test_the_file_has_the_classes_of_the_function(method, function, text, tmp_path):
    output = tmp_path / "new" / "classes.tsv"
    assert "mutual information" in said("cluster", text, output, "--classes", 6, "--method", method)
    expected = function(SENTENCES, 6)
    found = classes(output)
    assert {word: name for word, (name, _) in found.items()} == expected
    assert found["0000"][1] == 2 and list(output.parent.iterdir()) == [output]
    again = tmp_path / "again.tsv"
    assert call("cluster", text, again, "--classes", 6, "--method", method, "--n-threads", 2).exit_code == 0
    assert again.read_bytes() == output.read_bytes()


def test_every_kind_of_file_gives_the_same(text, tmp_path, monkeypatch):
    lines = text.read_text("utf8")
    folder = tmp_path / "folder" / "inner"
    folder.mkdir(parents=True)
    nlp = spacy.blank("en")
    (tmp_path / "text.txt.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + lines.encode()))
    srsly.write_jsonl(folder / "text.jsonl", [{"text": lines}])
    (tmp_path / "windows.txt").write_bytes(lines.replace("\n", "\r\n").encode())
    (folder / "notes.md").write_text("left out")
    one = [word for sentence in SENTENCES for word in sentence]
    starts = [k == 0 for sentence in SENTENCES for k in range(len(sentence))]
    DocBin(docs=[Doc(nlp.vocab, words=one, sent_starts=starts)]).to_disk(tmp_path / "one.spacy")
    DocBin(docs=[Doc(nlp.vocab, words=words) for words in SENTENCES]).to_disk(tmp_path / "many.spacy")
    assert call("cluster", text, tmp_path / "expected.tsv", "-k", 5).exit_code == 0
    expected = (tmp_path / "expected.tsv").read_bytes()
    monkeypatch.chdir(tmp_path)
    for given in ("text.txt.gz", "folder", "folder/**/*.jsonl", "windows.txt", "one.spacy", "many.spacy"):
        said("cluster", given, "found.tsv", "-k", 5)
        assert (tmp_path / "found.tsv").read_bytes() == expected, given
    assert call("cluster", "text.txt", "text.txt.gz", "twice.tsv", "-k", 5, "-c", 4).exit_code == 0
    found = classes(tmp_path / "twice.tsv")
    assert {word: count for word, (_, count) in found.items()} == {
        word: 2 * count for word, (_, count) in classes(tmp_path / "expected.tsv").items()
    }


def test_texts_are_tokenised_unless_they_are(tmp_path):
    (tmp_path / "text.txt").write_text("He sleeps! He sleeps!\n")
    assert call("cluster", tmp_path / "text.txt", tmp_path / "out.tsv").exit_code == 0
    assert set(classes(tmp_path / "out.tsv")) == {"He", "sleeps", "!"}
    assert call("cluster", tmp_path / "text.txt", tmp_path / "out.tsv", "--tokenised").exit_code == 0
    assert set(classes(tmp_path / "out.tsv")) == {"He", "sleeps!"}


def test_what_cannot_be_clustered_is_explained(text, tmp_path):
    contents = {
        "latin.txt": b"\xe9\n",
        "bad.jsonl": b'\n{"text"\n',
        "other.jsonl": b'{"body": "a"}\n',
        "half.jsonl": b'{"text": "\\ud800 a"}\n',
        "bad.txt.gz": b"text",
        "cut.txt.gz": gzip.compress(b"a b\n" * 1000)[:-12],
        "bad.spacy": b"text",
        "empty.txt": b" \n\n",
        "text.csv": b"a b",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "none").mkdir()
    output = tmp_path / "out.tsv"
    output.write_text("as it was")
    for arguments, message in (
        (["latin.txt"], "latin.txt, line 1: this is not text in UTF-8"),
        (["bad.jsonl"], "bad.jsonl, line 2: this is not JSON"),
        (["other.jsonl"], 'other.jsonl, line 1: a line must be an object with a string "text"'),
        (["half.jsonl"], "half.jsonl, line 1: "),
        (["bad.txt.gz"], "bad.txt.gz cannot be read after line 0"),
        (["cut.txt.gz"], "cut.txt.gz cannot be read after line"),
        (["bad.spacy"], "bad.spacy is not a corpus in .spacy format"),
        (["empty.txt"], "there is no word in the text"),
        (["text.csv"], "text.csv: the name of a file of text has to end in .txt"),
        (["none"], "none: there is no file of text"),
        (["missing.txt"], "missing.txt: there is no file of text"),
        (["*.tx"], "*.tx: there is no file of text"),
        (["text.txt", "--min-count", 1000], "lower the minimum count"),
        (["text.txt", "--classes", 1], "at least 2 classes"),
        (["text.txt", "--method", "clark"], "one of brown, exchange, not 'clark'"),
        (["text.txt", "--lang", "nonsense"], "--lang nonsense: there is no such language"),
    ):
        assert message in refusal("cluster", tmp_path / arguments[0], output, *arguments[1:])
    assert output.read_text() == "as it was"
    assert "is a folder" in plain(call("cluster", text, tmp_path / "none"))
    before = text.read_bytes()
    assert "name a file for the classes" in plain(call("cluster", text, text))
    assert text.read_bytes() == before


def test_an_interrupted_command_goes_on(text, tmp_path, monkeypatch):
    arguments = text, tmp_path / "out.tsv", "-k", 4, "-c", 1
    assert call("cluster", *arguments).exit_code == 0
    expected = (tmp_path / "out.tsv").read_bytes()
    (tmp_path / "out.tsv").unlink()
    monkeypatch.setattr(learning, "INTERVAL", 0.0)
    learn = learning.learn_with_checkpoints

    def interrupted(path, bigrams, settings, n_threads):
        for n_states, state in enumerate(learn(path, bigrams, settings, n_threads, interval=0)):
            if n_states == 2:
                raise KeyboardInterrupt
            yield state

    with monkeypatch.context() as patch:
        patch.setattr(cluster, "learn_with_checkpoints", interrupted)
        assert call("cluster", *arguments).exit_code != 0
    assert (tmp_path / "out.tsv.checkpoint").exists() and not (tmp_path / "out.tsv").exists()
    assert "Going on from" in said("cluster", *arguments)
    assert (tmp_path / "out.tsv").read_bytes() == expected
    assert not (tmp_path / "out.tsv.checkpoint").exists()


def test_fewer_words_than_classes_are_told(tmp_path):
    (tmp_path / "text.txt").write_text("a b a b\n")
    assert "each of the 2 words is a class" in said("cluster", tmp_path / "text.txt", tmp_path / "out.tsv")
