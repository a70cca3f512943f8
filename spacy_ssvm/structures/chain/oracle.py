"""The max-oracle of a chain: the most violated sequence of an example as a plane."""

from ...kernels import kernel
from .viterbi import decode


@kernel
def feature_difference(chains, example, labels, indices, values):
    """ΔΦ = Φ(x_i, y_i) − Φ(x_i, y) for labels [T], as (index, value) pairs that may repeat an index.

    Returns the number of entries written and the loss Δ(y_i, y).
    """
    n_labels = chains.scores.shape[1]
    first = chains.starts[example]
    entries, loss = 0, 0.0
    for t in range(chains.starts[example + 1] - first):
        token = first + t
        gold, label = chains.gold[token], labels[t]
        if label != gold:
            loss += chains.costs[token]
            for f in range(chains.feature_starts[token], chains.feature_starts[token + 1]):
                block = n_labels * (n_labels + int(chains.rows[f]))
                indices[entries] = block + gold
                values[entries] = chains.values[f]
                indices[entries + 1] = block + label
                values[entries + 1] = -chains.values[f]
                entries += 2
        if t > 0 and (label != gold or labels[t - 1] != chains.gold[token - 1]):
            indices[entries] = int(chains.gold[token - 1]) * n_labels + gold
            values[entries] = 1.0
            indices[entries + 1] = int(labels[t - 1]) * n_labels + label
            values[entries + 1] = -1.0
            entries += 2
    return entries, loss


@kernel
def max_oracle(chains, example, weights, loss_scale, indices, values):
    """The plane of argmax_y wᵀΦ(x_i, y) + loss_scale · Δ(y_i, y), in pairs that may repeat.

    Chang & Yih 2013, equation 3; with loss_scale 0 this is plain decoding.
    Returns the number of entries and the (unscaled) loss.
    """
    length = chains.starts[example + 1] - chains.starts[example]
    path = chains.path[:length]
    decode(chains, example, weights, loss_scale, path)
    return feature_difference(chains, example, path, indices, values)
