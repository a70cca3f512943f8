"""Damaged and hand-edited models are refused, or are what they say they are; see `fuzzing`."""

import pytest

from ..pipeline.toy import SEQUENCES
from .components import every
from .fuzzing import Fuzzer


def fuzz(factory: str, n_files: int, record_property, **settings) -> None:
    outcome = Fuzzer(factory, **settings).run(n_files)
    for name, count in zip(("tried", "sealed", "refused", "same", "edited"), outcome.row()):
        record_property(name, count)
    assert outcome.crashes == []
    assert outcome.wrong == []
    assert outcome.tried == n_files == outcome.refused + outcome.same + outcome.edited
    assert 2 * outcome.refused > n_files and outcome.sealed == n_files // 2 and outcome.edited


@every
def test_damaged_models(factory, record_property):
    fuzz(factory, 50, record_property)


@pytest.mark.slow
@pytest.mark.parametrize("factory", SEQUENCES)
def test_damaged_models_with_names_of_features(factory, record_property):
    fuzz(factory, 500, record_property, save_feature_names=True)


@pytest.mark.slow
@every
def test_thousands_of_damaged_models(factory, record_property):
    fuzz(factory, 2500, record_property)
