"""spaCy's own tests, from the installed package, with our components under the names of spaCy's.

`python -m tools.spacy_suite` runs them and compares what fails with `EXPECTED`. As a pytest plugin, which is how the
tests are run, this module registers our factories under the names in `OURS`. Settings that only spaCy's components have
are dropped, as are the blocks of their models; all other settings, right or wrong, reach ours.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest.mock
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.util import registry

OURS = {
    "tagger": "ssvm_tagger",
    "morphologizer": "ssvm_morphologizer",
    "trainable_lemmatizer": "ssvm_lemmatizer",
    "ner": "ssvm_ner",
    "parser": "ssvm_parser",
    "senter": "ssvm_senter",
}
SUITE = Path(spacy.__file__).parent / "tests"
ALL = [str(SUITE), f"--ignore={SUITE / 'lang'}"]
"""The arguments of pytest for all tests but those of languages, which build none of the components."""
RESULTS = "SPACY_SUITE_RESULTS"
"""The environment variable with the path to write results to: node id → outcome, of tests that build a component."""

NEURAL = "neural internal"
SWAPPING = "artefact of swapping"
DOCUMENTED = "difference documented in docs/start/coming-from-spacy.md"
REASONS: dict[str, tuple[str, list[str]]] = {
    "asks for dimensions, layers or activations of spaCy's network": (
        NEURAL,
        [
            "parser/test_ner.py::test_issue2179",
            "pipeline/test_edit_tree_lemmatizer.py::test_incomplete_data[1]",
            "pipeline/test_edit_tree_lemmatizer.py::test_incomplete_data[30]",
            "pipeline/test_edit_tree_lemmatizer.py::test_incomplete_data[5]",
            "pipeline/test_models.py::test_components_batching_list[morphologizer]",
            "pipeline/test_models.py::test_components_batching_list[senter]",
            "pipeline/test_models.py::test_components_batching_list[tagger]",
            "pipeline/test_morphologizer.py::test_label_smoothing",
            "pipeline/test_morphologizer.py::test_no_resize",
            "pipeline/test_tagger.py::test_label_smoothing",
            "pipeline/test_tagger.py::test_no_resize",
            "pipeline/test_tagger.py::test_overfitting_IO",
            "training/test_pretraining.py::test_pretraining_tagger",
        ],
    ),
    "asks for a tok2vec layer, or for its listeners": (
        NEURAL,
        [
            "pipeline/test_tok2vec.py::test_replace_listeners",
            "pipeline/test_tok2vec.py::test_replace_listeners_from_config",
            "pipeline/test_tok2vec.py::test_tok2vec_frozen_not_annotating",
            "pipeline/test_tok2vec.py::test_tok2vec_listener[False]",
            "pipeline/test_tok2vec.py::test_tok2vec_listener[True]",
            "pipeline/test_tok2vec.py::test_tok2vec_listener_callback",
            "pipeline/test_tok2vec.py::test_tok2vec_listener_source_link_name",
            "pipeline/test_tok2vec.py::test_tok2vec_listener_source_replace_listeners",
            "pipeline/test_tok2vec.py::test_tok2vec_listeners_textcat",
            "serialize/test_serialize_config.py::test_serialize_custom_nlp",
            "serialize/test_serialize_config.py::test_serialize_nlp",
            "serialize/test_serialize_config.py::test_serialize_parser[parser_config_string0]",
            "serialize/test_serialize_config.py::test_serialize_parser[parser_config_string1]",
            "training/test_pretraining.py::test_pretraining_tagger_tok2vec[config0]",
            "training/test_pretraining.py::test_pretraining_tagger_tok2vec[config1]",
            "training/test_pretraining.py::test_pretraining_training",
        ],
    ),
    "asks for the transition system: moves, move_names": (
        NEURAL,
        [
            "parser/test_ner.py::test_accept_blocked_token",
            "parser/test_ner.py::test_issue1967[U-JOB-NAME]",
            "parser/test_ner.py::test_issue3209",
            "parser/test_ner.py::test_labels_from_BILUO",
            "parser/test_ner.py::test_overwrite_token",
            "serialize/test_serialize_pipeline.py::test_issue4725_1",
        ],
    ),
    "reads or misspells a setting of spaCy's model, whose block is dropped": (
        SWAPPING,
        [
            "serialize/test_serialize_config.py::test_config_interpolation",
            "serialize/test_serialize_config.py::test_config_validate_literal[parser_config_string0]",
            "serialize/test_serialize_config.py::test_config_validate_literal[parser_config_string1]",
        ],
    ),
    "expects that a pipeline of spaCy's components depends on no other package": (
        SWAPPING,
        ["test_cli.py::test_get_third_party_dependencies"],
    ),
    "expects a loss near 0, where ours is that of an optimum with regularisation": (
        DOCUMENTED,
        [
            "parser/test_ner.py::test_overfitting_IO[False]",
            "parser/test_ner.py::test_overfitting_IO[True]",
            "parser/test_parse.py::test_incomplete_data[parser]",
            "pipeline/test_entity_linker.py::test_overfitting_IO_with_ner",
            "pipeline/test_morphologizer.py::test_overfitting_IO",
            "pipeline/test_senter.py::test_overfitting_IO",
            "pipeline/test_tagger.py::test_incomplete_data",
        ],
    ),
    "asks for edit trees, where our labels are edit scripts": (
        DOCUMENTED,
        [
            "pipeline/test_edit_tree_lemmatizer.py::test_initialize_from_labels",
            "pipeline/test_edit_tree_lemmatizer.py::test_lemmatizer_label_data",
        ],
    ),
    "expects that a prediction adds labels": (
        DOCUMENTED,
        ["parser/test_add_label.py::test_ner_labels_added_implicitly_on_predict"],
    ),
    "expects that initialize has no argument `labels`": (
        DOCUMENTED,
        ["pipeline/test_pipe_methods.py::test_pipe_label_data_no_labels[senter]"],
    ),
    "expects W033, on the table lexeme_norm": (
        DOCUMENTED,
        ["parser/test_ner.py::test_ner_warns_no_lookups"],
    ),
}
"""Why tests cannot pass: reason → its kind, and the tests."""
EXPECTED = {test for _, tests in REASONS.values() for test in tests}


def swap(note: Any) -> None:
    """Register our factories under spaCy's names; note: called whenever one of them makes a component."""
    Language()  # reads the entry points
    without_ours = {}
    for name, ours in OURS.items():
        meta = Language.get_factory_meta(ours)
        known_to_spacy = Language.get_factory_meta(name).default_config
        without_ours[name] = known_to_spacy.keys() - meta.default_config.keys()
        registry.factories.register(name, func=registry.factories.get(ours))
        Language.set_factory_meta(name, replace(meta, factory=name))
    create_pipe = Language.create_pipe

    def create(self, factory_name, name=None, *, config={}, raw_config=None, validate=True):  # noqa: B006
        if factory_name in OURS and isinstance(config, dict):
            note()
            dropped = without_ours[factory_name]
            if "spacy-ssvm" not in str(config.get("model")):
                dropped = {*dropped, "model"}
            config = {key: value for key, value in config.items() if key not in dropped}
            if raw_config is not None:
                raw_config = type(raw_config)({key: raw_config[key] for key in raw_config if key not in dropped})
        return create_pipe(self, factory_name, name, config=config, raw_config=raw_config, validate=validate)

    Language.create_pipe = create


