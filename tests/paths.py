"""The modules that a batch passes from `update` to the solver, and a Doc from `pipe` to its annotation.

    NUMBA_DISABLE_JIT=1 python -m tests.paths

Without compilation kernels are Python functions, so that their modules count, too.
"""

import sys
import warnings

from .pipeline.toy import EXAMPLES, trained


def modules(call) -> list[str]:
    """The modules of the package whose functions a call enters."""
    entered: set[str] = set()

    def profile(frame, event, argument):
        if event == "call":
            entered.add(frame.f_globals.get("__name__", ""))

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return sorted(name.removeprefix("spacy_ssvm.") for name in entered if name.startswith("spacy_ssvm"))


def main() -> None:
    warnings.simplefilter("ignore")
    both: set[str] = set()
    for factory, examples_of in EXAMPLES.items():
        nlp = trained(factory, 1)
        examples, pipe = examples_of(nlp), nlp.get_pipe(factory)
        ways = {
            "update": modules(lambda: nlp.update(examples)),
            "pipe": modules(lambda: list(pipe.pipe([examples[0].predicted.copy()]))),
        }
        for way, found in ways.items():
            both.update(found)
            print(f"{factory} {way}: {len(found)}  {' '.join(found)}")
    print(f"all together: {len(both)}")


if __name__ == "__main__":
    main()
