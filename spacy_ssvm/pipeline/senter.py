"""`ssvm_senter`: where sentences start."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.attrs import SENT_START
from spacy.pipeline.senter import senter_score
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Model

from ..corpus.alignment import same_tokens
from ..models.packing import EXACT, Packing
from ..solvers.parameters import Parameters
from .chain_pipe import ChainPipe, Gold, values_of

if TYPE_CHECKING:
    from ..models.chain.predictor import ChainDecoder
    from ..models.protocol import Listing, NamedPart
    from ..structures.chain.constraints import Constraints
    from ..structures.chain.scored import LabelSequence, Run

INSIDE, START = LABELS = ("I", "S")
"""spaCy's names: a token continues a sentence or starts one."""
_VALUES = np.array([[-1], [1]]).astype(np.uint64)
"""Their SENT_START."""


class SsvmSenter(ChainPipe):
    """Sets `token.is_sent_start` to True or False; overwrite: also where it is set already.

    The first token of a Doc always starts a sentence. What is set and kept is decided for its neighbours, too.
    """

    def __init__(
        self,
        vocab: Vocab,
        model: Model,
        name: str = "ssvm_senter",
        *,
        solver: Parameters,
        overwrite: bool = False,
        label_costs: dict[str, float] | None = None,
        patterns: Sequence[dict[str, Any]] = (),
        n_threads: int = 1,
        scorer: Callable[..., dict[str, Any]] | None = senter_score,
        packing: Packing = EXACT,
        save_solver_state: bool = False,
        save_feature_names: bool = False,
    ) -> None:
        super().__init__(
            vocab,
            model,
            name,
            solver=solver,
            label_costs=label_costs or {},
            patterns=patterns,
            scorer=scorer,
            n_threads=n_threads,
            packing=packing,
            save_solver_state=save_solver_state,
            save_feature_names=save_feature_names,
            labels=list(LABELS),
            overwrite=bool(overwrite),
        )

    @property
    def weight_labels(self) -> tuple[str, ...]:
        return self.labels

    @property
    def hide_labels(self) -> bool:
        """Whether `nlp.pipe_labels` leaves the component out: its labels are no annotation."""
        return True

    def _decoder(self) -> "ChainDecoder":
        # It has labels from the start.
        self._require_weights()
        return super()._decoder()

    def set_annotations(self, docs: Iterable[Doc], predictions: Sequence[np.ndarray]) -> None:
        """Write the predicted sentence starts, from `predict`, to the Docs."""
        for doc, _, starts in values_of(docs, predictions, lambda vocab: _VALUES):
            if not self.cfg["overwrite"]:
                present = doc.to_array([SENT_START]).reshape(-1, 1)
                starts = np.where(present != 0, present, starts)
            doc.from_array([SENT_START], starts)

    def scored_starts(self, docs: Iterable[Doc], min_score: float | None = None) -> list[dict[int, float]]:
        """For each Doc the score of each token as the start of a sentence; see `SsvmTagger.scored_tags`."""
        return [{part.start: score for part, score in found} for found in self._scored_parts(docs, min_score)]

    def named(self, part: "Run", first: int) -> "NamedPart":
        from ..models.protocol import NamedPart

        token = first + part.first
        return NamedPart(token, token + 1, START, part=part)

    def parts(self, y: "LabelSequence", first: int) -> "list[NamedPart]":
        from ..structures.chain.scored import Run

        start = self.labels.index(START)
        return [self.named(Run(token, (start,)), first) for token in np.flatnonzero(y.labels == start).tolist()]

    def _item(self, part: "NamedPart") -> int:
        return part.start

    def _listing(self) -> "Listing":
        from ..structures.chain.scored import labels_above

        start = (self.labels.index(START),)
        return lambda values, least: [one for one in labels_above(values, least) if one[0].labels == start]

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.labels != LABELS:
            raise ValueError(f"its cfg has the labels {list(self.labels)}")

    def _check_label(self, label: Any) -> None:
        if label not in LABELS:
            raise ValueError(f"[{self.name}] a label can only be one of {', '.join(LABELS)}, not {label!r}")

    def _constraints(self) -> "Constraints":
        from ..structures.chain.constraints import unconstrained, with_fixed

        return with_fixed(unconstrained(len(LABELS)))

    def _preset(self) -> tuple[int, ...]:
        return () if self.cfg["overwrite"] else (SENT_START,)

    def _kinds(self, docs: Sequence[Doc], preset: np.ndarray) -> np.ndarray:
        kinds = super()._kinds(docs, preset)
        if not self.cfg["overwrite"]:
            present = preset[:, 0].astype(np.int64)
            kinds[present == -1] = 1 + LABELS.index(INSIDE)
            kinds[present == 1] = 1 + LABELS.index(START)
        lengths = np.array([len(doc) for doc in docs], np.int64)
        # The first token of a Doc starts a sentence, whatever it says.
        kinds[(np.cumsum(lengths) - lengths)[lengths > 0]] = 1 + LABELS.index(START)
        return kinds

    def _read_annotation(self, doc: Doc) -> bytes:
        constraints = b"" if self.cfg["overwrite"] else _sent_starts(doc).tobytes()
        return super()._read_annotation(doc) + constraints

    def _report_gaps(self, examples: Mapping[int, Example], gold: Mapping[int, Gold]) -> None:
        super()._report_gaps(examples, gold)
        if not any(START in tags[1:] for tags in gold.values()):
            warnings.warn(
                f"[{self.name}] no training Doc has more than one sentence, so there is nothing to learn: use "
                "documents of several sentences (spacy convert -n 10, and gold_preproc = false in the reader)",
                stacklevel=4,
            )

    def _gold(self, example: Example) -> Gold:
        """The gold label of each token of the predicted Doc; None where a boundary is inside a token.

        Tokens that are not set continue a sentence, as in `doc.sents`; in a Doc that has False for others, they are
        unknown.
        """
        predicted, reference = example.predicted, example.reference
        given = _sent_starts(reference)
        if not given[1:].any():
            return [None] * len(predicted)
        names = {1: START, -1: INSIDE, 0: None if (given == -1).any() else INSIDE}
        gold = [START, *(names[int(start)] for start in given[1:])]
        if same_tokens(example):
            return gold
        aligned: list[str | None] = []
        last = -1
        for parts in map(example.alignment.x2y.__getitem__, range(len(predicted))):
            if not len(parts) or START in (gold[part] for part in parts[1:]):
                aligned.append(None)
            else:
                aligned.append(INSIDE if parts[0] == last else gold[parts[0]])
            last = parts[-1] if len(parts) else last
        return aligned

    def _label_of(self, weight_label: str) -> str | None:
        return weight_label


def _sent_starts(doc: Doc) -> np.ndarray:
    """1 for a start, -1 for none, 0 where it is not set, int64 [tokens]."""
    return np.asarray(doc.to_array(SENT_START)).astype(np.int64)
