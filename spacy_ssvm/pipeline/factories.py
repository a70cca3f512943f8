"""The factories of all components, which spaCy calls with a config's settings, and their shared settings."""

from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from inspect import Parameter, Signature, signature
from typing import Any

from spacy.language import Language
from thinc.api import Config, Model

from .. import registry  # noqa: F401  creates the registries that default configs name
from ..models.packing import Packing, WeightDtype
from ..models.protocol import Settings
from ..solvers.parameters import AnyParameters
from .codec import Codec
from .component import SsvmPipe

SHARED = {
    "n_threads": 1,
    "weight_dtype": "float32",
    "keep_fraction": 1.0,
    "save_solver_state": False,
    "corrections": True,
    "save_feature_names": False,
}
"""The settings that all components share, see `Settings` and `Packing`, and their defaults."""


def component_factory(
    factory: str,
    component: type[SsvmPipe],
    default_config: str,
    *,
    assigns: Sequence[str],
    score_weights: Mapping[str, float | None],
    has_feature_names: bool = True,
) -> Callable[[Callable[..., Codec]], Callable[..., SsvmPipe]]:
    """A decorator that turns a function which makes a codec into the factory of a component, and registers it.

    The function takes `nlp`, `name`, `model`, and the settings that are the component's own. The factory takes `nlp`,
    `name`, the model, the solver and, by name only, these settings, the scorer and the settings of SHARED.

    Args:
        factory: the registered name.
        default_config: has a section of this name with defaults of all but SHARED.
        assigns, score_weights: as for `Language.factory`.
        has_feature_names: whether the component can save the names of its features.
    """
    without = () if has_feature_names else ("save_feature_names",)

    def register(make_codec: Callable[..., Codec]) -> Callable[..., SsvmPipe]:
        def make(
            nlp: Language,
            name: str,
            model: Model,
            solver: AnyParameters,
            *,
            n_threads: int,
            scorer: Callable[..., dict[str, Any]] | None,
            weight_dtype: WeightDtype,
            keep_fraction: float,
            save_solver_state: bool,
            corrections: bool,
            save_feature_names: bool = False,
            **own: Any,
        ) -> SsvmPipe:
            codec = make_codec(nlp, name, model, **own)
            packing = Packing(weight_dtype, keep_fraction)
            settings = Settings(n_threads, packing, save_solver_state, save_feature_names, corrections)
            return component(nlp.vocab, model, name, codec=codec, solver=solver, settings=settings, scorer=scorer)

        own = [
            parameter.replace(kind=Parameter.KEYWORD_ONLY)
            for parameter in list(signature(make_codec).parameters.values())[3:]
        ]
        shared = [
            parameter.replace(default=Parameter.empty)
            for parameter in signature(make).parameters.values()
            if parameter.kind is not Parameter.VAR_KEYWORD and parameter.name not in without
        ]
        parameters = [*shared[:4], *own, *shared[4:]]
        update_wrapper(make, make_codec)
        # What it stands for makes a codec only.
        del make.__wrapped__  # type: ignore[attr-defined]
        # spaCy checks configs by the signature, in which all settings have to be named.
        make.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        make.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        defaults = {name: value for name, value in SHARED.items() if name not in without}
        Language.factory(
            factory,
            assigns=assigns,
            default_config={**Config().from_str(default_config)[factory], **defaults},
            default_score_weights=dict(score_weights),
            func=make,
        )
        return make

    return register
