"""`spacy ssvm apply`: what it reads and writes, and what becomes of a run that is killed, by one process or several."""

import gzip
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import spacy
import srsly
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin

from spacy_ssvm.distributed.annotation import Annotation, Annotator, cut
from spacy_ssvm.distributed.folder import MANIFEST, SET_ASIDE

from .toy import apply, command, contents, docs_of, lines, refused


def test_every_format_in_and_both_out(place: Path, tmp_path: Path) -> None:
    text = lines(tmp_path, ["One here. Two here.", "", "Three."])
    packed = tmp_path / "packed.txt.gz"
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbfFour.\n"))
    records = tmp_path / "records.jsonl"
    srsly.write_jsonl(records, [{"text": "Five.", "id": 5}])
    stored = tmp_path / "docs.spacy"
    vocab = spacy.blank("en").vocab
    DocBin(docs=[Doc(vocab, words=["Six", "."], tags=["CD", "."]), Doc(vocab, words=["Seven"])]).to_disk(stored)
    treebank = tmp_path / "treebank.conllu"
    rows = ["1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No", "1\tdo\t_\t_\t_\t_\t0\troot\t_\t_"]
    treebank.write_text("\n".join([*rows, "2\tnot\t_\t_\t_\t_\t1\tx\t_\t_", "", ""]), "utf8")
    files = [text, packed, records, stored, treebank]
    output = apply(place, files, tmp_path / "out")
    assert "7 documents" in output
    found = docs_of(tmp_path / "out")
    words = [[token.text for token in doc] for doc in found]
    assert words[:2] == [["One", "here", ".", "Two", "here", "."], ["Three", "."]]
    assert words[2:] == [["Four", "."], ["Five", "."], ["Six", "."], ["Seven"], ["do", "not"]]
    assert [len(list(doc.sents)) for doc in found] == [2, 1, 1, 1, 1, 1, 1]
    assert found[3].user_data["record"] == {"id": 5} and found[4][0].tag_ == "CD"
    apply(place, [tmp_path / "*.jsonl", text], tmp_path / "json", "--format", "jsonl")
    first, second, _ = srsly.read_jsonl(tmp_path / "json" / "000000.jsonl")
    assert first["id"] == 5 and first["text"] == "Five." and len(second["sents"]) == 2


@given(st.lists(st.lists(st.text("ab \u00e9", min_size=1, max_size=9), max_size=9), max_size=4), st.integers(1, 30))
def test_shards_have_all_documents_in_order(tmp_path_factory, texts, max_bytes) -> None:
    folder = tmp_path_factory.mktemp("cut")
    files = [lines(folder, some, f"{number}.txt") for number, some in enumerate(texts)]
    shards = list(cut(files, max_bytes))
    assert [shard.number for shard in shards] == list(range(len(shards)))
    found = [content.decode().rstrip("\n") for shard in shards for piece in shard.pieces for content in piece.contents]
    assert found == [text for some in texts for text in some if text.strip()]
    for shard in shards:
        sizes = [len(content) for piece in shard.pieces for content in piece.contents]
        assert sum(sizes) <= max_bytes or len(sizes) == 1
        assert all(piece.numbers for piece in shard.pieces)
    assert len({shard.source for shard in shards}) == len(shards) or len(set(found)) < len(found)


def test_docs_of_a_file_in_several_shards(place: Path, tmp_path: Path) -> None:
    path, out, vocab = tmp_path / "docs.spacy", tmp_path / "out", spacy.blank("en").vocab
    DocBin(docs=[Doc(vocab, words=[f"word{number}"] * 3) for number in range(7)]).to_disk(path)
    nlp = spacy.load(place / "model")
    shards = list(cut([path], 40))
    assert [len(shard.pieces[0].numbers) for shard in shards] == [2, 2, 2, 1]
    for shard in shards:
        assert Annotator(nlp, Annotation(out))(shard).docs == len(shard.pieces[0].numbers)
    assert [doc[0].text for doc in docs_of(out)] == [f"word{number}" for number in range(7)]


