"""`ssvm_morphologizer`: the coarse tag and the morphological features of each token."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from spacy.attrs import MORPH, POS
from spacy.language import Language
from spacy.morphology import Morphology
from spacy.parts_of_speech import IDS as COARSE_TAGS
from spacy.parts_of_speech import NAMES as COARSE_TAG_NAMES
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from ..corpus.reader import same_tokens
from ..models.chain.space import ChainGold, TokenKinds
from ..structures import FORBIDDEN
from ..structures.chain.constraints import Constraints, unconstrained, with_attributes, with_fixed
from .analyses import NO_FEATURES, SHARED, Analyses, analyses_of, attributes_of, divided, joined, weight_labels_of
from .chain_codec import ChainCodec
from .chain_component import TagComponent
from .codec import Given, values_of
from .writing import with_values

SPACYS_LABEL_DATA = {"morph", "pos"}
"""The keys in the file that `spacy init labels` saves for spaCy's morphologizer."""


@dataclass(frozen=True)
class MorphologizerCodec(ChainCodec):
    """A coarse tag and morphological features for each token, together one label, such as `Case=Nom|POS=NOUN`.

    Attributes:
        overwrite: whether existing tags and features are overwritten; otherwise they stay and limit the token's labels.
        extend: whether existing features stay next to predicted ones with other names; of two values of one name, the
            predicted one counts with `overwrite`, else the existing one. Features that labels share have weights, too,
            besides those of each whole label.
    """

    attributes = (MORPH, POS)

    overwrite: bool = True
    extend: bool = False

    @property
    def weight_labels(self) -> tuple[str, ...]:
        return weight_labels_of(self.labels)

    def label_of(self, weight_label: str) -> str | None:
        return None if weight_label.startswith(SHARED) else weight_label

    @property
    def kinds(self) -> TokenKinds:
        return _GivenAnalyses(self)

    def gold(self, example: Example) -> ChainGold:
        reference = example.reference
        if same_tokens(example):
            strings, values = reference.vocab.strings, reference.to_array([POS, MORPH]).tolist()
            pairs = [(COARSE_TAG_NAMES[pos], strings[morph] if morph else "") for pos, morph in values]
        else:
            aligned = (example.get_aligned(attribute, as_string=True) for attribute in ("POS", "MORPH"))
            # A token that only one of the two is known of has an unknown label.
            pairs = [("", "") if None in pair else pair for pair in zip(*aligned)]
        return ChainGold([joined(pos, morph) if pos or morph else None for pos, morph in pairs])

    def write(self, docs: Iterable[Doc], predictions: Sequence[np.ndarray], given: Sequence[Given]) -> None:
        for doc, _, values, before in with_values(docs, predictions, given, self._values):
            if before.values is not None:
                values = self._with_present(doc.vocab, values, before.values)
            doc.from_array(list(self.attributes), cast(Any, values))

    def _with_present(self, vocab: Vocab, predicted: np.ndarray, present: np.ndarray) -> np.ndarray:
        """The values to write to tokens with these present ones; all uint64 [T, 2]."""
        values = predicted if self.overwrite else np.where(present != 0, present, predicted)
        if self.extend:
            values = values.copy()
            pairs, places = np.unique(np.stack([present[:, 0], predicted[:, 0]]), axis=1, return_inverse=True)
            both = [self._extended(vocab, *(vocab.strings[int(morph)] for morph in pair)) for pair in pairs.T]
            values[:, 0] = np.array(both, np.uint64)[places.ravel()]
        return values

    def _extended(self, vocab: Vocab, present: str, predicted: str) -> int:
        first, second = (present, predicted) if self.overwrite else (predicted, present)
        key: int = vocab.morphology.add(Morphology.feats_to_dict(first) | Morphology.feats_to_dict(second))
        return key

    def check_label(self, label: Any) -> None:
        super().check_label(label)
        if label != NO_FEATURES and not all("=" in feature for feature in label.split("|")):
            raise ValueError(
                f"[{self.name}] a label is of the form Name=Value|Name=Value, such as POS=NOUN, not {label!r}"
            )
        pos, morph = divided(label)
        if pos and pos not in COARSE_TAGS:
            raise ValueError(f"[{self.name}] {label!r}: {pos!r} is none of the coarse tags that spaCy can store")
        if joined(pos, morph) != label:
            raise ValueError(f"[{self.name}] {label!r} is written {joined(pos, morph)!r}: names and values are sorted")

    def _values(self, vocab: Vocab, docs: Sequence[Doc], predictions: Sequence[np.ndarray]) -> np.ndarray:
        """spaCy's numbers of the features and coarse tags of these labels, uint64 [T, 2]."""
        labels = np.concatenate(predictions)
        found = analyses_of(self.weight_labels)
        for label in np.unique(labels).tolist():
            vocab.strings.add(found.pairs[label][1])
        return np.take(found.values, labels, axis=0)


