"""Handwritten words, letter by letter (Taskar's OCR data), and a rendered stand-in where they are not there.

A letter is 16 × 8 pixels, on or off; 26 labels. The stand-in draws the words of the English Web Treebank in fonts that
come with matplotlib, each word in one of them, tilted, and with noise in every pixel: the same size, not the same task.
"""

import gzip
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import spacy
from spacy.tokens import DocBin

from spacy_ssvm.models.chain.data import Chains, make_chains
from spacy_ssvm.models.chain.oracles import chain_problem
from spacy_ssvm.models.chain.scores import decode_sequences
from spacy_ssvm.solvers.problem import Problem
from spacy_ssvm.structures.chain.constraints import unconstrained

HEIGHT, WIDTH, LETTERS = 16, 8, 26
WORDS, FOLDS = 6877, 10
"""As many words as the original has, in as many parts."""
FONTS = ("DejaVu Sans", "DejaVu Serif", "DejaVu Sans Mono", "STIXGeneral", "cmr10", "cmtt10")
SLANTS = (-0.35, -0.15, 0.0, 0.15, 0.35)
NOISE = 0.25
"""The share of pixels that are flipped."""


class Word(NamedTuple):
    """pixels: uint8 [letters, 128]; letters: int32, 0 for a; fold: 0 … 9."""

    pixels: np.ndarray
    letters: np.ndarray
    fold: int


def problem(words: Sequence[Word]) -> tuple[Problem, Chains]:
    """A feature for each pixel that is on."""
    starts = np.cumsum([0, *(len(word.letters) for word in words)])
    pixels = np.concatenate([word.pixels for word in words])
    feature_starts = np.concatenate([[0], np.cumsum(pixels.sum(1, dtype=np.int64))])
    gold = np.concatenate([word.letters for word in words])
    chains = make_chains(starts, feature_starts, np.nonzero(pixels)[1], gold, unconstrained(LETTERS))
    return chain_problem(chains, HEIGHT * WIDTH), chains


def accuracy(chains: Chains, weights: np.ndarray) -> float:
    """Of letters, in per cent."""
    return 100 * float((decode_sequences(chains, weights) == chains.gold).mean())


def read_original(path: Path) -> list[Word]:
    """Columns: number, letter, number of the next letter or −1, word, place, fold, 128 pixels."""
    words, letters, pixels = [], [], []
    with gzip.open(path, "rt") as lines:
        for line in lines:
            row = line.split("\t")
            letters.append(ord(row[1]) - ord("a"))
            pixels.append([int(value) for value in row[6 : 6 + HEIGHT * WIDTH]])
            if row[2] == "-1":
                words.append(Word(np.array(pixels, np.uint8), np.array(letters, np.int32), int(row[5])))
                letters, pixels = [], []
    return words


@lru_cache(maxsize=1)
def render(corpus: Path) -> list[Word]:
    """Words of a corpus, drawn."""
    rng = np.random.default_rng(0)
    docs = DocBin().from_disk(corpus).get_docs(spacy.blank("en").vocab)
    texts = [token.lower_ for doc in docs for token in doc if token.is_ascii and token.is_alpha and len(token) > 2]
    words = []
    for number, place in enumerate(rng.permutation(len(texts))[:WORDS]):
        font, slant = FONTS[rng.integers(len(FONTS))], SLANTS[rng.integers(len(SLANTS))]
        pixels = np.array([_glyph(letter, font, slant) for letter in texts[place]])
        flipped = rng.random(pixels.shape) < NOISE
        letters = np.array([ord(letter) - ord("a") for letter in texts[place]], np.int32)
        words.append(Word((pixels ^ flipped).astype(np.uint8), letters, number % FOLDS))
    return words


@cache
def _glyph(letter: str, font: str, slant: float) -> np.ndarray:
    """A letter that fills its 16 × 8 pixels, bool [128]."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import PathPatch
    from matplotlib.textpath import TextPath
    from matplotlib.transforms import Affine2D

    figure = Figure(figsize=(WIDTH, HEIGHT), dpi=4)
    canvas = FigureCanvasAgg(figure)
    outline = TextPath((0, 0), letter, size=10, prop={"family": font}).transformed(Affine2D().skew(slant, 0))
    box = outline.get_extents()
    axes = figure.add_axes((0, 0, 1, 1), frameon=False, xlim=(box.x0, box.x1), ylim=(box.y0, box.y1))
    axes.set_axis_off()
    axes.add_patch(PathPatch(outline, facecolor="black", linewidth=0))
    canvas.draw()
    image = np.asarray(canvas.buffer_rgba())[:, :, 0]
    ink = 255 - image.reshape(HEIGHT, 4, WIDTH, 4).mean((1, 3))
    return (ink > 127).ravel()
