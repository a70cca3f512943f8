"""The model of costs, its check against runs, and what follows from it, as Markdown tables: METRICS [PAGE].

They are printed or, where there is a page with as many tables, put in place of those, in the same order.
"""

import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .costs import (
    ENTRY_BYTES,
    Annotating,
    Costs,
    Network,
    PowerLaw,
    Seconds,
    all_reduce,
    alone_seconds,
    annotating_workers,
    best,
    entries_down,
    entries_up,
    fitted,
    n_vectors,
    run_seconds,
    shares,
    star,
)

Row = dict[str, Any]

NEAR, FAR = Network(1e9 / 8, 1e-3), Network(1e8 / 8, 20e-3)
"""1 Gbit/s and 1 ms, as in a machine room; 100 Mbit/s and 20 ms, as between two of them."""
GIGABIT = NEAR.bandwidth
MOST_WEIGHTS = 1e9
"""Of w, as hashed features would have it. Indices are int32, which allows 2.1 · 10⁹."""
TOKENS = [10.0**k for k in range(6, 12)]
SIZES = [10.0**k for k in range(6, 10)]
DUAL_STEPS, MIXING = ("tagger", "dcd"), ("tagger", "perceptron")


def read(metrics: Path, part: str) -> list[Row]:
    """The rows of a part of the measurements."""
    return [json.loads(line) for line in (metrics / f"costs-{part}.jsonl").read_text("utf8").splitlines()]


def table(header: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1) -> str:
    """A table in Markdown. texts: the number of columns on the left that are no figures."""
    rule = "|" + "---|" * texts + "---:|" * (len(header) - texts)
    return "\n".join([f"| {' | '.join(header)} |", rule, *(f"| {' | '.join(row)} |" for row in rows)])


def of_blocks(traffic: Sequence[Row], component: str, solver: str, alone: float | None = None) -> Costs:
    """What `spacy ssvm train` costs, fitted to the runs of this component and solver.

    alone: as in `Costs`; by default as at a worker.
    """
    rows = [row for row in traffic if (row["component"], row["solver"]) == (component, solver)]
    workers = [row["workers"] for row in rows]
    parts = [row["tokens"] / row["workers"] for row in rows]
    entries = [row["up"] + row["down"] for row in rows]
    token, entry = shares(list(zip([row["tokens"] for row in rows], entries)), [row["worker_seconds"] for row in rows])
    places = [row["weights"] for row in rows]
    of_entry, of_place = shares(list(zip(entries, places)), [row["driver_seconds"] for row in rows])
    vectors = 2 if solver == "dcd" else 1
    of_vector = [row["up"] / n_vectors(vectors, row["workers"]) for row in rows]
    counted = [(row["workers"], row["epochs"]) for row in rows if row["epochs"]]
    return Costs(
        alone=token if alone is None else alone,
        token=token,
        entry=entry,
        driver_entry=of_entry,
        driver_weight=of_place,
        up=fitted(parts, [size / number for size, number in zip(of_vector, workers)]),
        weights=fitted(parts, [row["block_weights"] / row["workers"] for row in rows]),
        back=fitted(workers, [row["down"] / size for row, size in zip(rows, of_vector)]),
        union=fitted(workers, [row["non_zeros"] / rows[0]["non_zeros"] for row in rows]),
        epochs=fitted(*zip(*counted)) if len(counted) > 1 else PowerLaw(1.0, 0.0),
        rounds=2,
        vectors=vectors,
    )


def of_sums(blocks: Costs, growth: Sequence[Row], component: str, seconds: str, entries: str) -> Costs:
    """What an evaluation at one w costs: as blocks, but with another pass and other vectors, and any number of workers.

    seconds, entries: the names of the pass and of its sum in the rows of growth.
    """
    rows = [row for row in growth if row["component"] == component and entries in row]
    up = fitted([row["tokens"] for row in rows], [row[entries] for row in rows])
    # w differs in all weights that are not zero, as for blocks, and at most in all that a worker reads.
    ratio = blocks.up(rows[-1]["tokens"]) / up(rows[-1]["tokens"])
    one = PowerLaw(1.0, 0.0)
    token = rows[-1][seconds] / rows[-1]["tokens"]
    back = replace(blocks.back, factor=ratio * blocks.back.factor) if entries == "planes" else one
    return replace(blocks, alone=token, token=token, up=up, back=back, epochs=one, rounds=1, vectors=1)


def bounded(costs: Costs) -> Costs:
    """With a w of at most so many weights."""
    limits = {name: replace(getattr(costs, name), limit=MOST_WEIGHTS) for name in ("up", "weights")}
    return replace(costs, **limits)


def sparse_driver(costs: Costs) -> Costs:
    """If the driver had no dense vectors."""
    return replace(costs, driver_weight=0.0)