class _GivenAnalyses(TokenKinds):
    """Tokens whose tag or features are known, or both."""

    def __init__(self, codec: MorphologizerCodec) -> None:
        self._labels = codec.weight_labels
        self._overwrite, self._extend = codec.overwrite, codec.extend

    @property
    def _analyses(self) -> Analyses:
        return analyses_of(self._labels)

    def constraints(self) -> Constraints:
        allowed = self._analyses.allowed
        limited = unconstrained(allowed.shape[1])._replace(token=np.where(allowed, 0.0, FORBIDDEN))
        numbers = {label: number for number, label in enumerate(self._labels)}
        shared = [
            [numbers[SHARED + name] for name in attributes_of(label) if SHARED + name in numbers]
            if not label.startswith(SHARED)
            else []
            for label in self._labels
        ]
        return with_fixed(with_attributes(limited, shared))

    def to_learn(self, docs: Sequence[Doc], values: np.ndarray, gold: np.ndarray) -> np.ndarray:
        kinds = np.zeros(len(values), np.int32)
        if self._overwrite or not any(doc.has_annotation("POS") for doc in docs):
            return kinds
        found = self._analyses
        tags = np.concatenate([values_of(doc, (POS,))[:, 0] for doc in docs])
        # In prediction, too, only labels with the token's tag compete. Where that is wrong, the gold tag is taken.
        of_labels = np.where(found.values[:, 1] != 0, found.kinds[:, 1], np.int32(0))
        kinds = found.limited(kinds, 1, tags)
        has_both = (tags != 0) & (gold >= 0)
        kinds[has_both] = of_labels[gold[has_both]]
        return kinds

    def to_predict(self, docs: Sequence[Doc], values: np.ndarray) -> np.ndarray:
        kinds = np.zeros(len(values), np.int32)
        if self._overwrite or not any(doc.has_annotation(name) for doc in docs for name in (MORPH, POS)):
            return kinds
        found = self._analyses
        present = np.concatenate([values_of(doc, (MORPH, POS)) for doc in docs])
        if self._extend:
            present[:, 0] = 0
        # Tags and features that no label has stay, too, without an effect on their neighbours.
        kinds = found.limited(found.limited(kinds, 0, present[:, 0]), 1, present[:, 1])
        for token in np.flatnonzero(present[:, 0]).tolist():
            kinds[token] = found.kinds_of_labels.get(tuple(present[token].tolist()), kinds[token])
        return kinds


class SsvmMorphologizer(TagComponent):
    """Sets `token.morph` and `token.pos`; see `MorphologizerCodec` for its settings."""

    codec: MorphologizerCodec

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        nlp: Language | None = None,
        labels: Sequence[str] | Mapping[str, Any] | None = None,
    ) -> None:
        """Learn from examples, as `SsvmPipe.initialize`.

        Args:
            labels: as there, or the label data of spaCy's morphologizer: a dictionary of two mappings by label.
        """
        if isinstance(labels, Mapping) and labels.keys() == SPACYS_LABEL_DATA and isinstance(labels["morph"], Mapping):
            labels = list(labels["morph"])
        super().initialize(get_examples, nlp, labels)
