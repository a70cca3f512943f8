"""Structured learners for spaCy on a CPU. Importing this package imports neither numba nor spaCy."""

from importlib.metadata import version

__version__ = version("spacy-ssvm")
