"""The matrix behaviour × component, in Markdown: `python -m tools.behaviours` runs the tests of components and
prints it.

What stands after it goes to pytest. A cell says how many cases passed, and how many failed or were skipped, if any.
"""

import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.pipeline.toy import EXAMPLES

FOLDERS = [str(Path(__file__).parents[1] / "tests" / room) for room in ("pipeline", "inspect")]


class Matrix:
    """A pytest plugin that counts outcomes by behaviour and component."""

    def __init__(self) -> None:
        self.cells: dict[tuple[str, str], dict[str, dict[str, int]]] = defaultdict(
            lambda: defaultdict(lambda: defaultdict(int))
        )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        factory = getattr(item, "callspec", None) and item.callspec.params.get("factory")
        if factory in EXAMPLES and (report.when == "call" or report.outcome != "passed"):
            behaviour = item.originalname.removeprefix("test_").replace("_", " ")
            self.cells[item.path.stem.removeprefix("test_"), behaviour][factory][report.outcome] += 1
        return report

    def table(self) -> str:
        lines = [f"| area | behaviour | {' | '.join(EXAMPLES)} |", f"|---|---|{'---|' * len(EXAMPLES)}"]
        for (area, behaviour), row in self.cells.items():
            cells = [", ".join(f"{n} {outcome}" for outcome, n in row[factory].items()) or "–" for factory in EXAMPLES]
            lines.append(f"| {area} | {behaviour} | {' | '.join(cells)} |")
        n_cells = sum(len(row) for row in self.cells.values())
        n_cases = sum(n for row in self.cells.values() for outcomes in row.values() for n in outcomes.values())
        return "\n".join([*lines, "", f"{len(self.cells)} behaviours, {n_cells} cells, {n_cases} cases"])


def main(arguments: list[str]) -> int:
    matrix = Matrix()
    code = pytest.main(["--quiet", "-W", "ignore", *FOLDERS, *arguments], plugins=[matrix])
    print(matrix.table())
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
