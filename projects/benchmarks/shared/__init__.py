"""What the parts of the project share: corpora, `spacy train`, tables of metrics, pages, and how a part is called."""

import os

# Read when NumPy is imported, which must not have happened yet: runs go side by side, a thread each.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
