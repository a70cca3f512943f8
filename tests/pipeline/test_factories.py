"""The settings that all factories share are checked by spaCy as if each factory stated them."""

import inspect
from dataclasses import replace

import pytest
import spacy
from spacy.language import Language

from spacy_ssvm.models.packing import Packing
from spacy_ssvm.models.protocol import Settings
from spacy_ssvm.pipeline.factories import SHARED

from .toy import EXAMPLES

MISSING = {"ssvm_parser": {"save_feature_names"}}


def test_their_defaults_are_those_of_a_component():
    settings = {name: value for name, value in SHARED.items() if name not in ("weight_dtype", "keep_fraction")}
    assert Settings(**settings) == Settings()
    assert Packing(SHARED["weight_dtype"], SHARED["keep_fraction"]) == Packing()


@pytest.mark.parametrize("factory", EXAMPLES)
def test_a_factory_is_called_as_its_signature_says(factory):
    """Its first four arguments by place, all others by name; what it shows is itself."""
    nlp = spacy.blank("xx")
    config = nlp.add_pipe(factory) and nlp.get_pipe_config(factory)
    make = Language.factories[factory]
    assert inspect.unwrap(make) is make
    component = nlp.get_pipe(factory)
    settings = {name: value for name, value in config.items() if name not in ("factory", "model", "solver", "scorer")}
    first, by_name = (nlp, "mine", component.model, component.solver), {**settings, "scorer": None}
    kinds = [parameter.kind for parameter in inspect.signature(make).parameters.values()]
    assert kinds == [inspect.Parameter.POSITIONAL_OR_KEYWORD] * 4 + [inspect.Parameter.KEYWORD_ONLY] * len(by_name)
    made = make(*first, **by_name)
    assert made.name == "mine" and made.codec == replace(component.codec, name="mine", patterns=made.codec.patterns)
    with pytest.raises(TypeError, match="positional"):
        make(*first, *by_name.values())


@pytest.mark.parametrize("factory", EXAMPLES)
def test_the_settings_reach_the_component(factory):
    given = {"n_threads": 2, "weight_dtype": "int8", "keep_fraction": 0.5, "save_solver_state": True}
    given |= {"corrections": False, "save_feature_names": True}
    config = {name: value for name, value in given.items() if name not in MISSING.get(factory, set())}
    pipe = spacy.blank("xx").add_pipe(factory, config=config)
    assert pipe.settings == Settings(2, Packing("int8", 0.5), True, "save_feature_names" in config, False)
