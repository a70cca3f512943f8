"""Tests of `spacy ssvm serve`."""
