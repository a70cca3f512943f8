"""What a user gets wrong is said in one sentence that names the component and the key."""

import copy
import math
import re
from collections.abc import Callable
from dataclasses import replace
from inspect import signature
from typing import Any

import catalogue
import pytest
import spacy
from confection import ConfigValidationError
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy import registry
from spacy.tokens import Token
from spacy.training import Example

from spacy_ssvm.registry import ssvm_solvers

from .components import COMPONENTS, blank_config, every, labelled, sequences
from .toy import (
    EXAMPLES,
    LANG,
    SEQUENCES,
    SMALL_TREE,
    arc_templates,
    blank,
    doc,
    parser_examples,
    tagger_examples,
    teach,
    templates,
)

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
FEATURES = {
    **dict.fromkeys(SEQUENCES, ("spacy-ssvm.TaggerFeatures.v1", "spacy-ssvm.Templates.v1")),
    "ssvm_parser": ("spacy-ssvm.ParserFeatures.v1", "spacy-ssvm.ArcTemplates.v1"),
}
TEMPLATES = ("extra", "templates", "arcs", "labels", "first_pass", "tags")
"""Of these, it may be the template at fault that is named."""
NEEDED = {
    "spacy-ssvm.Templates.v1": {"templates": ["bias"]},
    "spacy-ssvm.ArcTemplates.v1": {key: ["mod.lower[0]"] for key in ("arcs", "labels", "first_pass")},
}
REFUSALS = (ConfigValidationError, ValueError, catalogue.RegistryError)
number_of_configs = pytest.mark.parametrize("n_configs", [15, pytest.param(1000, marks=pytest.mark.slow)])


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


LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": 8}
TREE_FEATURES = SMALL_TREE["features"]


def tree(**settings) -> dict:
    return {"model": {**SMALL_TREE, **settings}}


def tree_features(**settings) -> dict:
    return tree(features={**TREE_FEATURES, **settings})


REFUSED = [
    *((factory, {"n_threads": 0}, rf"\[{factory}\] n_threads must be a whole number") for factory in EXAMPLES),
    *(("ssvm_ner", {"solver_settings": {"C": C}}, r"\bC\b") for C in (0, -1, math.nan, math.inf, "x")),
    *((factory, {"model": LISTENER}, rf"\[{factory}\].*spacy-ssvm\.(Chain|Tree)\.v1") for factory in EXAMPLES),
    *(("ssvm_senter", {"label_costs": {"O": cost}}, "label_costs") for cost in (-1.0, "much", None)),
    ("ssvm_lemmatizer", {"backoff": "tag"}, "backoff"),
    ("ssvm_lemmatizer", {"min_tree_freq": 0}, "min_tree_freq"),
    ("ssvm_tagger", {"attr": "lemma"}, r'\[ssvm_tagger\] attr must be "tag" or "pos", not \'lemma\''),
    ("ssvm_tagger", {"weight_dtype": "int4"}, "weight_dtype"),
    ("ssvm_tagger", {"keep_fraction": 0.0}, "keep_fraction"),
    ("ssvm_tagger", {"keep_fraction": 2.0}, "keep_fraction"),
    ("ssvm_tagger", {"model": templates("bias", classes={"a": 7})}, r"features\.classes takes files .*, not 7"),
    ("ssvm_tagger", tree(), r"\[ssvm_tagger\].*spacy-ssvm\.Chain\.v1"),
    (
        "ssvm_parser",
        {"model": templates("lower[0]")},
        r'\[ssvm_parser\] model must be of the architecture "spacy-ssvm\.Tree\.v1"',
    ),
    ("ssvm_parser", tree(structure="crossing"), "structure"),
    ("ssvm_parser", tree(structure="projective", order=4), "model.order 1, 2 or 3, .* not 'projective' with 4"),
    ("ssvm_parser", tree(structure="nonprojective", order=3), "model.order .* not 'nonprojective' with 3"),
    ("ssvm_parser", tree(structure="projective", order=0), "model.order .* not 'projective' with 0"),
    ("ssvm_parser", tree(max_heads=-1), "model.max_heads and model.margin must not be negative"),
    ("ssvm_parser", tree(margin=-0.5), "model.max_heads and model.margin must not be negative"),
    ("ssvm_parser", tree_features(tags=[]), "features.tags is empty"),
    ("ssvm_parser", tree_features(tags=["tog"]), "tog"),
    ("ssvm_parser", tree_features(hash_bits=4), "features.hash_bits must be between 8 and 28, not 4"),
    ("ssvm_parser", tree_features(label_hash_bits=40), "features.label_hash_bits must be between 8 and 28, not 40"),
    *(
        ("ssvm_parser", {"model": arc_templates(text)}, re.escape(f'"{text}"'))
        for text in ("lower[0]", "head.lower", "head.lowr[0]", "head.lower[0]+head.lower[0]", "head.gaz_x[0]")
    ),
]


@pytest.mark.parametrize(("factory", "config", "said"), REFUSED)
def test_settings_that_are_refused_when_the_config_is_read(factory, config, said):
    with pytest.raises(ValueError, match=said):
        blank(factory, **config)


