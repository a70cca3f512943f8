"""The training table: a row for each evaluation that fits on a screen, and all figures in the file."""

import io

import pytest
import spacy
import srsly
from spacy.training import Example

from spacy_ssvm import memory
from spacy_ssvm.pipeline.logger import MAX_WITH_FIGURES, console_logger

from .toy import LANG


@pytest.mark.parametrize("n_components", [1, MAX_WITH_FIGURES, MAX_WITH_FIGURES + 1])
def test_figures_are_in_the_table_where_they_fit_and_always_in_the_file(tmp_path, n_components):
    nlp = spacy.blank(LANG)
    names = [f"tagger{k}" for k in range(n_components)]
    for name in names:
        nlp.add_pipe("ssvm_tagger", name=name)
    nlp.config["training"]["score_weights"] = {"tag_acc": 1.0}
    table, path = io.StringIO(), tmp_path / "log.jsonl"
    log, finish = console_logger(path)(nlp, stdout=table)
    losses = {name: 1.0 for name in names}
    log({"epoch": 0, "step": 0, "seconds": 1, "score": 0.5, "losses": losses, "other_scores": {"tag_acc": 0.5}})
    finish()
    header, _, row = table.getvalue().splitlines()[:3]
    assert all(f"LOSS {name.upper()}" in header for name in names)
    assert header.count("DUAL") == (n_components if n_components <= MAX_WITH_FIGURES else 0)
    assert row.split()[-2:] == ["50.00", "0.5000"]
    (record,) = srsly.read_jsonl(path)
    assert set(record["figures"]) == set(names)


def run(solver, tmp_path, rows, **keys):
    """The lines that the logger prints on a tagger in so many rows of training, and the file's records."""
    nlp = spacy.blank(LANG)
    nlp.add_pipe("ssvm_tagger", config={"solver": solver})
    nlp.config["training"]["score_weights"] = {"tag_acc": 1.0}
    texts = [("a dog barks", ["DET", "NOUN", "VERB"]), ("a cat sleeps", ["DET", "NOUN", "VERB"]), ("go", ["VERB"])]
    examples = [Example.from_dict(nlp.make_doc(text), {"tags": tags}) for text, tags in texts]
    nlp.initialize(lambda: examples)
    table, path = io.StringIO(), tmp_path / "log.jsonl"
    log, finish = console_logger(path, **keys)(nlp, stdout=table)
    for row in range(rows):
        losses = nlp.update(examples)
        log({"epoch": row, "step": row, "seconds": 1, "score": 0, "losses": losses, "other_scores": {}})
    finish()
    lines = table.getvalue().splitlines()
    return [line for line in lines if line.startswith("ssvm_tagger: ")], [*srsly.read_jsonl(path)]


def test_certificates_at_checkpoints_and_at_the_end(tmp_path):
    lines, records = run({"@ssvm_solvers": "spacy-ssvm.SDM.v1", "tolerance": 0}, tmp_path, 5, certificate_frequency=2)
    assert len(lines) == 3
    assert ["certificates" in record for record in records] == [False, True, False, True, False]
    (certificate,) = records[3]["certificates"].values()
    assert 0 < certificate["dual"] <= certificate["primal"]
    assert f"primal {certificate['primal']:,.4f}, dual {certificate['dual']:,.4f}, relative gap" in lines[1]


@pytest.mark.parametrize("peak, last", [(1_234_567_890, "Peak memory: 1,235 MB"), (None, "primal -, dual -, gap -")])
def test_the_peak_memory_is_the_last_line_where_the_system_says_it(monkeypatch, peak, last):
    monkeypatch.setattr(memory, "peak", lambda: peak)
    nlp, table = spacy.blank(LANG), io.StringIO()
    nlp.add_pipe("ssvm_tagger")
    _, finish = console_logger()(nlp, stdout=table)
    finish()
    assert table.getvalue().splitlines()[-1].endswith(last)


def test_solvers_without_a_certificate_print_a_dash(tmp_path):
    (line,), _ = run({"@ssvm_solvers": "spacy-ssvm.MIRA.v1"}, tmp_path, 2)
    assert line.endswith("primal -, dual -, gap -")
    (line,), records = run({"@ssvm_solvers": "spacy-ssvm.LSE.v1"}, tmp_path, 2)
    (figures,) = records[-1]["figures"].values()
    assert f"primal -, dual {figures['dual']:,.4f}, gap - " in line
    assert f"outside the working sets {figures['outside']:.2e}: no gap" in line


def test_a_negative_frequency_is_refused():
    with pytest.raises(ValueError, match=r"certificate_frequency must not be negative, not -1"):
        console_logger(certificate_frequency=-1)
