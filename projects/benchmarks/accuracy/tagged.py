"""Write corpora whose tags are predicted, for parsers: TAGGER TRAIN OTHER …

A sentence of TRAIN gets its tags from taggers that have not seen it (jackknifing); those of the other corpora get
theirs from the pipeline TAGGER. Heads and labels stay gold. data/ewt-dev.spacy becomes data/ewt-dev-tagged.spacy.
"""

import argparse
from pathlib import Path

import spacy
from spacy.attrs import POS, TAG
from spacy.tokens import Doc, DocBin

from spacy_ssvm.corpus.reader import create_corpus


def write(path: Path, tagged: list[Doc], gold: list[Doc]) -> None:
    right = n_tokens = 0
    for predicted, reference in zip(tagged, gold):
        tags = predicted.to_array([TAG, POS])
        right += int((tags[:, 0] == reference.to_array(TAG)).sum())
        n_tokens += len(reference)
        reference.from_array([TAG, POS], tags)
    DocBin(docs=gold).to_disk(path.with_stem(f"{path.stem}-tagged"))
    print(f"{path.stem}-tagged{path.suffix}: {right / n_tokens:.2%} of the tags are right")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tagger")
    parser.add_argument("train", type=Path)
    parser.add_argument("others", type=Path, nargs="*")
    given = parser.parse_args()
    nlp = spacy.load(given.tagger, exclude=["parser"])
    examples = list(create_corpus(given.train, gold_preproc=True, jackknife=["tag", "pos"])(nlp))
    write(given.train, [example.predicted for example in examples], [example.reference for example in examples])
    for path in given.others:
        examples = list(create_corpus(path, gold_preproc=True)(nlp))
        tagged = list(nlp.pipe([example.predicted for example in examples]))
        write(path, tagged, [example.reference for example in examples])


if __name__ == "__main__":
    main()
