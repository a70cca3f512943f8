"""Classes of word vectors by k-means. Needs scikit-learn, the extra "vectors"."""

from collections.abc import Mapping

import numpy as np
from spacy.vectors import Vectors

BATCH = 4096
"""Vectors of one step of mini-batch k-means."""


def classes_of_vectors(vectors: Vectors, n_classes: int, seed: int) -> Mapping[int, str]:
    """Word key → class "0" … str(n_classes − 1), of all words with a vector that is not 0.

    The vectors are scaled to length 1, so that classes are by direction. As many classes as words at most.

    Raises:
        ValueError: n_classes is less than 1, or there are no vectors of words, as in a floret table.
        ImportError: scikit-learn is not installed.
    """
    try:
        from sklearn.cluster import MiniBatchKMeans
    except ImportError as error:
        raise ImportError('classes of word vectors need scikit-learn: pip install "spacy-ssvm[vectors]"') from error
    if n_classes < 1:
        raise ValueError(f"features.classes: n_classes must be at least 1, not {n_classes}")
    words = np.array(sorted(vectors.key2row), np.uint64)
    rows = np.array([vectors.key2row[int(word)] for word in words], np.int64)
    words, rows = words[rows >= 0], rows[rows >= 0]
    used, row_of_word = np.unique(rows, return_inverse=True)
    data = np.asarray(vectors.data)[used].astype(np.float32) if len(used) else np.zeros((0, 1), np.float32)
    lengths = np.linalg.norm(data, axis=1)
    if not lengths.any():
        raise ValueError(
            "features.classes: nlp.vocab has no vectors of words: name a pipeline with vectors in "
            "[initialize.vectors]; a floret table, which has vectors of parts of words only, has none"
        )
    known = lengths > 0
    data = data[known] / lengths[known, None]
    means = MiniBatchKMeans(min(n_classes, len(data)), random_state=seed, batch_size=BATCH, n_init=1).fit(data)
    classes = np.full(len(used), -1)
    classes[known] = means.labels_
    return {int(word): str(classes[row]) for word, row in zip(words, row_of_word) if classes[row] >= 0}
