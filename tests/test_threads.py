"""Threads over parts of a batch: order, errors, shares."""

from itertools import chain
from threading import Barrier, get_ident

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm import threads
from spacy_ssvm.threads import checked_threads, in_threads, read_ahead, shares, worked_ahead


def test_parts_are_worked_on_at_the_same_time():
    """Each part waits for the other: one thread would wait for ever."""
    meet = Barrier(2, timeout=30)

    def work(part):
        meet.wait()
        return -part

    assert in_threads(2, work, [1, 2]) == [-1, -2]


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_parts(n_threads):
    assert in_threads(n_threads, str, range(20)) == [str(part) for part in range(20)]
    assert in_threads(n_threads, str, []) == []


@pytest.mark.parametrize("n_threads", [1, 3])
def test_errors_are_raised_where_the_threads_are_started(n_threads):
    with pytest.raises(ZeroDivisionError):
        in_threads(n_threads, lambda part: 1 // part, [1, 0, 2])


def test_the_calling_thread_reads_all_parts_and_works_beside_the_others():
    meet, readers, workers = Barrier(2, timeout=30), set(), set()

    def read(part):
        readers.add(get_ident())

        def work():
            workers.add(get_ident())
            meet.wait()
            return -part

        return work

    assert list(read_ahead(2, read, [1, 2])) == [-1, -2]
    assert readers == {get_ident()} < workers


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_threads_are_ahead_of_the_caller_by_a_few_parts_only(n_threads):
    begun = []

    def work(part):
        begun.append(part)
        return str(part)

    results = []
    for number, result in enumerate(worked_ahead(n_threads, work, range(20), 3)):
        assert max(begun) <= number + 3
        results.append(result)
    assert results == [str(part) for part in range(20)]
    assert list(worked_ahead(n_threads, work, [], 3)) == []


def test_the_caller_works_beside_the_threads():
    meet = Barrier(2, timeout=30)
    results = worked_ahead(2, lambda part: part or meet.wait(), [1, 0], 2)
    assert next(results) == 1
    meet.wait()
    assert next(results) in (0, 1)


@given(st.lists(st.text(max_size=9), max_size=40), st.integers(1, 5))
def test_shares_are_the_whole_batch_in_about_equal_parts(texts, n_threads):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "MIN_SHARE", 10)
        parts = shares(texts, n_threads)
    assert list(chain.from_iterable(parts)) == texts
    lengths = [sum(map(len, part)) for part in parts]
    n_parts = 1 if n_threads == 1 else threads.PARTS_OF_A_THREAD * n_threads
    assert len(parts) <= max(1, min(n_parts, sum(lengths) // 10))
    assert max(lengths) <= sum(lengths) / len(parts) + 9 * len(parts)


@pytest.mark.parametrize("n_threads, n_texts", [(2, 10), (3, 9), (3, 20), (5, 4)])
def test_no_thread_gets_more_parts_than_others(n_threads, n_texts):
    texts = ["x" * threads.MIN_SHARE] * n_texts
    n_parts = len(shares(texts, n_threads))
    assert n_parts == n_texts if n_texts < n_threads else n_parts % n_threads == 0


@pytest.mark.parametrize("given_", [0, -1, 1.5, "two", None, float("nan"), float("inf")])
def test_what_is_no_number_of_threads(given_):
    with pytest.raises(ValueError, match=r"\[tagger\] n_threads must be a whole number of at least 1"):
        checked_threads("tagger", given_)


def test_numbers_of_threads_may_be_written_as_configs_do():
    assert [checked_threads("tagger", n) for n in (1, "2", 3.0)] == [1, 2, 3]
