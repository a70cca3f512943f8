"""Whatever a config says is taken, or refused by a sentence that names the key."""

import copy
import re
from collections.abc import Callable
from inspect import signature
from typing import Any

import catalogue
import pytest
import spacy
from confection import ConfigValidationError
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy import registry

from spacy_ssvm.registry import ssvm_solvers

from ..pipeline.toy import EXAMPLES, train
from .components import LANG, blank, blank_config, every

anything: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.sampled_from([0, 1, -1, 2, 3, 2**31, 0.5, -0.5, 1e-300, 1e300, "", "inf", "nan", "1", "-1", "0.5", "x", "tag"]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.lists(st.one_of(st.integers(), st.text(max_size=4), st.none()), max_size=3),
    # A key that starts with @ asks spaCy for a registered function, whatever the parameter.
    st.dictionaries(
        st.text(max_size=4).filter(lambda key: not key.startswith("@")),
        st.one_of(st.integers(), st.text(max_size=4), st.none()),
        max_size=2,
    ),
)
NLP = spacy.blank(LANG)
CHAIN_FEATURES = ("spacy-ssvm.TaggerFeatures.v1", "spacy-ssvm.Templates.v1")
FEATURES = {
    "ssvm_tagger": CHAIN_FEATURES,
    "ssvm_ner": CHAIN_FEATURES,
    "ssvm_senter": CHAIN_FEATURES,
    "ssvm_parser": ("spacy-ssvm.ParserFeatures.v1", "spacy-ssvm.ArcTemplates.v1"),
}
TEMPLATES = ("extra", "templates", "arcs", "labels", "first_pass", "tags")
"""Of these, it may be the template at fault that is named."""
NEEDED = {
    "spacy-ssvm.Templates.v1": {"templates": ["bias"]},
    "spacy-ssvm.ArcTemplates.v1": {key: ["mod.lower[0]"] for key in ("arcs", "labels", "first_pass")},
}
REFUSALS = (ConfigValidationError, ValueError, catalogue.RegistryError)
number_of_configs = pytest.mark.parametrize("n_configs", [25, pytest.param(1000, marks=pytest.mark.slow)])


def is_taken(key: str, make: Callable[[], Any]) -> bool:
    """Whether something can be made of a config; a refusal must name the key."""
    try:
        make()
    except REFUSALS as refusal:
        # What confection prints has the whole config behind it.
        given = isinstance(refusal, ConfigValidationError) and refusal.errors
        said = "; ".join(f"{error['loc']} {error['msg']}" for error in given) if given else str(refusal)
        named = rf"\b{re.escape(key)}\b{'|template' * (key in TEMPLATES)}"
        assert re.search(named, said), f"{key!r} is not named: {said}"
        return False
    return True


def component_of(factory: str, **config: Any) -> Callable[[], Any]:
    return lambda: NLP.create_pipe(factory, config={**blank_config(factory), **config})


@number_of_configs
@every
def test_settings_of_a_component(factory, n_configs):
    keys = sorted(blank(factory).config["components"][factory].keys() - {"factory"})

    @settings(max_examples=n_configs)
    @given(st.sampled_from(keys), anything)
    def check(key, value):
        is_taken(key, component_of(factory, **{key: value}))

    check()


@every
@pytest.mark.parametrize("place", ["component", "model", "features", "solver"])
def test_unknown_keys(factory, place):
    config = copy.deepcopy(blank_config(factory))
    blocks = {"component": config, **config, "features": config["model"]["features"]}
    blocks[place]["learn_rate"] = 0.1
    assert not is_taken("learn_rate", component_of(factory, **config))


@number_of_configs
@pytest.mark.parametrize("solver", sorted(ssvm_solvers.get_all()))
def test_parameters_of_a_solver(solver, n_configs):
    names = sorted(signature(ssvm_solvers.get(solver)).parameters)

    @settings(max_examples=n_configs)
    @given(st.sampled_from(names), anything)
    def check(key, value):
        is_taken(key, lambda: registry.resolve({"it": {"@ssvm_solvers": solver, key: value}}))

    check()


@number_of_configs
@every
def test_parameters_of_a_model(factory, n_configs):
    """Those of its features, too."""
    model = blank_config(factory)["model"]
    own = {"ssvm_parser": ["structure", "order", "max_heads", "margin"]}.get(factory, [])
    places = [(None, key) for key in own]
    for name in FEATURES[factory]:
        places += [(name, key) for key in sorted(signature(registry.ssvm_features.get(name)).parameters)]

    @settings(max_examples=n_configs)
    @given(st.sampled_from(places), anything)
    def check(place, value):
        name, key = place
        features = {"@ssvm_features": name, **NEEDED.get(name, {}), key: value}
        config = {**model, key: value} if name is None else {**model, "features": features}
        is_taken(key, lambda: registry.resolve({"it": config}))

    check()


@every
@pytest.mark.parametrize("kind", ["architectures", "ssvm_features", "ssvm_solvers"])
def test_names_that_are_not_registered(factory, kind):
    config = copy.deepcopy(blank_config(factory))
    for block in (config["model"], config["model"]["features"], config["solver"]):
        if f"@{kind}" in block:
            block[f"@{kind}"] = "spacy-ssvm.Nothing.v1"
    assert not is_taken("spacy-ssvm.Nothing.v1", component_of(factory, **config))


@every
@pytest.mark.parametrize(
    "solver", [{"C": "0.1"}, {"C": 1}, {"inner_passes": "2"}, {"seed": 2**40}, {"tolerance": 0}, {"C": 1e-9}], ids=str
)
def test_numbers_of_another_type_are_trained_with(factory, solver):
    nlp = blank(factory, solver_settings=solver)
    nlp.initialize(lambda: EXAMPLES[factory](nlp))
    train(nlp, EXAMPLES[factory](nlp), 2)
    nlp.evaluate(EXAMPLES[factory](nlp))
