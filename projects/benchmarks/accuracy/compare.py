"""Two parsers on the same sentences, with a bootstrap interval of their difference: MODEL MODEL CORPUS [COLUMN …].

Heads and labels count over all tokens, punctuation and subtypes included. The interval holds 95 % of 10,000 samples of
sentences drawn with replacement (paired: both parsers on the same sample). COLUMNS are given from the corpus.
"""

import argparse

import numpy as np
import spacy

from spacy_ssvm.corpus.reader import create_corpus
from spacy_ssvm.pipeline.parser_scores import count

SAMPLES = 10_000


def counts(model: str, corpus: str, columns: list[str]) -> np.ndarray:
    """For each sentence: tokens, right heads, and right heads with the right label."""
    nlp = spacy.load(model)
    examples = list(create_corpus(corpus, columns=columns, gold_preproc=True)(nlp))
    list(nlp.pipe(example.predicted for example in examples))
    counted = [count(example) for example in examples]
    return np.array([(sentence.gold, sentence.heads, sentence.arcs) for sentence in counted])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first")
    parser.add_argument("second")
    parser.add_argument("corpus")
    parser.add_argument("columns", nargs="*")
    given = parser.parse_args()
    a, b = (counts(model, given.corpus, given.columns) for model in (given.first, given.second))
    draws = np.random.default_rng(0).integers(0, len(a), (SAMPLES, len(a)))
    for place, name in ((1, "UAS"), (2, "LAS")):
        scores = [100 * counted[:, place].sum() / counted[:, 0].sum() for counted in (a, b)]
        tokens = a[:, 0][draws].sum(1)
        samples = 100 * (b[:, place] - a[:, place])[draws].sum(1) / tokens
        low, high = np.quantile(samples, [0.025, 0.975])
        print(
            f"{name} {scores[0]:.2f} and {scores[1]:.2f}: {scores[1] - scores[0]:+.2f}, 95 % of the samples in "
            f"[{low:+.2f}, {high:+.2f}]"
        )


if __name__ == "__main__":
    main()