def test_vocabulary_does_not_grow_with_the_corpus(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = lines(tmp_path, [f"Text{number} is new{number}." for number in range(300)])
    shards = list(cut([path], 200))

    def annotated(out: Path, max_new: int) -> tuple[dict[str, bytes], int]:
        monkeypatch.setattr("spacy_ssvm.distributed.annotation.MAX_NEW_STRINGS", max_new)
        nlp = spacy.load(place / "model")
        n_strings, annotator = len(nlp.vocab.strings), Annotator(nlp, Annotation(out))
        n_new = 0
        for shard in shards:
            annotator(shard)
            n_new = max(n_new, len(nlp.vocab.strings) - n_strings)
        return contents(out), n_new

    found, n_new = annotated(tmp_path / "found", 50)
    assert 50 < n_new < 150
    expected, n_all = annotated(tmp_path / "expected", 1_000_000)
    assert n_all > 600 and found == expected


def test_workers_write_what_one_process_writes(place: Path, many: Path, expected: dict[str, bytes], tmp_path) -> None:
    assert len(expected) > 10
    apply(place, [many], tmp_path / "out", "--workers", "3")
    assert contents(tmp_path / "out") == expected
    nlp = spacy.load(place / "model")
    texts = many.read_text("utf8").splitlines()
    assert [doc.to_json() for doc in docs_of(place / "expected")] == [doc.to_json() for doc in nlp.pipe(texts)]


@pytest.mark.skipif(sys.platform != "linux", reason="finds the workers in /proc")
def test_the_same_command_goes_on_after_a_worker_or_the_run_was_killed(place, many, expected, tmp_path) -> None:
    run, out = command(place, [many], tmp_path / "out", "--workers", "2"), tmp_path / "out"
    for kills_worker in (True, False):
        n_before = len(list(out.glob("*.spacy")))
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "start_new_session": True, "text": True}
        started = subprocess.Popen(run, **pipes)
        while len(list(out.glob("*.spacy"))) <= n_before and started.poll() is None:
            time.sleep(0.02)
        children = Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text().split()
        os.kill(int(children[0]) if kills_worker else started.pid, signal.SIGKILL)
        output, _ = started.communicate(timeout=60)
        assert started.returncode == (1 if kills_worker else -signal.SIGKILL)
        if kills_worker:
            assert "a worker died" in output and "The same command goes on" in output
        for child in children:
            while Path(f"/proc/{child}").exists():
                time.sleep(0.05)
        kept = {name for name in contents(out) if name.endswith(".spacy")}
        assert kept and all(contents(out)[name] == expected[name] for name in kept)
    apply(place, [many], out, "--workers", "2")
    assert contents(out) == expected


