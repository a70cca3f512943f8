"""Files of states in parts."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spacy_ssvm.files import replace_files
from spacy_ssvm.training import state_file


def written(folder: Path, state: dict[str, Any]) -> Path:
    replace_files(folder, {"state": state_file.parts(state)})
    return folder / "state"


def test_a_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    arrays = [
        generator.random((3, 4)),
        generator.random((6, 8))[::2, ::3],
        np.array([True, False]),
        np.zeros((0, 2), np.uint16),
        np.array(3, np.int32),
    ]
    state = {"arrays": arrays, "digest": b"\0\1", "deep": {"number": 1.5, "none": None, "array": arrays[0][1]}}
    found = state_file.read(written(tmp_path, state))
    assert found["digest"] == state["digest"] and found["deep"]["number"] == 1.5 and found["deep"]["none"] is None
    for one, expected in zip([*found["arrays"], found["deep"]["array"]], [*arrays, state["deep"]["array"]]):
        assert one.dtype == expected.dtype and one.shape == expected.shape and np.array_equal(one, expected)
        assert one.flags.owndata and one.flags.writeable


def test_damaged_states_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, {"name": "x", "arrays": [np.arange(5), np.ones(2, np.float32)]})
    content = path.read_bytes()
    damaged = [content[:end] for end in range(len(content))]
    damaged += [content[:k] + bytes([content[k] ^ 64]) + content[k + 1 :] for k in range(len(content))]
    for one in damaged:
        path.write_bytes(one)
        with pytest.raises(ValueError, match="state is damaged"):
            state_file.read(path)
    path.write_bytes(content)
    assert state_file.read(path)["name"] == "x"
