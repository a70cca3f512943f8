"""One process for a long time: `python -m tools.soak [--zones] [--tokens 2000000] [--types N] [FACTORY …]`.

Real sentences in which every fourth word is one that never was there before, in batches of 200, go through a pipeline
of these components, or of a tokenizer alone. Prints the megabytes of memory after each twentieth of the tokens.
"""

import argparse
import gc
import os
from itertools import cycle, islice
from pathlib import Path

import spacy

from spacy_ssvm.features import word_types
from tests.pipeline.components import blank_config, saved
from tests.pipeline.toy import LANG

CORPUS = Path(__file__).parents[1] / "projects" / "quickstart" / "corpus"
STEPS = 20
BATCH = 200


def resident() -> float:
    """Megabytes of memory that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def sentences() -> list[list[str]]:
    lines = [line for path in sorted(CORPUS.glob("*.conllu")) for line in path.read_text("utf8").splitlines()]
    return [line.split(" = ", 1)[1].split() for line in lines if line.startswith("# text = ")]


def soak(factories: list[str], zones: bool, n_tokens: int) -> list[float]:
    """Megabytes after each of STEPS parts; zones: whether each batch is in a memory zone of its own."""
    nlp = spacy.blank(LANG)
    for factory in factories:
        nlp.add_pipe(factory, config=blank_config(factory)).from_bytes(saved(factory))
    stream, curve, n_done, n_words = cycle(sentences()), [], 0, 0

    def batch() -> list[str]:
        nonlocal n_words
        texts = []
        for words in islice(stream, BATCH):
            texts.append(" ".join(f"{w}{n_words + k}" if k % 4 == 0 else w for k, w in enumerate(words)))
            n_words += len(words)
        return texts

    def annotate() -> int:
        return sum(len(tokens) for tokens in nlp.pipe(batch()))

    while len(curve) < STEPS:
        if zones:
            with nlp.memory_zone():
                n_done += annotate()
        else:
            n_done += annotate()
        if n_done >= n_tokens * (len(curve) + 1) / STEPS:
            gc.collect()
            curve.append(resident())
    return curve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("factories", nargs="*", metavar="FACTORY")
    parser.add_argument("--zones", action="store_true")
    parser.add_argument("--tokens", type=int, default=2_000_000)
    parser.add_argument("--types", type=int, default=word_types.MAX_TYPES, help="that components remember")
    arguments = parser.parse_args()
    word_types.MAX_TYPES = arguments.types
    print(*(f"{size:.1f}" for size in soak(arguments.factories, arguments.zones, arguments.tokens)))


if __name__ == "__main__":
    main()
