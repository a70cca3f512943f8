"""What a structural SVM asks for, drawn for the nine tag sequences of two words."""

from collections.abc import Mapping
from itertools import product

import numpy as np
from matplotlib.figure import Figure

WORDS = ("time", "flies")
TAGS = ("NOUN", "VERB", "ADJ")
GOLD = ("NOUN", "VERB")
SEQUENCES = list(product(TAGS, TAGS))
BEFORE = {"time NOUN": 0.4, "time VERB": 0.7, "flies NOUN": 0.8, "flies VERB": 0.5, "time ADJ": 0.2}
"""Weights that some earlier training may have left."""
C = 100.0
STEPS = 3000

Weights = Mapping[str, float]


def features(tags: tuple[str, str]) -> list[str]:
    """Each word with its tag, and the pair of tags."""
    return [*(f"{word} {tag}" for word, tag in zip(WORDS, tags)), " ".join(tags)]


def score(weights: Weights, tags: tuple[str, str]) -> float:
    return sum(weights.get(feature, 0.0) for feature in features(tags))


def loss(tags: tuple[str, str]) -> int:
    """The number of wrong tags."""
    return sum(tag != gold for tag, gold in zip(tags, GOLD))


def learnt() -> Weights:
    """The optimum of ½‖w‖² + C ξ² with one example, by dual coordinate descent over all planes."""
    names = sorted({feature for tags in SEQUENCES for feature in features(tags)})
    counts = np.array([[features(tags).count(name) for name in names] for tags in SEQUENCES], float)
    planes = counts[SEQUENCES.index(GOLD)] - counts
    dual, weights = np.zeros(len(SEQUENCES)), np.zeros(len(names))
    for step in range(STEPS):
        k = step % len(SEQUENCES)
        violation = loss(SEQUENCES[k]) - planes[k] @ weights - dual.sum() / (2 * C)
        new = max(0.0, dual[k] + violation / (planes[k] @ planes[k] + 1 / (2 * C)))
        weights += (new - dual[k]) * planes[k]
        dual[k] = new
    return dict(zip(names, weights.round(6).tolist()))


def figure() -> Figure:
    """A bar for each sequence, and where it has to end for gold to be far enough ahead."""
    drawn = Figure(figsize=(8.4, 3.4), layout="constrained")
    colours = {0: "tab:green", 1: "tab:orange", 2: "tab:red"}
    for place, (title, weights) in enumerate({"before training": BEFORE, "after training": learnt()}.items(), 1):
        axes = drawn.add_subplot(1, 2, place)
        ordered = sorted(SEQUENCES, key=lambda tags: round(-score(weights, tags), 4))
        axes.barh(
            [" ".join(tags) for tags in ordered],
            [score(weights, tags) for tags in ordered],
            color=[colours[loss(tags)] for tags in ordered],
        )
        for row, tags in enumerate(ordered):
            if loss(tags):
                limit = score(weights, GOLD) - loss(tags)
                axes.plot([limit, limit], [row - 0.4, row + 0.4], color="black", linewidth=2)
        axes.invert_yaxis()
        axes.set(title=title, xlabel="score of the tags of “time flies”")
        axes.tick_params(labelsize=7)
        axes.grid(alpha=0.3, axis="x")
    for wrong, colour in colours.items():
        axes.barh([0], [0], color=colour, label=f"{wrong} wrong tags" if wrong != 1 else "1 wrong tag")
    axes.plot([], [], color="black", linewidth=2, label="gold's score − wrong tags")
    axes.legend(fontsize=7, loc="lower right")
    return drawn
