"""spaCy's own tests, from the installed package, with our components under the names of spaCy's.

`python -m tests.spacy_suite` runs them and compares what fails with `EXPECTED`. As a pytest plugin, which is how the
tests are run, this module registers our factories as "tagger", "ner", "parser" and "senter". Settings that only spaCy's
components have are dropped, as are the blocks of their models; all other settings, right or wrong, reach ours.
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

OURS = {"tagger": "ssvm_tagger", "ner": "ssvm_ner", "parser": "ssvm_parser", "senter": "ssvm_senter"}
SUITE = Path(spacy.__file__).parent / "tests"
RESULTS = "SPACY_SUITE_RESULTS"
"""The environment variable with the path to write results to: node id → outcome, of tests that build a component."""

EXPECTED: dict[str, tuple[str, str]] = {}


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
        command = [sys.executable, "-m", "pytest", "-p", "tests.spacy_suite", "--rootdir", str(SUITE), "-c", os.devnull]
        subprocess.run(
            [*command, "-q", "--tb=short", "-p", "no:cacheprovider", *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(here), RESULTS: str(results)},
            check=False,
        )
        return json.loads(results.read_text())


def main(arguments: list[str]) -> int:
    outcomes = run(arguments or [str(SUITE), f"--ignore={SUITE / 'lang'}"])
    Path("/tmp/x_parity/outcomes.json").write_text(json.dumps(outcomes))
    print(Counter(outcomes.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