class Recorder:
    """Notes which test builds a component, and how it ends."""

    def __init__(self) -> None:
        self.test = ""
        self.built: set[str] = set()
        self.outcomes: dict[str, str] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item):
        self.test = item.nodeid

    def pytest_runtest_logreport(self, report):
        outcome = "expected failure" if hasattr(report, "wasxfail") else report.outcome
        if report.when == "call" or outcome != "passed":
            self.outcomes[report.nodeid] = outcome

    def pytest_sessionfinish(self):
        found = {test: self.outcomes[test] for test in sorted(self.built) if test in self.outcomes}
        Path(os.environ[RESULTS]).write_text(json.dumps(found, indent=0))


def pytest_configure(config):
    sys.modules.setdefault("mock", unittest.mock)  # Some files import the package of that name, which is the same.
    recorder = Recorder()
    config.pluginmanager.register(recorder)
    swap(lambda: recorder.built.add(recorder.test))


def run(arguments: list[str]) -> dict[str, str]:
    """The outcomes of spaCy's tests that build one of the components; arguments: for pytest."""
    here = Path(__file__).resolve().parents[1]
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.json"
        # In a folder of its own: pytest would read the settings and the conftest.py of ours.
        command = [sys.executable, "-m", "pytest", "-p", "tools.spacy_suite", "--rootdir", str(SUITE), "-c", os.devnull]
        subprocess.run(
            [*command, "-q", "--tb=short", "-p", "no:cacheprovider", *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(here), RESULTS: str(results)},
            check=False,
        )
        return json.loads(results.read_text())


def differences(outcomes: dict[str, str]) -> tuple[set[str], set[str]]:
    """The tests that fail and are not expected to, and those that are expected to fail and pass."""
    failed = {test for test, outcome in outcomes.items() if outcome == "failed"}
    return failed - EXPECTED, {test for test in EXPECTED & outcomes.keys() if outcomes[test] == "passed"}


def report(outcomes: dict[str, str]) -> str:
    """How many tests build a component, how they end, and why those fail that are expected to."""
    lines = [f"{len(outcomes)} tests build a component: {dict(Counter(outcomes.values()))}"]
    for reason, (kind, tests) in REASONS.items():
        lines.append(f"{sum(outcomes.get(test) == 'failed' for test in tests):4} {kind}: {reason}")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    outcomes = run(arguments or ALL)
    print(report(outcomes))
    failed, wrong = differences(outcomes)
    for test in sorted(failed | wrong):
        print(f"{'fails' if test in failed else 'is expected to fail, and passes'}: {test}")
    return 1 if failed or wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
