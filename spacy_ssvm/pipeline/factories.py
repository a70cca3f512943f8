"""The registered component factories and their default configs. Importing this module does not import numba."""

from collections.abc import Callable
from typing import Any

from spacy.language import Language
from thinc.api import Config, Model

from .. import registry  # noqa: F401  creates the registries that the default configs name
from ..models.packing import Packing, Values
from ..solvers.parameters import Parameters
from .ner import SsvmNer
from .parser import SsvmParser
from .senter import SsvmSenter
from .tagger import SsvmTagger

TAGGER_CONFIG = """
[ssvm_tagger]
attr = "tag"
overwrite = false
label_costs = {}
patterns = []
n_threads = 1
values = "float32"
keep = 1.0
save_solver_state = false
save_feature_names = false

[ssvm_tagger.model]
@architectures = "spacy-ssvm.Chain.v1"

[ssvm_tagger.model.features]
@ssvm_features = "spacy-ssvm.TaggerFeatures.v1"

[ssvm_tagger.solver]
@ssvm_solvers = "spacy-ssvm.DCD.v1"

[ssvm_tagger.scorer]
@scorers = "spacy-ssvm.tagger_scorer.v1"
"""

NER_CONFIG = """
[ssvm_ner]
label_costs = {}
patterns = []
incorrect_spans_key = null
spans_key = null
threshold = 0.5
n_threads = 1
values = "float32"
keep = 1.0
save_solver_state = false
save_feature_names = false

[ssvm_ner.model]
@architectures = "spacy-ssvm.Chain.v1"

[ssvm_ner.model.features]
@ssvm_features = "spacy-ssvm.NerFeatures.v1"

[ssvm_ner.solver]
@ssvm_solvers = "spacy-ssvm.DCD.v1"

[ssvm_ner.scorer]
@scorers = "spacy.ner_scorer.v1"
"""

SENTER_CONFIG = """
[ssvm_senter]
overwrite = false
label_costs = {"S": 2.0}
patterns = []
n_threads = 1
values = "float32"
keep = 1.0
save_solver_state = false
save_feature_names = false

[ssvm_senter.model]
@architectures = "spacy-ssvm.Chain.v1"

[ssvm_senter.model.features]
@ssvm_features = "spacy-ssvm.SenterFeatures.v1"

[ssvm_senter.solver]
@ssvm_solvers = "spacy-ssvm.DCD.v1"
C = 0.03

[ssvm_senter.scorer]
@scorers = "spacy.senter_scorer.v1"
"""

PARSER_CONFIG = """
[ssvm_parser]
multi_root = false
overwrite = true
patterns = []
n_threads = 1
values = "float32"
keep = 1.0
save_solver_state = false

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
"""


@Language.factory(
    "ssvm_tagger",
    assigns=["token.tag", "token.pos"],
    default_config=Config().from_str(TAGGER_CONFIG)["ssvm_tagger"],
    default_score_weights={"tag_acc": 1.0, "pos_acc": None},
)
def make_tagger(
    nlp: Language,
    name: str,
    model: Model,
    solver: Parameters,
    attr: str,
    overwrite: bool,
    label_costs: dict[str, float],
    patterns: list[dict[str, Any]],
    n_threads: int,
    scorer: Callable[..., dict[str, Any]] | None,
    values: Values,
    keep: float,
    save_solver_state: bool,
    save_feature_names: bool,
) -> SsvmTagger:
    """The factory "ssvm_tagger"."""
    return SsvmTagger(
        nlp.vocab,
        model,
        name,
        solver=solver,
        attr=attr,
        overwrite=overwrite,
        label_costs=label_costs,
        patterns=patterns,
        n_threads=n_threads,
        scorer=scorer,
        packing=Packing(values, keep),
        save_solver_state=save_solver_state,
        save_feature_names=save_feature_names,
    )


@Language.factory(
    "ssvm_ner",
    assigns=["doc.ents", "token.ent_iob", "token.ent_type"],
    default_config=Config().from_str(NER_CONFIG)["ssvm_ner"],
    default_score_weights={"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "ents_per_type": None},
)
def make_ner(
    nlp: Language,
    name: str,
    model: Model,
    solver: Parameters,
    label_costs: dict[str, float],
    patterns: list[dict[str, Any]],
    incorrect_spans_key: str | None,
    spans_key: str | None,
    threshold: float,
    n_threads: int,
    scorer: Callable[..., dict[str, Any]] | None,
    values: Values,
    keep: float,
    save_solver_state: bool,
    save_feature_names: bool,
) -> SsvmNer:
    """The factory "ssvm_ner"."""
    return SsvmNer(
        nlp.vocab,
        model,
        name,
        solver=solver,
        label_costs=label_costs,
        patterns=patterns,
        incorrect_spans_key=incorrect_spans_key,
        spans_key=spans_key,
        threshold=threshold,
        n_threads=n_threads,
        scorer=scorer,
        packing=Packing(values, keep),
        save_solver_state=save_solver_state,
        save_feature_names=save_feature_names,
    )


@Language.factory(
    "ssvm_senter",
    assigns=["token.is_sent_start", "doc.sents"],
    default_config=Config().from_str(SENTER_CONFIG)["ssvm_senter"],
    default_score_weights={"sents_f": 1.0, "sents_p": 0.0, "sents_r": 0.0},
)
def make_senter(
    nlp: Language,
    name: str,
    model: Model,
    solver: Parameters,
    overwrite: bool,
    label_costs: dict[str, float],
    patterns: list[dict[str, Any]],
    n_threads: int,
    scorer: Callable[..., dict[str, Any]] | None,
    values: Values,
    keep: float,
    save_solver_state: bool,
    save_feature_names: bool,
) -> SsvmSenter:
    """The factory "ssvm_senter"."""
    return SsvmSenter(
        nlp.vocab,
        model,
        name,
        solver=solver,
        overwrite=overwrite,
        label_costs=label_costs,
        patterns=patterns,
        n_threads=n_threads,
        scorer=scorer,
        packing=Packing(values, keep),
        save_solver_state=save_solver_state,
        save_feature_names=save_feature_names,
    )


@Language.factory(
    "ssvm_parser",
    assigns=["token.dep", "token.head", "token.is_sent_start", "doc.sents"],
    default_config=Config().from_str(PARSER_CONFIG)["ssvm_parser"],
    default_score_weights={
        "uas": 0.0,
        "las": 1.0,
        "dep_uas": None,
        "dep_las": None,
        "dep_las_per_type": None,
        "sents_p": None,
        "sents_r": None,
        "sents_f": 0.0,
    },
)
def make_parser(
    nlp: Language,
    name: str,
    model: Model,
    solver: Parameters,
    multi_root: bool,
    overwrite: bool,
    patterns: list[dict[str, Any]],
    n_threads: int,
    scorer: Callable[..., dict[str, Any]] | None,
    values: Values,
    keep: float,
    save_solver_state: bool,
) -> SsvmParser:
    """The factory "ssvm_parser"."""
    return SsvmParser(
        nlp.vocab,
        model,
        name,
        solver=solver,
        multi_root=multi_root,
        overwrite=overwrite,
        patterns=patterns,
        n_threads=n_threads,
        scorer=scorer,
        packing=Packing(values, keep),
        save_solver_state=save_solver_state,
    )
