"""spaCy's own tests on our components: see `tools.spacy_suite`."""

import pytest

from tools import spacy_suite


@pytest.mark.slow
def test_no_test_of_spacy_fails_without_a_reason():
    """What fails is a neural internal, an artefact of swapping, or documented."""
    outcomes = spacy_suite.run(spacy_suite.ALL)
    assert len(outcomes) >= 140 and outcomes.keys() >= spacy_suite.EXPECTED
    assert spacy_suite.differences(outcomes) == (set(), set())