def power(law: PowerLaw) -> str:
    """factor · xᵉ."""
    digits = max(0, 1 - math.floor(math.log10(law.factor)))
    return f"{law.factor:,.{digits}f} · T^{law.exponent:.2f}"


def growth_table(growth: Sequence[Row]) -> str:
    """Weights by tokens."""
    lines = []
    for component, corpus in dict.fromkeys((row["component"], row["corpus"]) for row in growth):
        rows = [row for row in growth if (row["component"], row["corpus"]) == (component, corpus)]
        first, last = rows[0], rows[-1]
        tokens = [row["tokens"] for row in rows]
        cells = [f"{first['tokens']:,} – {last['tokens']:,}"]
        for name in ("weights", "non_zeros"):
            cells += [f"{last[name]:,}", power(fitted(tokens, [row[name] for row in rows]))]
        lines.append([component, corpus, *cells])
    header = ["component", "corpus", "tokens T", "all weights", "fit", "not zero", "fit"]
    return table(header, lines, 3)


def rates_table(traffic: Sequence[Row]) -> str:
    """Seconds of each kind of work."""
    lines = []
    for component, solver in dict.fromkeys((row["component"], row["solver"]) for row in traffic):
        costs = of_blocks(traffic, component, solver)
        rates = [costs.token * 1e6, costs.entry * 1e9, costs.driver_entry * 1e9, costs.driver_weight * 1e9]
        lines.append([component, solver, *(f"{rate:.2f}" if rate < 10 else f"{rate:.0f}" for rate in rates)])
    header = ["component", "solver", "worker, µs a token", "worker, ns an entry"]
    return table([*header, "driver, ns an entry", "driver, ns a weight"], lines, 2)


def megabytes(entries: float) -> str:
    """Of so many entries."""
    size = entries * ENTRY_BYTES / 1e6
    return f"{size:,.1f}" if size < 10 else f"{size:,.0f}"


def traffic_table(traffic: Sequence[Row]) -> str:
    """Measured beside modelled bytes, and epochs."""
    lines = []
    for row in traffic:
        costs = of_blocks(traffic, row["component"], row["solver"])
        tokens, workers = row["tokens"], row["workers"]
        pairs = (row["up"], entries_up(costs, tokens, workers)), (row["down"], entries_down(costs, tokens, workers))
        cells = [f"{megabytes(measured)} / {megabytes(modelled)}" for measured, modelled in pairs]
        epochs = f"{row['epochs']} / {costs.epochs(workers):.1f}" if row["epochs"] else "–"
        lines.append([row["component"], row["solver"], f"{workers}", *cells, epochs])
    return table(["component", "solver", "workers", "MB to the driver", "MB to the workers", "epochs"], lines, 2)


def check_table(traffic: Sequence[Row], checks: Sequence[Row], transport: Row) -> str:
    """Measured seconds of an epoch beside predicted ones."""
    lines = []
    for row in checks:
        costs = of_blocks(traffic, row["component"], "dcd")
        predicted = on_this_machine(costs, row, transport)
        network = "none" if row["megabits"] is None else f"{row['megabits']} Mbit/s, {row['latency'] * 1e3:.0f} ms"
        figures = [f"{part:.2f}" for part in (*predicted, predicted.total, row["seconds"])]
        lines.append(
            [row["component"], f"{row['workers']}", network, *figures, f"{predicted.total / row['seconds']:.2f}"]
        )
    header = ["component", "workers", "delays", "workers, s", "driver, s", "bytes, s", "calls, s"]
    return table([*header, "predicted, s", "measured, s", "ratio"], lines, 3)


def on_this_machine(costs: Costs, row: Row, transport: Row) -> Seconds:
    """The prediction for workers that are processes of one machine, which takes time to hand on bytes, too."""
    bandwidth = math.inf if row["megabits"] is None else row["megabits"] * 1e6 / 8
    network = Network(1 / (1 / bandwidth + transport["byte"]), row["latency"] + transport["call"])
    return star(costs, network, row["tokens"], row["workers"], row["cores"])


def size_table(costs: Costs) -> str:
    """What travels in an epoch by the size of w."""
    lines = []
    for size in SIZES:
        tokens = (size / costs.up.factor) ** (1 / costs.up.exponent)
        cells = [rounded(tokens), rounded(costs.weights(tokens)), f"{size * ENTRY_BYTES / 1e9:,.2f}"]
        for workers in (2, 8, 64):
            n_bytes = ENTRY_BYTES * (entries_up(costs, tokens, workers) + entries_down(costs, tokens, workers))
            cells.append(f"{n_bytes / 1e9:,.2f} ({clock(n_bytes / GIGABIT)})")
        reduced = all_reduce(costs, Network(GIGABIT, 0.0), tokens, 64).transfer
        lines.append([f"10^{math.log10(size):.0f}", *cells, f"{reduced * GIGABIT / 1e9:,.2f} ({clock(reduced)})"])
    header = ["not zero", "tokens", "all weights", "one vector, GB", "2 workers, GB", "8 workers, GB", "64 workers, GB"]
    return table([*header, "64 by all-reduce, GB a machine"], lines)


