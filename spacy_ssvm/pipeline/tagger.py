"""`ssvm_tagger`: a tag for each token."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.attrs import POS, TAG
from spacy.parts_of_speech import IDS as COARSE_TAGS
from spacy.scorer import Scorer
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Model

from ..corpus.alignment import same_tokens
from ..models.packing import EXACT, Packing
from ..solvers.parameters import Parameters
from .chain_pipe import ChainPipe, Gold, values_of

if TYPE_CHECKING:
    from ..models.protocol import NamedPart
    from ..structures.chain.constraints import Constraints
    from ..structures.chain.scored import LabelSequence, Run

ATTRIBUTES = {"tag": TAG, "pos": POS}
NEGATIVE = "!"
"""spaCy's mark for "not this tag"."""


def tagger_score(examples: Iterable[Example], **settings: Any) -> dict[str, Any]:
    """Token accuracy of the attribute that the component sets, as "tag_acc" or "pos_acc"."""
    attribute = settings.pop("attr", "tag")
    return Scorer.score_token_attr(examples, attribute, **settings)


def make_tagger_scorer() -> Callable[..., dict[str, Any]]:
    """The registered scorer "spacy-ssvm.tagger_scorer.v1"."""
    return tagger_score


class SsvmTagger(ChainPipe):
    """Sets `token.tag` (attr "tag") or `token.pos` (attr "pos"); overwrite: also where a token has one.

    What is set and kept is decided for its neighbours, too.
    """

    def __init__(
        self,
        vocab: Vocab,
        model: Model,
        name: str = "ssvm_tagger",
        *,
        solver: Parameters,
        attr: str = "tag",
        overwrite: bool = False,
        label_costs: dict[str, float] | None = None,
        patterns: Sequence[dict[str, Any]] = (),
        n_threads: int = 1,
        scorer: Callable[..., dict[str, Any]] | None = tagger_score,
        packing: Packing = EXACT,
        save_solver_state: bool = False,
        save_feature_names: bool = False,
    ) -> None:
        if attr not in ATTRIBUTES:
            raise ValueError(f'[{name}] attr must be "tag" or "pos", not {attr!r}')
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
            attr=attr,
            overwrite=bool(overwrite),
        )

    @property
    def weight_labels(self) -> tuple[str, ...]:
        return self.labels

    def _check_settings(self) -> None:
        if self.cfg["attr"] not in ATTRIBUTES:
            raise ValueError(f"its cfg has the unknown attr {self.cfg['attr']!r}")
        super()._check_settings()

    def set_annotations(self, docs: Iterable[Doc], predictions: Sequence[np.ndarray]) -> None:
        """Write the predicted tags, from `predict`, to the Docs."""
        attribute, overwrite = ATTRIBUTES[self.cfg["attr"]], self.cfg["overwrite"]
        for doc, _, values in values_of(docs, predictions, self._values):
            if not overwrite and doc.has_annotation(attribute):
                present = doc.to_array([attribute]).reshape(-1, 1)
                values = np.where(present != 0, present, values)
            doc.from_array([attribute], values)

    def scored_tags(self, docs: Iterable[Doc], min_score: float | None = None) -> list[dict[tuple[int, str], float]]:
        """For each Doc the score of each (token, tag), a probability or, without `has_probabilities`, a margin.

        min_score: the smallest score that is listed; by default a probability of 0.01 or a margin of 0.

        Raises:
            ValueError: `min_score` is no such score, or the component has no labels yet.
        """
        return [
            {(part.start, part.label): score for part, score in found} for found in self._scored_parts(docs, min_score)
        ]

    def named(self, part: "Run", first: int) -> "NamedPart":
        from ..models.protocol import NamedPart

        token = first + part.first
        return NamedPart(token, token + 1, self.labels[part.labels[0]], part=part)

    def parts(self, y: "LabelSequence", first: int) -> "list[NamedPart]":
        from ..structures.chain.scored import Run

        return [self.named(Run(token, (label,)), first) for token, label in enumerate(y.labels.tolist())]

    def _item(self, part: "NamedPart") -> str:
        return part.label

    def _check_label(self, label: Any) -> None:
        super()._check_label(label)
        if self.cfg["attr"] == "pos" and label not in COARSE_TAGS:
            raise ValueError(f"[{self.name}] {label!r} is none of the coarse tags that spaCy can store in token.pos")

    def _values(self, vocab: Vocab) -> np.ndarray:
        """spaCy's number of each label, uint64 [L, 1]."""
        if self.cfg["attr"] == "pos":
            return np.array([[COARSE_TAGS[label]] for label in self.labels], np.uint64)
        return np.array([[vocab.strings.add(label)] for label in self.labels], np.uint64)

    def _constraints(self) -> "Constraints":
        from ..structures.chain.constraints import unconstrained, with_fixed

        return with_fixed(unconstrained(len(self.labels)))

    def _held(self, docs: Sequence[Doc], kinds: np.ndarray) -> np.ndarray:
        attribute = ATTRIBUTES[self.cfg["attr"]]
        if self.cfg["overwrite"] or not any(doc.has_annotation(attribute) for doc in docs):
            return kinds
        present = np.concatenate([doc.to_array([attribute]).ravel() for doc in docs])
        values = self._values(docs[0].vocab).ravel()
        order = np.argsort(values)
        labels = order[np.searchsorted(values[order], present).clip(max=len(values) - 1)]
        # Tags that the component does not have stay too, and say nothing of their neighbours.
        return np.where(values[labels] == present, 1 + labels, kinds).astype(np.int32)

    def _gold(self, example: Example) -> Gold:
        attribute = ATTRIBUTES[self.cfg["attr"]]
        reference = example.reference
        if same_tokens(example):
            tags = [reference.vocab.strings[int(tag)] for tag in reference.to_array(attribute)]
        else:
            tags = example.get_aligned(attribute, as_string=True)
        return [tag if tag and not (tag.startswith(NEGATIVE) and len(tag) > 1) else None for tag in tags]

    def _label_of(self, weight_label: str) -> str | None:
        return weight_label