def test_documents_that_fail_are_set_aside(place: Path, tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_bytes(b"Good.\nThis is poison.\n\xff\xfe\nGood, too.\n")
    records = tmp_path / "records.jsonl"
    records.write_text('{"text": "Good."}\n{"txt": "no text"}\nnot JSON\n{"text": "\\ud800"}\n', "utf8")
    treebank = tmp_path / "treebank.conllu"
    treebank.write_text("1\tone\n\n", "utf8")
    for n_workers in ("1", "2"):
        out = tmp_path / n_workers
        output = apply(place, [texts, records, treebank], out, "--workers", n_workers)
        assert "3 documents" in output and "6 documents could not be annotated" in output
        assert [doc.text for doc in docs_of(out)] == ["Good.", "Good, too.", "Good."]
        rows = list(srsly.read_jsonl(out / SET_ASIDE))
        places = [row["place"].rsplit(" ", 1)[1] for row in rows]
        assert places == ["2", "3", "2", "3", "4", "1"]
        assert str(texts) in rows[0]["place"] and "this is poison" in rows[0]["reason"]
        assert "not JSON" in rows[3]["reason"] and 'a string "text"' in rows[2]["reason"]


def test_nothing_but_bad_documents_is_an_error(place: Path, tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    records.write_text('[{"text": "one"}]\n{"txt": "two"}\n', "utf8")
    assert "none of the documents could be annotated" in refused(place, [records], tmp_path / "out")
    assert len(list(srsly.read_jsonl(tmp_path / "out" / SET_ASIDE))) == 2


def test_a_bad_row_is_named_by_its_line(place: Path, tmp_path: Path) -> None:
    treebank = tmp_path / "treebank.conllu"
    row = "{}\tone\t_\tX\t_\t_\t0\troot\t_\t_\n"
    bad = f"# comment\n{row.format(1)}{row.format(3)}"
    treebank.write_text(f"\ufeff# header\n\n{row.format(1)}\n{bad}\n# footer\n", "utf8")
    assert "Saved 1 document" in apply(place, [treebank], tmp_path / "out")
    (aside,) = srsly.read_jsonl(tmp_path / "out" / SET_ASIDE)
    assert aside["place"].endswith("line 5") and "line 7: ID is '3', not 2" in aside["reason"]


@pytest.mark.slow
def test_damaged_file_ends_the_run_and_what_was_before_it_stays(place: Path, many: Path, tmp_path: Path) -> None:
    good = tmp_path / "good.txt"
    good.write_bytes(many.read_bytes())
    damaged = tmp_path / "damaged.txt.gz"
    damaged.write_bytes(gzip.compress(b"text\n" * 1000)[:-20])
    run = place, [good, damaged], tmp_path / "out", "--workers", "2"
    assert "damaged.txt.gz cannot be read" in refused(*run)
    n_kept = len(list((tmp_path / "out").glob("*.spacy")))
    assert n_kept >= 10
    damaged.write_bytes(gzip.compress(b"text\n" * 1000))
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*.spacy")}
    apply(*run)
    assert all(path.stat().st_mtime_ns == before for path, before in kept.items())


def test_changed_text_is_annotated_again(place: Path, many: Path, tmp_path: Path) -> None:
    texts, some = tmp_path / "texts.txt", b"".join(many.read_bytes().splitlines(keepends=True)[:30])
    texts.write_bytes(some)
    apply(place, [texts], tmp_path / "out")
    texts.write_bytes(some.replace(b"Text 29", b"Text xx"))
    apply(place, [texts], tmp_path / "out")
    found = [doc.text for doc in docs_of(tmp_path / "out")]
    assert found == texts.read_text("utf8").splitlines()
    texts.write_text("One.\n", "utf8")
    apply(place, [texts], tmp_path / "out")
    assert [doc.text for doc in docs_of(tmp_path / "out")] == ["One."]
    assert set(contents(tmp_path / "out")) == {"000000.spacy", MANIFEST}


def test_results_of_another_run_and_files_of_others_are_kept(place: Path, tmp_path: Path) -> None:
    texts, out = lines(tmp_path, ["One."]), tmp_path / "out"
    apply(place, [texts], out)
    before = contents(out)
    for strange in (["--format", "jsonl"], ["--text-key", "content"]):
        assert "results of another run" in refused(place, [texts], out, *strange) and contents(out) == before
    apply(place, [texts], out, "--format", "jsonl", "--force")
    assert set(contents(out)) == {"000000.jsonl", MANIFEST}
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.txt").write_text("mine", "utf8")
    assert "letter.txt" in refused(place, [texts], other)
    apply(place, [texts], other, "--force")
    assert (other / "letter.txt").read_text("utf8") == "mine"


LOCKING = """
import sys
from pathlib import Path
from spacy_ssvm.distributed.folder import locked
with locked(Path(sys.argv[1])):
    print(flush=True)
    sys.stdin.read()
"""
"""A process that has a folder until its input ends."""


def test_two_runs_do_not_write_to_one_folder(place: Path, tmp_path: Path) -> None:
    texts, out = lines(tmp_path, ["One."]), tmp_path / "out"
    with subprocess.Popen([sys.executable, "-c", LOCKING, out], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        assert "another run writes to" in refused(place, [texts], out)
        other.communicate()
    apply(place, [texts], out)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit of the size of files")
def test_full_disk_is_an_error_and_loses_nothing(place, many, expected, tmp_path) -> None:
    import resource

    run = command(place, [many], tmp_path / "out", "--workers", "2")
    limit = len(expected[MANIFEST]) // 2
    full = subprocess.run(
        run,
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert full.returncode == 1 and "File too large" in full.stdout + full.stderr
    apply(place, [many], tmp_path / "out", "--workers", "2")
    assert contents(tmp_path / "out") == expected


def test_results_in_the_folder_of_the_texts_are_not_texts(place: Path, tmp_path: Path) -> None:
    lines(tmp_path, ["One."])
    for _ in range(2):
        assert "1 document " in apply(place, [tmp_path], tmp_path / "out", "--format", "jsonl")
    assert "that of the results" in refused(place, [tmp_path / "out"], tmp_path / "out")


@pytest.mark.parametrize("inputs", [["nothing.txt"], ["*.nothing"], ["image.png"]])
def test_no_files_is_an_error(place: Path, tmp_path: Path, inputs: list[str], monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "image.png").touch()
    assert inputs[0] in refused(place, list(map(Path, inputs)), tmp_path / "out") and not (tmp_path / "out").exists()