def rounded(number: float) -> str:
    """To one digit, as a multiple of a power of ten."""
    digit, _, exponent = f"{number:.0e}".partition("e")
    return f"{digit} · 10^{int(exponent)}"


def clock(seconds: float) -> str:
    """In a unit that suits."""
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def best_table(rules: dict[str, Costs], epoch: Callable[[Costs, Network, float, int], Seconds]) -> str:
    """The number of workers that each rule pays for, by tokens, and how many times as fast as alone it then is."""
    lines = []
    for name, network in (("1 Gbit/s, 1 ms", NEAR), ("100 Mbit/s, 20 ms", FAR)):
        for rule, costs in rules.items():
            cells = []
            for tokens in TOKENS:
                found = best(
                    lambda workers, costs=costs, network=network, tokens=tokens: run_seconds(
                        costs, workers, epoch(costs, network, tokens, workers)
                    ),
                    alone_seconds(costs, tokens),
                )
                cells.append(f"{found.workers:,} ({found.speedup:.1f}×)" if found.speedup >= 1.05 else "alone")
            lines.append([name, rule, *cells])
    return table(["network", "rule", *(f"10^{math.log10(tokens):.0f}" for tokens in TOKENS)], lines, 2)


def annotation_table(annotating: Row) -> str:
    """Bulk annotation: workers that one driver keeps busy, and the time of a run with them."""
    lines = []
    for name, bandwidth in (("1 Gbit/s", NEAR.bandwidth), ("100 Mbit/s", FAR.bandwidth)):
        for kind, cut, text in ((".txt", "cut", annotating["text"]), (".spacy", "cut_docs", 0.0)):
            costs = Annotating(annotating["token"], annotating[cut], text)
            workers = annotating_workers(costs, bandwidth)
            hours = [clock(tokens * costs.token / workers) for tokens in TOKENS]
            lines.append([name, kind, f"{workers:,.0f}", *hours])
    return table(["link", "files", "workers", *(f"10^{math.log10(tokens):.0f}" for tokens in TOKENS)], lines, 2)


def pages(metrics: Path) -> Iterator[tuple[str, str]]:
    """Each table with its title."""
    growth, traffic = read(metrics, "growth"), read(metrics, "traffic")
    (transport,), (annotating,) = read(metrics, "transport"), read(metrics, "annotating")
    yield "Growth", growth_table(growth)
    yield "Rates", rates_table(traffic)
    yield "Traffic and epochs, measured / model", traffic_table(traffic)
    yield "Check", check_table(traffic, read(metrics, "checks"), transport)
    alone = {(row["component"], row["solver"]): row["token"] for row in read(metrics, "alone")}
    blocks = of_blocks(traffic, *DUAL_STEPS, alone[DUAL_STEPS])
    yield "Bytes of an epoch", size_table(blocks)
    rules = {
        "dual steps": bounded(blocks),
        "parameter mixing": bounded(of_blocks(traffic, *MIXING, alone[MIXING])),
        "sums of planes": bounded(of_sums(blocks, growth, "tagger", "oracles", "planes")),
        "sums of marginals": bounded(of_sums(blocks, growth, "tagger", "marginals", "gradient")),
    }
    yield "Workers that pay", best_table(rules, star)
    sparse = {name: sparse_driver(costs) for name, costs in rules.items()}
    yield "The same without dense vectors at the driver", best_table(sparse, star)
    yield "The same with an all-reduce", best_table(rules, all_reduce)
    yield "Annotation", annotation_table(annotating)


def with_tables(page: str, tables: Sequence[str]) -> str:
    """The page with these tables in place of its own.

    Raises:
        ValueError: it has fewer tables, or more.
    """
    # What the group matches is at the odd places.
    parts = re.split(r"((?:^\|.*\n)+)", page, flags=re.MULTILINE)
    if len(parts) // 2 != len(tables):
        raise ValueError(f"the page has {len(parts) // 2} tables, not {len(tables)}")
    parts[1::2] = [f"{text}\n" for text in tables]
    return "".join(parts)


def main() -> None:
    metrics, *page = map(Path, sys.argv[1:])
    found = pages(metrics)
    if page:
        page[0].write_text(with_tables(page[0].read_text("utf8"), [text for _, text in found]), "utf8")
    else:
        print("\n".join(f"## {title}\n\n{text}\n" for title, text in found))


if __name__ == "__main__":
    main()
