"""What goes wrong with files: nothing that was saved is lost, and what is damaged is refused in words."""

import json
import os
import resource
import shutil
from contextlib import contextmanager

import pytest
import spacy

from spacy_ssvm import files
from spacy_ssvm.files import replace_files
from spacy_ssvm.models.store import DamagedModel

from .toy import EXAMPLES, annotations, blank, train, trained

every = pytest.mark.parametrize("factory", EXAMPLES)


def contents(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@contextmanager
def no_room():
    """No file may grow beyond 64 bytes, as if the disk were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def grown(factory, folder):
    """A pipeline that was saved, and has learnt on since."""
    nlp = trained(factory, 2, save_solver_state=True)
    component = nlp.get_pipe(factory)
    component.to_disk(folder, exclude=["vocab"])
    saved = contents(folder)
    assert set(saved) == {"cfg", "model", "state"}
    train(nlp, EXAMPLES[factory](nlp), 3)
    return nlp, component, saved


@every
def test_a_full_disk_leaves_what_was_saved(factory, tmp_path):
    _, component, saved = grown(factory, tmp_path)
    said = rf"\[{factory}\] cannot be saved to .*, which stays as it was: File too large"
    with no_room(), pytest.raises(OSError, match=said):
        component.to_disk(tmp_path, exclude=["vocab"])
    assert contents(tmp_path) == saved
    component.to_disk(tmp_path, exclude=["vocab"])
    assert contents(tmp_path)["model"] != saved["model"]


@every
def test_a_failure_at_any_file_leaves_what_was_saved(factory, tmp_path, monkeypatch):
    _, component, saved = grown(factory, tmp_path)
    write = files.Path.write_bytes
    for bad in saved:

        def fails(path, data, bad=bad):
            if path.name.startswith(f"{bad}."):
                write(path, data[: len(data) // 2])
                raise OSError(28, "No space left on device")
            return write(path, data)

        monkeypatch.setattr(files.Path, "write_bytes", fails)
        with pytest.raises(OSError, match=rf"\[{factory}\] cannot be saved .*: No space left on device") as raised:
            component.to_disk(tmp_path, exclude=["vocab"])
        assert raised.value.errno == 28
        assert contents(tmp_path) == saved
    monkeypatch.undo()
    again = blank(factory)
    again.get_pipe(factory).from_disk(tmp_path, exclude=["vocab"])
    assert annotations(again)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to(tmp_path):
    _, component, saved = grown("ssvm_tagger", tmp_path)
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match=r"\[ssvm_tagger\] cannot be saved"):
        component.to_disk(tmp_path, exclude=["vocab"])
    tmp_path.chmod(0o700)
    assert contents(tmp_path) == saved


def test_a_file_where_the_folder_should_be(tmp_path):
    (tmp_path / "place").write_text("taken")
    with pytest.raises(OSError, match=r"\[ssvm_tagger\] cannot be saved to .*place"):
        trained("ssvm_tagger", 1).get_pipe("ssvm_tagger").to_disk(tmp_path / "place")
    assert (tmp_path / "place").read_text() == "taken"


def test_files_are_replaced_as_others_read_them(tmp_path):
    """Whoever has a file open goes on with what it was; permissions are those of any new file."""
    replace_files(tmp_path / "folder", {"a": b"old"})
    with open(tmp_path / "folder" / "a", "rb") as reader:
        replace_files(tmp_path / "folder", {"a": b"new", "b": b""})
        assert reader.read() == b"old"
    assert contents(tmp_path / "folder") == {"a": b"new", "b": b""}
    (tmp_path / "other").write_bytes(b"")
    assert (tmp_path / "folder" / "a").stat().st_mode == (tmp_path / "other").stat().st_mode


@every
def test_a_pipeline_that_was_written_by_half_is_refused(factory, tmp_path):
    """spaCy writes a pipeline in place, one component after the other."""
    nlp = trained(factory, 2)
    whole, half = tmp_path / "whole", tmp_path / "half"
    nlp.to_disk(whole)
    other = trained(factory, 5, solver="MIRA")
    other.to_disk(tmp_path / "other")
    component = r"\[" + factory + r"\] the saved component cannot be loaded: .*"

    def refused(change, complaint):
        shutil.copytree(whole, half)
        change(half / factory)
        with pytest.raises(DamagedModel, match=component + complaint):
            spacy.load(half)
        shutil.rmtree(half)

    refused(shutil.rmtree, "cfg")
    refused(lambda folder: (folder / "cfg").unlink(), "cfg")
    refused(lambda folder: (folder / "model").unlink(), "model")
    refused(lambda folder: (folder / "model").write_bytes(b""), "")
    refused(lambda folder: (folder / "model").write_bytes((folder / "model").read_bytes()[:-100]), "")
    refused(lambda folder: (folder / "cfg").write_text((folder / "cfg").read_text()[:-5]), "")

    def relabel(folder):
        cfg = json.loads((folder / "cfg").read_text())
        cfg["labels"] = cfg["labels"][::-1]
        (folder / "cfg").write_text(json.dumps(cfg))

    refused(relabel, "")


def test_strings_of_another_pipeline_are_made_up_for(tmp_path):
    """The labels' strings are in the component's own files."""
    nlp = trained("ssvm_ner")
    nlp.to_disk(tmp_path)
    (tmp_path / "vocab" / "strings.json").write_text("[]")
    assert annotations(spacy.load(tmp_path)) == annotations(nlp)
