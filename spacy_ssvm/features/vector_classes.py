"""Classes of word vectors by k-means. Needs scikit-learn, the extra "vectors"."""

from collections.abc import Mapping, Sequence

import numpy as np
from spacy.strings import get_string_id
from spacy.vectors import Mode, Vectors

BATCH = 4096
"""Vectors of one step of mini-batch k-means, and words of a floret table that are looked up at once."""


def classes_of_vectors(
    vectors: Vectors, n_classes: int, seed: int, words: Sequence[str] | None = None
) -> Mapping[int, str]:
    """Word key → class "0" … str(n_classes − 1), of all words with a vector that is not 0.

    The vectors are scaled to length 1, so that classes depend on direction. There are at most as many classes as words.

    Args:
        words: the words that get a class; None for all words that have a vector of their own.

    Raises:
        ValueError: n_classes is less than 1, there are no vectors, or those of a floret table, which has one for any
            word, and no words.
        ImportError: scikit-learn is not installed.
    """
    try:
        from sklearn.cluster import MiniBatchKMeans
    except ImportError as error:
        raise ImportError('classes of word vectors need scikit-learn: pip install "spacy-ssvm[vectors]"') from error
    if n_classes < 1:
        raise ValueError(f"features.classes: n_classes must be at least 1, not {n_classes}")
    keys, row_of_word, data = _by_piece(vectors, words) if vectors.mode == Mode.floret else _by_word(vectors, words)
    lengths = np.linalg.norm(data, axis=1)
    if not lengths.any():
        raise ValueError(
            "features.classes: nlp.vocab has no vectors of these words: name a pipeline with vectors in "
            "[initialize.vectors]"
        )
    known = lengths > 0
    data = data[known] / lengths[known, None]
    means = MiniBatchKMeans(min(n_classes, len(data)), random_state=seed, batch_size=BATCH, n_init=1).fit(data)
    classes = np.full(len(known), -1)
    classes[known] = means.labels_
    return {int(key): str(classes[row]) for key, row in zip(keys, row_of_word) if classes[row] >= 0}


def _by_word(vectors: Vectors, words: Sequence[str] | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keys uint64 [n], the row of each, int64 [n], and the rows, float32 [m, width], of words in a table of words."""
    wanted = vectors.key2row if words is None else vectors.key2row.keys() & map(get_string_id, words)
    keys = np.array(sorted(wanted), np.uint64)
    rows = np.array([vectors.key2row[int(key)] for key in keys], np.int64)
    keys, rows = keys[rows >= 0], rows[rows >= 0]
    used, row_of_word = np.unique(rows, return_inverse=True)
    data = np.asarray(vectors.data)[used].astype(np.float32) if len(used) else np.zeros((0, 1), np.float32)
    return keys, row_of_word, data


def _by_piece(vectors: Vectors, words: Sequence[str] | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keys, rows and vectors of words in a floret table, as from `_by_word`.

    A word's vector is the mean of its pieces' vectors.
    """
    if words is None:
        raise ValueError(
            "features.classes: a floret table has a vector for any word: name those that are to get a class in a file "
            "with one word a line, words = FILE"
        )
    distinct = sorted({word for word in words if word}, key=get_string_id)
    batches = [vectors.get_batch(distinct[first : first + BATCH]) for first in range(0, len(distinct), BATCH)]
    data = np.concatenate([np.zeros((0, vectors.data.shape[1])), *batches]).astype(np.float32)
    return np.array([get_string_id(word) for word in distinct], np.uint64), np.arange(len(distinct)), data
