"""Train or predict in this process and tell what its kernels cost: disk cache misses, seconds compiling.

train CONFIG OUTPUT [--section.key value …]: as `spacy train`. predict MODEL CORPUS.spacy: as `nlp.pipe`.
"""

import json
import sys
import time

import spacy
from numba.core import event
from spacy.cli._util import parse_config_overrides
from spacy.cli.train import train
from spacy.tokens import Doc, DocBin

from spacy_ssvm import kernels


def main() -> None:
    command, source, target, *overrides = sys.argv[1:]
    timer = event.TimingListener()
    event.register("numba:compile", timer)
    if command == "train":
        train(source, target, overrides=parse_config_overrides(overrides))
    else:
        nlp = spacy.load(source)
        docs = DocBin().from_disk(target).get_docs(nlp.vocab)
        texts = [Doc(nlp.vocab, words=[token.text for token in doc]) for doc in docs]
        print(f"{sum(len(doc) for doc in nlp.pipe(texts))} tokens")
    statistics = kernels.cache_statistics()
    print(
        json.dumps(
            {
                "kernels": len(statistics),
                "hits": sum(kernel.hits for kernel in statistics),
                "misses": sum(kernel.misses for kernel in statistics),
                "compile_seconds": round(timer.duration if timer.done else 0.0, 1),
                "cpu_seconds": round(time.process_time(), 1),
            }
        )
    )


if __name__ == "__main__":
    main()
