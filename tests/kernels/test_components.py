"""Of every component's kernels a second process compiles nothing, and none are needed."""

import pytest

from .processes import PREDICTED, PREDICTION, TRAINING, run

ONLY_TESTED = {"loopy_marginals", "_bethe", "_softplus"}
"""Kernels that no component needs."""


def test_second_process_compiles_nothing_for_any_component(tmp_path):
    """Neither one that trains nor one that only loads and predicts; kernels that others call come along with those."""
    loading = f"\nimport spacy\nnlp = spacy.load({str(tmp_path)!r}){PREDICTION}"
    first = run(f"{TRAINING}nlp.to_disk({str(tmp_path)!r}){loading}")
    again = run(f"{TRAINING}nlp.to_disk({str(tmp_path)!r}){loading}")
    loaded = run(loading)
    assert first.printed == again.printed == loaded.printed == PREDICTED
    for later in (again, loaded):
        assert len(later.statistics) > 5 and later.misses == 0
        assert all(found > 0 for found, _ in later.statistics.values())
        assert "ompiling" not in later.messages


@pytest.mark.slow
def test_second_process_finds_every_kernel_of_every_solver(tmp_path):
    code = "\nfrom spacy_ssvm.cli.warmup import warmup\nprint(len(warmup()))\n"
    left_out = "{one.__name__ for one in kernels.KERNELS if not one.overloads and not one.inner.overloads}"
    check = f"from spacy_ssvm import kernels\nassert {left_out} <= {ONLY_TESTED}, {left_out}\n"
    first = run(code + check, NUMBA_CACHE_DIR=str(tmp_path))
    assert first.misses >= first.printed == len(first.statistics)
    assert run(code, NUMBA_CACHE_DIR=str(tmp_path)).misses == 0
    assert run(f"{TRAINING}{PREDICTION}", NUMBA_CACHE_DIR=str(tmp_path)).misses == 0


def test_works_without_a_compiler():
    """Slow, correct and quiet."""
    result = run(f"{TRAINING}{PREDICTION}", "-W", "error", NUMBA_DISABLE_JIT="1")
    assert result.printed == PREDICTED and not result.statistics and not result.messages
