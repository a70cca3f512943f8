"""The training table: a row for each evaluation that fits on a screen, and all figures in the file."""

import io

import pytest
import spacy
import srsly

from spacy_ssvm.pipeline.logger import MOST_WITH_FIGURES, console_logger


@pytest.mark.parametrize("n_components", [1, MOST_WITH_FIGURES, MOST_WITH_FIGURES + 1])
def test_figures_are_in_the_table_where_they_fit_and_always_in_the_file(tmp_path, n_components):
    nlp = spacy.blank("en")
    names = [f"tagger{k}" for k in range(n_components)]
    for name in names:
        nlp.add_pipe("ssvm_tagger", name=name)
    nlp.config["training"]["score_weights"] = {"tag_acc": 1.0}
    table, path = io.StringIO(), tmp_path / "log.jsonl"
    log, finish = console_logger(path)(nlp, stdout=table)
    losses = {name: 1.0 for name in names}
    log({"epoch": 0, "step": 0, "seconds": 1, "score": 0.5, "losses": losses, "other_scores": {"tag_acc": 0.5}})
    finish()
    header, _, row = table.getvalue().splitlines()
    assert all(f"LOSS {name.upper()}" in header for name in names)
    assert header.count("DUAL") == (n_components if n_components <= MOST_WITH_FIGURES else 0)
    assert row.split()[-2:] == ["50.00", "0.5000"]
    (record,) = srsly.read_jsonl(path)
    assert set(record["figures"]) == set(names)
