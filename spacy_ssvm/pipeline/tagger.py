"""`ssvm_tagger`: a tag for each token."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from spacy.attrs import POS, TAG
from spacy.parts_of_speech import IDS as COARSE_TAGS
from spacy.scorer import Scorer
from spacy.strings import get_string_id
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from ..features.index import ABSENT, places_in
from ..models.chain.space import ChainGold, TokenKinds
from ..words import example_of_words
from .chain_codec import ChainCodec, gold_strings
from .chain_component import TagComponent
from .codec import Given, SavedCodec
from .writing import write_values

ATTRIBUTES = {"tag": TAG, "pos": POS}
NEGATIVE = "!"
"""spaCy's mark for "not this tag"."""


def tagger_score(examples: Iterable[Example], **settings: Any) -> dict[str, Any]:
    """Token accuracy of the attribute that the component sets, as "tag_acc" or "pos_acc", without whitespace."""
    attribute = settings.pop("attribute", "tag")
    return Scorer.score_token_attr(map(example_of_words, examples), attribute, **settings)


def make_tagger_scorer() -> Callable[..., dict[str, Any]]:
    """The registered scorer "spacy-ssvm.tagger_scorer.v1"."""
    return tagger_score


@dataclass(frozen=True)
class TaggerCodec(ChainCodec):
    """A tag for each token.

    Attributes:
        attr: the attribute that is set, "tag" or "pos".
        overwrite: whether existing tags are overwritten; otherwise they stay and constrain their neighbours.

    Raises:
        ValueError: an unknown attribute, or a label cost that is not finite, or negative.
    """

    attr: str = "tag"
    overwrite: bool = False

    def __post_init__(self) -> None:
        if self.attr not in ATTRIBUTES:
            raise ValueError(f'[{self.name}] attr must be "tag" or "pos", not {self.attr!r}')
        super().__post_init__()

    @property
    def saved(self) -> SavedCodec:
        return SavedCodec({"attr": self.attr}, {})

    def gold(self, example: Example) -> ChainGold:
        tags = gold_strings(example, ATTRIBUTES[self.attr])
        wrong = {token: tag[1:] for token, tag in enumerate(tags) if tag and tag[0] == NEGATIVE and len(tag) > 1}
        labels = [tag if tag and token not in wrong else None for token, tag in enumerate(tags)]
        return ChainGold(labels, [(token, [tag]) for token, tag in wrong.items()])

    @property
    def attributes(self) -> tuple[int, ...]:
        return (ATTRIBUTES[self.attr],)

    def write(self, docs: Iterable[Doc], predictions: Sequence[np.ndarray], given: Sequence[Given]) -> None:
        def values_of(vocab: Vocab, _: Sequence[Doc], labels: Sequence[np.ndarray]) -> np.ndarray:
            found = np.concatenate(labels)
            if self.attr == "tag":
                for label in np.flatnonzero(np.bincount(found)).tolist():
                    vocab.strings.add(self.labels[label])
            return self.numbers.take(found, axis=0)

        write_values(self.attributes, self.overwrite, docs, predictions, given, values_of)

    @property
    def kinds(self) -> TokenKinds:
        return TokenKinds(len(self.labels)) if self.overwrite else _GivenTags(self)

    def check_label(self, label: Any) -> None:
        super().check_label(label)
        if self.attr == "pos" and label not in COARSE_TAGS:
            raise ValueError(f"[{self.name}] {label!r} is none of the coarse tags that spaCy can store in token.pos")

    @cached_property
    def numbers(self) -> np.ndarray:
        """spaCy's number of each label, uint64 [L, 1]."""
        number = COARSE_TAGS.__getitem__ if self.attr == "pos" else get_string_id
        return np.array([[number(label)] for label in self.labels], np.uint64).reshape(-1, 1)


class _GivenTags(TokenKinds):
    """The kinds of tokens: one for tokens without a given tag, and one for each tag that may be given."""

    def __init__(self, codec: TaggerCodec) -> None:
        super().__init__(len(codec.labels))
        self.attributes = codec.attributes
        self._tags = codec.numbers.ravel()

    def to_predict(self, docs: Sequence[Doc], values: np.ndarray) -> np.ndarray:
        kinds = super().to_predict(docs, values)
        present = values[:, 0]
        if not present.any():
            return kinds
        order = np.argsort(self._tags)
        places = places_in(self._tags[order], present)
        # Tags that the component does not have stay, too, without an effect on their neighbours.
        return np.where(places != ABSENT, 1 + order[places], kinds).astype(np.int32)


class SsvmTagger(TagComponent):
    """Sets `token.tag` or `token.pos`; see `TaggerCodec` for its settings."""

    codec: TaggerCodec

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """The figures of the scorer, which also gets the attribute."""
        return super().score(examples, **{"attribute": self.codec.attr, **kwargs})
