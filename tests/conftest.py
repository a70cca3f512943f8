"""What all tests share: settings, fixtures, and the order of the files."""

import gc
import os
import pickle
import random
import sys
from contextlib import suppress
from functools import cache, lru_cache
from importlib.metadata import EntryPoint
from pathlib import Path

# Read when NumPy is imported, which must not have happened yet. Two workers on two cores would spend more time in
# waiting for each other's threads of linear algebra than in any test.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from catalogue import Registry
from hypothesis import settings
from spacy.lang.de import German
from spacy.lang.en import English
from spacy.lang.xx import MultiLanguage

from .sampling import mark_slow

# For `tools`. Behind the installed package, which is what is tested.
sys.path.append(str(Path(__file__).parents[1]))

LONGEST = (
    "kernels/test_components.py",
    "test_docs.py",
    "cli/test_evaluated_as_trained.py",
    "distributed/test_apply.py",
    "cli/test_app.py",
    "cli/test_tune.py",
    "solvers/test_contract.py",
    "kernels/test_plain_compiler.py",
    "distributed/test_training.py",
    "corpus/test_treebank.py",
    "test_layers.py",
    "kernels/test_machine_code.py",
    "cli/test_init_config.py",
    "pipeline/test_commands.py",
    "pipeline/test_saving.py",
    "distributed/test_shared_training.py",
    "pipeline/test_solver_state.py",
)
"""Files that go first, so that no worker is left with one of them at the end; the first two share few kernels."""

# No test asserts a time: on a busy machine any example may be slow. `--hypothesis-profile thorough` tries more.
settings.register_profile("thorough", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=25)
settings.load_profile("quick")


# Most of the time that spaCy takes for a toy pipeline goes into reading the list of entry points again for each name,
# into the types of their arguments, into parsing the same config four times, and into the smileys and contractions that
# its tokenizer is not to split.
Registry._get_entry_points = cache(Registry._get_entry_points)
EntryPoint.load = cache(EntryPoint.load)


def parsed_once(parse):
    """Config texts are parsed once; each caller gets a copy."""
    parsed = lru_cache(maxsize=200)(lambda text, interpolate: pickle.dumps(parse(text, interpolate=interpolate)))

    def found(text, *, interpolate=True, overrides=None):
        if overrides:
            return parse(text, interpolate=interpolate, overrides=overrides)
        return pickle.loads(parsed(text, interpolate))

    return found


with suppress(ImportError):  # confection has it from version 1 on
    from confection import _config, validation

    _config.parse_config = parsed_once(_config.parse_config)
    validation.Schema.from_function = staticmethod(cache(validation.Schema.from_function))


for language in (MultiLanguage, English, German):
    language.Defaults = type("_NoExceptions", (language.Defaults,), {"tokenizer_exceptions": {}})


def pytest_configure(config):
    """Not in pyproject.toml, for which pytest would import numba, and so NumPy, before it reads this file."""
    config.addinivalue_line("filterwarnings", "error::numba.NumbaPendingDeprecationWarning")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    mark_slow(items)
    folder, place = Path(__file__).parent, {name: k for k, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.relative_to(folder).as_posix(), len(place)))


def pytest_collection_finish():
    """What has been collected stays until the end: the garbage collector need not look through it again and again."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _elsewhere(tmp_path_factory):
    """A Python that a test starts in the checkout would import the checkout, not the installed package."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.getbasetemp())
        yield


@pytest.fixture(autouse=True)
def _seeded():
    """No test depends on the order in which tests run."""
    random.seed(0)
    np.random.seed(0)


@pytest.fixture
def ray() -> None:
    """Skips a test where there is no Ray, or the processes of its workers cannot be found."""
    pytest.importorskip("ray")
    if sys.platform != "linux":
        pytest.skip("finds the workers in /proc")
