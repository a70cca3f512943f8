"""Make a Python package of each chosen pipeline: TRAINING METRICS TREEBANKS PACKAGES VERSION.

The wheels come into PACKAGES. TREEBANKS is treebanks.jsonl, with the licences and the authors of treebanks.
"""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import srsly

UNKNOWN = "see the treebank"
"""The licence of a treebank that is not in TREEBANKS."""

Record = Mapping[str, Any]


def meta(own: Record, row: Record, facts: Record | None, version: str) -> dict[str, Any]:
    """The meta.json of the package.

    own: the pipeline's meta.json. row: of METRICS. facts: the row of TREEBANKS, None if it has none.
    """
    source = {"name": row["prefix"], "license": UNKNOWN}
    if facts is not None:
        source = {
            "name": f"{facts['name']} {facts['version']}",
            "url": f"https://github.com/UniversalDependencies/{facts['name']}/tree/r{facts['version']}",
            "license": facts["license"],
            **({"author": facts["author"]} if "author" in facts else {}),
        }
    return {
        **own,
        "name": f"ud_{row['prefix'].removeprefix(own['lang'] + '_')}",
        "version": version,
        "description": f"Pipeline for Universal Dependencies, trained on the treebank {source['name']}",
        "license": source["license"],
        "sources": [source],
        "performance": {**own["performance"], **performance(row)},
    }


def performance(row: Record) -> dict[str, float]:
    """The CoNLL 2018 F1 of a row, from 0 to 1; the name is such as `test_LAS` on gold words, `test_raw_LAS` on text."""
    return {
        f"{part}_{kind}{metric}": round(value / 100, 4)
        for part in ("dev", "test")
        if part in row
        for name, kind in (("gold", ""), ("raw", "raw_"))
        for metric, value in row[part][name].items()
    }


def package(model: Path, description: Record, packages: Path) -> Path:
    """Make the wheel of a pipeline, in place of an earlier one of the same version."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "meta.json"
        srsly.write_json(file, description)
        command = ("package", str(model), folder, "--meta-path", str(file), "--build", "wheel")
        subprocess.run([sys.executable, "-m", "spacy", *command], check=True)
        (wheel,) = Path(folder).glob("*/dist/*.whl")
        packages.mkdir(parents=True, exist_ok=True)
        unfinished = packages / f"{wheel.name}.unfinished"
        unfinished.write_bytes(wheel.read_bytes())
        return unfinished.replace(packages / wheel.name)


if __name__ == "__main__":
    training, metrics, treebanks, packages, version = sys.argv[1:]
    facts = {row["prefix"]: row for row in srsly.read_jsonl(treebanks)}
    if not (files := sorted(Path(metrics).glob("*.jsonl"))):
        sys.exit(f"{metrics} has no treebank: run the workflow `all` first")
    for file in files:
        (row,) = srsly.read_jsonl(file)
        model = Path(training) / row["prefix"] / row["structure"] / "model-best"
        own = srsly.read_json(model / "meta.json")
        print(package(model, meta(own, row, facts.get(row["prefix"]), version), Path(packages)))
