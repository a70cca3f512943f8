"""The model of what several workers cost, in `projects/distributed`, against arithmetic by hand."""

import importlib
import math
import sys
import time
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from ..corpora import ROOT

PROJECT = ROOT / "projects" / "distributed"
METRICS = PROJECT / "metrics"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a module of the project, which shares the name of its package with those of other projects."""
    pytest.importorskip("scipy")
    for name in [name for name in sys.modules if name.split(".")[0] == "scripts"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(PROJECT)
    yield lambda name: importlib.import_module(f"scripts.{name}")
    for name in [name for name in sys.modules if name.split(".")[0] == "scripts"]:
        del sys.modules[name]


@pytest.fixture
def costs(script: Any) -> Any:
    return script("costs")


def of(costs: Any, **others: Any) -> Any:
    """Round figures: 4 tokens a second, a vector of as many entries as tokens, twice as many back from two workers."""
    law, one = costs.PowerLaw, costs.PowerLaw(1.0, 0.0)
    given = {"alone": 0.125, "token": 0.25, "entry": 0.0, "driver_entry": 0.125, "driver_weight": 0.5}
    given |= {"up": law(1.0, 1.0), "weights": law(3.0, 1.0), "back": law(1.0, 1.0), "union": law(1.0, 0.5)}
    return costs.Costs(**{**given, "epochs": one, "rounds": 2, **others})


def test_an_epoch_by_hand(costs: Any) -> None:
    found = costs.star(of(costs), costs.Network(12.0, 0.5), 8, 2)
    # Up 4 entries each, down 8 each, 24 in all; a dense vector of 24 weights.
    assert found == (8 * 0.25 / 2, 24 * 0.125 + 24 * 0.5, 24 * 12 / 12.0, 2 * 0.5)
    assert found.total == 1.0 + 15.0 + 24.0 + 1.0
    # From four workers on, a worker gets all weights that it reads: 6 entries up to each 2 of it.
    assert costs.entries_up(of(costs), 8, 4) == 8 and costs.entries_down(of(costs), 8, 4) == 24


def test_several_workers_with_momentum_send_two_vectors(costs: Any) -> None:
    model, network = of(costs, vectors=2), costs.Network(12.0, 0.5)
    assert [costs.entries_up(model, 8, workers) for workers in (1, 2)] == [8, 16]
    assert costs.entries_down(model, 8, 2) == costs.entries_down(of(costs), 8, 2)
    assert costs.all_reduce(model, network, 8, 4).transfer == 2 * costs.all_reduce(of(costs), network, 8, 4).transfer


def test_workers_without_a_core_of_their_own_wait(costs: Any) -> None:
    model, network = of(costs, entry=0.5), costs.Network(math.inf, 0.0)
    two, four = (costs.star(model, network, 8, workers, cores=2) for workers in (2, 4))
    assert (two.workers, four.workers) == ((2 + 24 * 0.5) / 2, (2 + 32 * 0.5) / 2)
    assert costs.star(model, network, 8, 4).workers == four.workers / 2


def test_an_all_reduce_by_hand(costs: Any) -> None:
    found = costs.all_reduce(of(costs), costs.Network(12.0, 0.5), 8, 4)
    # The sum has 8 · √4 = 16 entries.
    assert found == (8 * 0.25 / 4, 0.75 * 16 * 0.125, 2 * 0.75 * 16.0, 2 * 0.5)
    alone = costs.all_reduce(of(costs), costs.Network(12.0, 0.5), 8, 1)
    assert alone == (2.0, 0.0, 0.0, 0.0)


def test_time_falls_with_the_network_and_rises_with_tokens(costs: Any) -> None:
    model = of(costs)
    for epoch in (costs.star, costs.all_reduce):
        by_bandwidth = [epoch(model, costs.Network(10.0**k, 0.1), 1e4, 8).total for k in range(1, 8)]
        by_latency = [epoch(model, costs.Network(1e3, latency), 1e4, 8).total for latency in (0.0, 0.1, 1.0)]
        by_tokens = [epoch(model, costs.Network(1e3, 0.1), 10.0**k, 8).total for k in range(1, 8)]
        assert all(a > b for a, b in pairwise(by_bandwidth))
        assert all(a < b for figures in (by_latency, by_tokens) for a, b in pairwise(figures))


def test_transfer_by_a_star_grows_with_workers_and_an_all_reduce_stays_below_two_sums(costs: Any) -> None:
    model = of(costs, union=costs.PowerLaw(1.0, 0.0), up=costs.PowerLaw(1.0, 0.7))
    network = costs.Network(12.0, 0.0)
    numbers = [2, 4, 8, 16, 1000]
    star = [costs.star(model, network, 1e6, workers).transfer for workers in numbers]
    ring = [costs.all_reduce(model, network, 1e6, workers).transfer for workers in numbers]
    assert all(a < b for a, b in pairwise(star)) and star[-1] > 10 * star[0]
    assert all(a < b for a, b in pairwise(ring)) and ring[-1] < 2 * model.up(1e6)


def test_more_workers_stop_paying_where_the_driver_takes_longer_than_they_save(costs: Any) -> None:
    # a / K + b K is least at √(a / b), and a tenth above that where K is x times as large, x + 1 / x = 2.2.
    found = costs.best(lambda workers: 1e6 / workers + 1.0 * workers, alone=1e6)
    assert found.workers == pytest.approx(1000 * (1.1 - math.sqrt(1.1**2 - 1)), rel=0.02)
    assert found.speedup == pytest.approx(500 / 1.1, rel=0.01)
    never = costs.best(lambda workers: 1.0 + workers, alone=1.0)
    assert never == (1, 0.5)
    always = costs.best(lambda workers: 1.0 / workers, alone=1.0)
    assert always.workers == pytest.approx(costs.MAX_WORKERS / 1.1, rel=0.02)
    # With a faster driver, more workers pay.
    numbers = [costs.best(lambda workers, b=b: 1e6 / workers + b * workers, 1e6).workers for b in (100.0, 1.0, 0.01)]
    assert all(a < b for a, b in pairwise(numbers))


def test_epochs_that_grow_with_workers_count(costs: Any) -> None:
    model = of(costs, epochs=costs.PowerLaw(6.0, 0.5))
    assert costs.run_seconds(model, 4, costs.Seconds(1.0, 0.5, 0.25, 0.25)) == 6 * 2 * 2.0
    assert costs.alone_seconds(model, 8) == 6 * 8 * 0.125


def test_fits_find_what_made_the_figures(costs: Any) -> None:
    law = costs.PowerLaw(40.0, 0.7)
    found = costs.fitted([1e3, 1e4, 1e6], [law(1e3), law(1e4), law(1e6)])
    assert (found.factor, found.exponent) == pytest.approx((40.0, 0.7))
    assert replace(law, limit=100.0)(1e9) == 100.0
    parts = [(1e6, 2e3), (1e6, 9e3), (2e6, 1e3)]
    seconds = [a * 2e-6 + b * 3e-4 for a, b in parts]
    assert costs.shares(parts, seconds) == pytest.approx([2e-6, 3e-4])
    assert costs.shares([(1.0, 1.0), (1.0, 2.0)], [2.0, 1.0])[1] == 0.0


def test_annotation_is_as_fast_as_the_slowest_of_workers_driver_and_link(costs: Any) -> None:
    model = costs.Annotating(token=1e-2, cut=1e-4, text=5.0)
    assert costs.annotation_seconds(model, 1e5, 1000, 4) == pytest.approx(1000 * 1e-2 / 4)
    assert costs.annotating_workers(model, 1e5) == pytest.approx(100)
    assert costs.annotating_workers(model, 1e4) == pytest.approx(20)
    assert costs.annotation_seconds(model, 1e4, 1000, 20) == costs.annotation_seconds(model, 1e4, 1000, 4000)


def test_a_simulated_network_takes_as_long_as_the_messages_travel(script: Any) -> None:
    costs, simulated = script("costs"), script("simulated_network")
    message = (3, np.zeros(5000), [np.zeros(1000)])
    assert simulated.size(message) == 48_000
    calls = [lambda method, given: given[0]] * 3
    way = simulated.SimulatedNetwork(calls)
    for network in (costs.Network(1e6, 0.02), costs.Network(4e6, 0.0)):
        way.network = network
        begin = time.perf_counter()
        results = way.send("back", [(np.full(5000, worker),) for worker in range(3)])()
        seconds = time.perf_counter() - begin
        assert [result[0] for result in results] == [0, 1, 2]
        # All go through one link; the last result leaves after the last message has come.
        least = 3 * 40_000 / network.bandwidth + 40_000 / network.bandwidth + network.latency
        assert least <= seconds < least + 3 * 40_000 / network.bandwidth + 0.5


def test_tables_of_the_page_are_those_of_the_metrics(script: Any) -> None:
    tables = script("costs_tables")
    page = (PROJECT.parents[1] / "docs" / "scale.md").read_text("utf8")
    assert tables.with_tables(page, [text for _, text in tables.pages(METRICS)]) == page
    with pytest.raises(ValueError, match=r"tables, not 1"):
        tables.with_tables(page, ["| a |"])
