"""The experiments of four papers on open data: what is run, and what of it the report shows.

`tasks` turns corpora into problems with scores, `runs` trains a solver on one and keeps its curve, `sweep` does the
runs that are missing, `report` writes what is there. A module for each paper has RUNS, the runs that it needs, and
`report`, which puts its tables, figures and claims on a `page` from their `results`.
"""
