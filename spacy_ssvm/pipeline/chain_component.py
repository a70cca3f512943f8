"""Components with one label per token: the largest weights of their labels, and the weights of transitions."""

from ..inspect.confidence import checked_count
from ..inspect.weight_tables import TopFeature, Transitions, top_features, transitions
from .chain_codec import ChainCodec
from .component import SsvmPipe


class ChainComponent(SsvmPipe):
    """A component that labels tokens by the best path through a linear chain."""

    codec: ChainCodec

    def top_features(self, label: str, n: int = 20) -> list[TopFeature]:
        """The n features with the largest weights for a label, of either sign, largest first.

        label: one of `labels`, or of `weight_labels`, such as "U-PER"; an entity label has all the weight labels that
        are made of it. The list is shorter than n if fewer weights differ from 0.

        Raises:
            ValueError: n is less than 1, the label is unknown, or the names of the features were not saved.
        """
        self._require_labels()
        wanted = [k for k, known in enumerate(self.weight_labels) if label in (known, self.codec.label_of(known))]
        if not wanted:
            raise ValueError(
                f"[{self.name}] unknown label {label!r}: the labels are {', '.join(self.labels)}; weights are those "
                f"of {', '.join(self.weight_labels)}"
            )
        weights = self._predictor().weights
        if weights.names is None:
            raise ValueError(
                f"[{self.name}] the names of its features are not known: train it with save_feature_names = true, "
                "or ask `explain`, which reads them from a Doc"
            )
        return top_features(weights, self.weight_labels, wanted, checked_count(self.name, n, "n"))

    @property
    def transitions(self) -> Transitions:
        """The weights of neighbouring labels, and a table of them.

        Raises:
            ValueError: the component has no labels yet.
        """
        return transitions(self._predictor().weights, self.weight_labels, self.codec.kinds.constraints())
