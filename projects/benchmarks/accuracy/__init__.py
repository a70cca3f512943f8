"""What the commands of the project run, each by `python -m scripts.NAME` in the project's folder.

`convert` makes .spacy files of the corpora. `train` is `spacy train` with a summary, `clocked_train` with a clock;
`parsers` and `basque` train many times. `tagged` writes corpora with predicted tags. `peers` and `crfsuite` train the
packages that the report compares. `compare`, `partial`, `loopy_quality` and `kernel_cache` each answer one question.
"""
