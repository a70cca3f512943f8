"""The factories of all components, which spaCy calls with a config's settings, and their shared settings.

Every process that makes a spaCy pipeline imports this module, whatever the components: what they are made of is
imported when the first one is.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any, TypeAlias

from spacy.language import Language
from thinc.api import Config, Model

from .. import registry  # noqa: F401  creates the registries that default configs name
from ..models.packing import Packing, WeightDtype
from .patterns import Patterns

if TYPE_CHECKING:
    from .codec import Codec
    from .component import SsvmPipe

AnyParameters: TypeAlias = Any
"""The annotation of a solver's `Parameters`: with the class itself, the config system of spaCy 3.8.11 and earlier would
allow only its own fields, and none of its subclasses'."""

Parts: TypeAlias = "tuple[type[SsvmPipe], Codec]"
"""The class of a component, and its codec."""

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
    default_config: str,
    *,
    assigns: Sequence[str],
    score_weights: Mapping[str, float | None],
    has_feature_names: bool = True,
) -> Callable[[Callable[..., "Parts"]], Callable[..., "SsvmPipe"]]:
    """A decorator that turns a function which makes the parts of a component into its factory, and registers it.

    The function takes `nlp`, `name`, `model`, and the settings that are the component's own; it returns the class of
    the component and a codec. The factory takes `nlp`, `name`, the model, the solver and, by name only, these settings,
    the scorer and the settings of SHARED.

    Args:
        factory: the registered name.
        default_config: has a section of this name with defaults of all but SHARED.
        assigns, score_weights: as for `Language.factory`.
        has_feature_names: whether the component can save the names of its features.
    """
    without = () if has_feature_names else ("save_feature_names",)

    def register(make_parts: Callable[..., "Parts"]) -> Callable[..., "SsvmPipe"]:
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
        ) -> "SsvmPipe":
            from ..models.protocol import Settings

            component, codec = make_parts(nlp, name, model, **own)
            packing = Packing(weight_dtype, keep_fraction)
            settings = Settings(n_threads, packing, save_solver_state, save_feature_names, corrections)
            return component(nlp.vocab, model, name, codec=codec, solver=solver, settings=settings, scorer=scorer)

        own = [
            parameter.replace(kind=Parameter.KEYWORD_ONLY)
            for parameter in list(signature(make_parts).parameters.values())[3:]
        ]
        shared = [
            parameter.replace(default=Parameter.empty)
            for parameter in signature(make).parameters.values()
            if parameter.kind is not Parameter.VAR_KEYWORD and parameter.name not in without
        ]
        parameters = [*shared[:4], *own, *shared[4:]]
        update_wrapper(make, make_parts)
        # What it stands for makes the parts only.
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


@component_factory(
    "ssvm_tagger",
    """
[ssvm_tagger]
attr = "tag"
overwrite = false
label_costs = {}
patterns = []

[ssvm_tagger.model]
@architectures = "spacy-ssvm.Chain.v1"

[ssvm_tagger.model.features]
@ssvm_features = "spacy-ssvm.TaggerFeatures.v1"

[ssvm_tagger.solver]
@ssvm_solvers = "spacy-ssvm.DCD.v1"

[ssvm_tagger.scorer]
@scorers = "spacy-ssvm.tagger_scorer.v1"
    """,
    assigns=["token.tag", "token.pos"],
    score_weights={"tag_acc": 1.0, "pos_acc": None},
)
def make_tagger(
    nlp: Language,
    name: str,
    model: Model,
    attr: str,
    overwrite: bool,
    label_costs: dict[str, float],
    patterns: list[dict[str, Any]],
) -> Parts:
    """The factory "ssvm_tagger"."""
    from .tagger import SsvmTagger, TaggerCodec

    codec = TaggerCodec(
        name,
        label_costs=label_costs,
        patterns=Patterns(name, nlp.vocab, patterns),
        attr=attr,
        overwrite=bool(overwrite),
    )
    return SsvmTagger, codec


@component_factory(
    "ssvm_morphologizer",
    """
[ssvm_morphologizer]
overwrite = true
extend = false
label_costs = {}
patterns = []

[ssvm_morphologizer.model]
@architectures = "spacy-ssvm.Chain.v1"

[ssvm_morphologizer.model.features]
@ssvm_features = "spacy-ssvm.TaggerFeatures.v1"
extra = ["lower_suffix6[0]","lower_suffix7[0]","lower_suffix8[0]"]

[ssvm_morphologizer.solver]
@ssvm_solvers = "spacy-ssvm.DCD.v1"

[ssvm_morphologizer.scorer]
@scorers = "spacy.morphologizer_scorer.v1"
    """,
    assigns=["token.morph", "token.pos"],
    score_weights={"pos_acc": 0.5, "morph_acc": 0.5, "morph_per_feat": None},
)
def make_morphologizer(
    nlp: Language,
    name: str,
    model: Model,
    overwrite: bool,
    extend: bool,
    label_costs: dict[str, float],
    patterns: list[dict[str, Any]],
) -> Parts:
    """The factory "ssvm_morphologizer"."""
    from .morphologizer import MorphologizerCodec, SsvmMorphologizer

    codec = MorphologizerCodec(
        name,
        label_costs=label_costs,
        patterns=Patterns(name, nlp.vocab, patterns),
        overwrite=bool(overwrite),
        extend=bool(extend),
    )
    return SsvmMorphologizer, codec


