"""SOLVERS.md names every solver that can be put into a config, with all its parameters."""

import re
from inspect import signature
from pathlib import Path

import pytest
import spacy

from spacy_ssvm.registry import ssvm_solvers

from .pipeline.toy import tagger_examples

PAGE = (Path(__file__).parents[1] / "SOLVERS.md").read_text("utf8")
ROWS = dict(re.findall(r"^\| `(spacy-ssvm\.\w+\.v\d)` \|(.*)$", PAGE, re.MULTILINE))
SOLVERS = sorted(ssvm_solvers.get_all())


def test_every_solver_is_there():
    assert sorted(ROWS) == SOLVERS


@pytest.mark.parametrize("solver", SOLVERS)
def test_all_parameters_are_named(solver):
    named = set(re.findall(r"`([A-Za-z_]\w*)`", ROWS[solver].split("|")[0]))
    assert named == set(signature(ssvm_solvers.get(solver)).parameters) - {"seed", "check_oracle"}


def test_the_code_of_the_page_runs(capsys):
    nlp = spacy.blank("en")
    nlp.add_pipe("ssvm_tagger", name="tagger")
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(code, {"nlp": nlp, "examples": tagger_examples(nlp)})
    primal, dual, gap = map(float, capsys.readouterr().out.split())
    assert 0 <= primal - dual == pytest.approx(gap * primal, abs=1e-12)
    assert gap <= 0.01
