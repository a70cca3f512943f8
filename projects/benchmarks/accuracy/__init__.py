"""Scores of our components beside those of CRFsuite and spaCy, and by what they learn from.

Each module is a command of the part, or what several of them share. `report` writes the page of those with metrics.
"""
