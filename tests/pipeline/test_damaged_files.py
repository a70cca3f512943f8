"""What goes wrong with files: nothing that was saved is lost, and what is damaged or edited is refused, or is valid."""

import os

import pytest
import srsly

from spacy_ssvm import files
from spacy_ssvm.files import replace_files
from spacy_ssvm.models.store import DamagedModel
from tools.fuzzing import Fuzzer

from .components import every, learnt
from .toy import EXAMPLES, SEQUENCES, annotations, blank, train, trained, weights


@every
@pytest.mark.parametrize("n_files", [30, pytest.param(2500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("settings", [{}, pytest.param({"save_feature_names": True}, marks=pytest.mark.slow)])
def test_damaged_models(factory, n_files, settings, record_property):
    if settings and factory not in SEQUENCES:
        pytest.skip("has no names of features")
    outcome = Fuzzer(factory, **settings).run(n_files)
    for name, count in zip(("tried", "sealed", "refused", "same", "edited"), outcome.row()):
        record_property(name, count)
    assert outcome.crashes == [] and outcome.wrong == []
    assert outcome.tried == n_files == outcome.refused + outcome.same + outcome.edited
    assert 2 * outcome.refused > n_files and outcome.sealed == n_files // 2 and outcome.edited


CHANGED = {"hash_bits": 60, "structure": "nonprojective", "order": 1, "max_heads": 1, "arcs": ["x"], "first_pass": []}


@pytest.mark.parametrize(("attribute", "value"), CHANGED.items())
def test_model_settings_that_were_changed(attribute, value):
    changed, nlp = learnt("ssvm_parser").get_pipe("ssvm_parser"), learnt("ssvm_parser")
    before = annotations(nlp)
    changed.model.attrs[attribute] = value
    fields = srsly.msgpack_loads(weights(nlp, "ssvm_parser"))
    fields["model"] = changed.model.to_bytes()
    with pytest.raises(DamagedModel, match="cannot be loaded"):
        nlp.get_pipe("ssvm_parser").from_bytes(srsly.msgpack_dumps(fields), exclude=["vocab"])
    assert annotations(nlp) == before


@every
def test_files_of_other_components(factory):
    for other in {*EXAMPLES} - {factory}:
        with pytest.raises(DamagedModel, match=rf"\[{factory}\]"):
            blank(factory).get_pipe(factory).from_bytes(weights(learnt(other), other), exclude=["vocab"])


@every
def test_what_a_newer_version_wrote_is_refused_as_such(factory):
    nlp = learnt(factory)
    model = nlp.get_pipe(factory).model
    shape = model.get_param("shape").copy()
    shape[0] += 1
    model.set_param("shape", shape)
    with pytest.raises(DamagedModel, match="newer version"):
        blank(factory).from_bytes(nlp.to_bytes())


def contents(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


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
        learnt("ssvm_tagger").get_pipe("ssvm_tagger").to_disk(tmp_path / "place")
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
