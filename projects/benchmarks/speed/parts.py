"""The parts of the measurement, in the order of the report."""

from . import (
    analyses,
    growth,
    large,
    long_texts,
    memory,
    prediction,
    size,
    startup,
    threads,
    token_profile,
    training,
    unseen,
)

PARTS = {
    "unseen": unseen,
    "prediction": prediction,
    "token": token_profile,
    "training": training,
    "growth": growth,
    "long": long_texts,
    "threads": threads,
    "size": size,
    "memory": memory,
    "large": large,
    "startup": startup,
    "analyses": analyses,
}
"""Each has measure(settings) → figures, and report(figures, page) → bars."""
TABLE = "speed"
"""Of metrics, with a row for each part."""
