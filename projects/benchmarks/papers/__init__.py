"""The experiments of four papers on open data: what is run, and what the report shows.

`tasks` turns corpora into problems with scores, `runs` trains a solver on one of them and records its curve, and
`shared.metrics` keeps the records, one table per task. `sweep` does the runs that are missing; `report` writes the
page of those that are there. Each paper has a module with RUNS, the runs that it needs, and `report`, which turns their
`results` into tables, figures and claims on a page.
"""
