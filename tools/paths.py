"""The modules that a batch passes from `update` to the solver, and a Doc from `pipe` to its annotation.

    NUMBA_DISABLE_JIT=1 python -m tools.paths

Without compilation kernels are Python functions, so that their modules count, too.
"""

import sys
import warnings

from tests.pipeline.toy import EXAMPLES, trained


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


def ways(factory: str) -> dict[str, list[str]]:
    """Of a toy component: the modules of each way."""
    nlp = trained(factory, 1)
    examples, pipe = EXAMPLES[factory](nlp), nlp.get_pipe(factory)
    return {
        "update": modules(lambda: nlp.update(examples)),
        "pipe": modules(lambda: list(pipe.pipe([examples[0].predicted.copy()]))),
    }


def main() -> None:
    warnings.simplefilter("ignore")
    together: set[str] = set()
    for factory in EXAMPLES:
        for way, passed in ways(factory).items():
            together.update(passed)
            print(f"{factory} {way}: {len(passed)}  {' '.join(passed)}")
    print(f"all together: {len(together)}")


if __name__ == "__main__":
    main()