@component_factory(
    "ssvm_lemmatizer",
    """
[ssvm_lemmatizer]
backoff = "orth"
min_tree_freq = 2
overwrite = false
label_costs = {}
patterns = []

[ssvm_lemmatizer.model]
@architectures = "spacy-ssvm.Chain.v1"

[ssvm_lemmatizer.model.features]
@ssvm_features = "spacy-ssvm.LemmatizerFeatures.v1"

[ssvm_lemmatizer.solver]
@ssvm_solvers = "spacy-ssvm.DCD.v1"
C = 0.03

[ssvm_lemmatizer.scorer]
@scorers = "spacy.lemmatizer_scorer.v1"
    """,
    assigns=["token.lemma"],
    score_weights={"lemma_acc": 1.0},
)
def make_lemmatizer(
    nlp: Language,
    name: str,
    model: Model,
    backoff: str | None,
    min_tree_freq: int,
    overwrite: bool,
    label_costs: dict[str, float],
    patterns: list[dict[str, Any]],
) -> Parts:
    """The factory "ssvm_lemmatizer"."""
    from .lemmas.lemmatizer import LemmatizerCodec, SsvmLemmatizer

    codec = LemmatizerCodec(
        name,
        label_costs=label_costs,
        patterns=Patterns(name, nlp.vocab, patterns),
        backoff=backoff,
        min_tree_freq=min_tree_freq,
        overwrite=bool(overwrite),
    )
    return SsvmLemmatizer, codec


@component_factory(
    "ssvm_senter",
    """
[ssvm_senter]
overwrite = false
label_costs = {"S": 2.0}
patterns = []

[ssvm_senter.model]
@architectures = "spacy-ssvm.Chain.v1"

[ssvm_senter.model.features]
@ssvm_features = "spacy-ssvm.SenterFeatures.v1"

[ssvm_senter.solver]
@ssvm_solvers = "spacy-ssvm.DCD.v1"
C = 0.03

[ssvm_senter.scorer]
@scorers = "spacy.senter_scorer.v1"
    """,
    assigns=["token.is_sent_start", "doc.sents"],
    score_weights={"sents_f": 1.0, "sents_p": 0.0, "sents_r": 0.0},
)
def make_senter(
    nlp: Language,
    name: str,
    model: Model,
    overwrite: bool,
    label_costs: dict[str, float],
    patterns: list[dict[str, Any]],
) -> Parts:
    """The factory "ssvm_senter"."""
    from .senter import LABELS, SenterCodec, SsvmSenter

    codec = SenterCodec(
        name,
        LABELS,
        label_costs=label_costs,
        patterns=Patterns(name, nlp.vocab, patterns),
        overwrite=bool(overwrite),
    )
    return SsvmSenter, codec


@component_factory(
    "ssvm_ner",
    """
[ssvm_ner]
label_costs = {}
patterns = []
incorrect_spans_key = null
spans_key = null
threshold = 0.5

[ssvm_ner.model]
@architectures = "spacy-ssvm.Chain.v1"

[ssvm_ner.model.features]
@ssvm_features = "spacy-ssvm.NerFeatures.v1"

[ssvm_ner.solver]
@ssvm_solvers = "spacy-ssvm.DCD.v1"

[ssvm_ner.scorer]
@scorers = "spacy-ssvm.ner_scorer.v1"
    """,
    assigns=["doc.ents", "token.ent_iob", "token.ent_type"],
    score_weights={"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "ents_per_type": None},
)
def make_ner(
    nlp: Language,
    name: str,
    model: Model,
    label_costs: dict[str, float],
    patterns: list[dict[str, Any]],
    incorrect_spans_key: str | None,
    spans_key: str | None,
    threshold: float,
) -> Parts:
    """The factory "ssvm_ner"."""
    from .ner import NerCodec, SsvmNer

    codec = NerCodec(
        name,
        label_costs=label_costs,
        patterns=Patterns(name, nlp.vocab, patterns),
        incorrect_spans_key=incorrect_spans_key,
        spans_key=spans_key,
        threshold=threshold,
    )
    return SsvmNer, codec


@component_factory(
    "ssvm_parser",
    """
[ssvm_parser]
multi_root = false
overwrite = true
patterns = []

[ssvm_parser.model]
@architectures = "spacy-ssvm.Tree.v1"
structure = "projective"
order = 3

[ssvm_parser.model.features]
@ssvm_features = "spacy-ssvm.ParserFeatures.v1"
tags = ["tag", "pos"]

[ssvm_parser.solver]
@ssvm_solvers = "spacy-ssvm.DCD.v1"
C = 0.03

[ssvm_parser.scorer]
@scorers = "spacy-ssvm.parser_scorer.v1"
    """,
    assigns=["token.dep", "token.head", "token.is_sent_start", "doc.sents"],
    score_weights={
        "uas": 0.0,
        "las": 1.0,
        "dep_uas": None,
        "dep_las": None,
        "dep_las_per_type": None,
        "sents_p": None,
        "sents_r": None,
        "sents_f": 0.0,
    },
    has_feature_names=False,
)
def make_parser(
    nlp: Language,
    name: str,
    model: Model,
    multi_root: bool,
    overwrite: bool,
    patterns: list[dict[str, Any]],
) -> Parts:
    """The factory "ssvm_parser"."""
    from .parser import ParserCodec, SsvmParser

    codec = ParserCodec(
        name,
        multi_root=bool(multi_root),
        patterns=Patterns(name, nlp.vocab, patterns),
        overwrite=bool(overwrite),
        is_projective=model.attrs.get("structure") == "projective",
    )
    return SsvmParser, codec
