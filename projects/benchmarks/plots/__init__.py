"""Plots of the documentation: long tables of the other parts at a glance."""

import shared  # noqa: F401
