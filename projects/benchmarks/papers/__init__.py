"""The experiments of four papers on open data: what is run, and what the report shows.

`tasks` turns corpora into problems with scores, `runs` trains a solver on one of them and records its curve, and
`metrics` keeps the records, one table per task. `sweep` does the runs that are missing; `report` writes the report of
those that are there. Each paper has a module with RUNS, the runs that it needs, and `report`, which turns their
`results` into tables, figures and claims on a `page`.
"""

import os

# Read when NumPy is imported, which must not have happened yet: runs go side by side, a thread each.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