@every
@pytest.mark.parametrize("examples", [[], ["text"], None, [None]])
def test_initialize_without_examples(factory, examples):
    nlp = blank(factory)
    for component in (nlp.get_pipe(factory), nlp.add_pipe(COMPONENTS[factory].spacys)):
        with pytest.raises(TypeError, match=rf"\[{factory}\]|\w+\.initialize"):
            component.initialize(lambda: examples)
    with pytest.raises(TypeError, match=rf"\[{factory}\] initialize takes a function"):
        nlp.get_pipe(factory).initialize(EXAMPLES[factory](nlp))


@labelled
def test_a_corpus_without_annotation(factory):
    nlp = blank(factory)
    said = rf"\[{factory}\] none of the [01] training examples .*\.{factory}\.labels"
    for text in ("No labels here", ""):
        bare = [Example(doc(nlp, text), doc(nlp, text))]
        with pytest.raises(ValueError, match=said):
            nlp.initialize(lambda: bare)  # noqa: B023
    with pytest.raises(ValueError, match=rf"\[{factory}\] has no labels yet"):
        nlp("text")


@every
def test_update_takes_examples(factory):
    nlp = blank(factory)
    nlp.initialize(lambda: EXAMPLES[factory](nlp))
    component = nlp.get_pipe(factory)
    for wrong in ([nlp("text")], None, 3):
        for learn in (component.update, component.rehearse):
            with pytest.raises(TypeError, match=rf"E978.*\.{learn.__name__} "):
                learn(wrong)


@sequences
def test_label_costs(factory):
    codec = blank(factory).get_pipe(factory).codec
    for cost, said in [
        *((cost, "finite") for cost in (math.nan, math.inf, -1.0)),
        *((cost, r"between 1e-30 and 1e\+15, not ") for cost in (1e308, 1.1e15, 1e-31, 5e-324)),
    ]:
        with pytest.raises(ValueError, match=rf'\[{factory}\] label_costs: the cost of "O" must be {said}'):
            replace(codec, label_costs={"O": cost})
    replace(codec, label_costs={"O": 0.0, "S": 1e15, "N": 1e-30})


def test_label_costs_of_unknown_labels_are_reported():
    """A misspelt label would otherwise go unnoticed."""
    nlp = blank("ssvm_tagger", label_costs={"NOUM": 2.0})
    with pytest.warns(UserWarning, match=r"\[ssvm_tagger\] label_costs .*NOUM"):
        nlp.initialize(lambda: tagger_examples(nlp))


GOLD_OF_HAM = {"ssvm_parser": "ROOT:1 amod:3 obj:1", "ssvm_morphologizer": "VERB ADJ NOUN"}


@every
def test_values_that_are_not_finite_name_the_token(factory):
    model = arc_templates("mod._.reading[0]") if factory == "ssvm_parser" else templates("_.reading[0]")
    nlp, gold = blank(factory, model=model), GOLD_OF_HAM.get(factory, "O O U-FOOD")
    Token.set_extension("reading", getter=lambda token: math.nan if token.text == "ham" else 1.0, force=True)
    try:
        with pytest.raises(ValueError, match=r'token 2 \("ham"\).*_\.reading has a value that is not finite'):
            nlp.initialize(lambda: EXAMPLES[factory](nlp, [("Eat blue ham", gold)]))
    finally:
        Token.remove_extension("reading")


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
    "solver", [{"C": "0.1"}, {"C": 1}, {"inner_passes": "2"}, {"seed": 2**40}, {"tolerance": 0}, {"C": 1e-9}]
)
def test_numbers_of_another_type_are_trained_with(factory, solver):
    nlp = blank(factory, solver_settings=solver)
    teach(nlp, EXAMPLES[factory](nlp), 2)
    nlp.evaluate(EXAMPLES[factory](nlp))


@every
def test_what_is_no_solver_is_refused(factory):
    nlp = spacy.blank("xx")
    for solver in (3, None):
        with pytest.raises(ValueError, match=rf"\[{factory}\] solver must be a block with @ssvm_solvers"):
            nlp.add_pipe(factory, config={"solver": solver})


@pytest.mark.parametrize("label", ["-", "_"])
def test_a_corpus_whose_only_tag_stands_for_no_annotation(label):
    nlp = blank("ssvm_tagger")
    examples = tagger_examples(nlp, [("Eat ham", f"{label} {label}")])
    with pytest.raises(ValueError, match=rf'\[ssvm_tagger\] the only label .* "{label}", which stands for missing'):
        nlp.initialize(lambda: examples)
    examples += tagger_examples(nlp)
    nlp.initialize(lambda: examples)


@pytest.mark.parametrize("is_first", [True, False])
def test_a_parser_before_the_senter(is_first, recwarn):
    nlp = blank("ssvm_parser")
    nlp.add_pipe("sentencizer", **({"first": True} if is_first else {"last": True}))
    assert nlp.get_pipe("ssvm_parser").late_boundaries(nlp) == ([] if is_first else ["sentencizer"])
    nlp.initialize(lambda: parser_examples(nlp))
    assert ["comes after this parser" in str(warning.message) for warning in recwarn] == [True] * (not is_first)
