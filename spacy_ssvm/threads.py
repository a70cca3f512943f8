"""Threads: our kernels release Python's global lock, so that they run side by side on as many cores."""

from bisect import bisect
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")
Text = TypeVar("Text", bound=Sized)

MIN_SHARE = 500
"""Tokens that are worth the fixed costs of a part."""

PARTS_OF_A_THREAD = 3
"""While threads work on some parts of a batch, the calling thread reads the next ones and uses earlier results.

Fewer parts leave threads waiting at the end. Each further one costs as much as tagging some 200 tokens, and its thread
has to wait twice for Python's global lock.
"""


def in_threads(n_threads: int, work: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """work(part) of each part, in the order of the parts, whichever thread did it and when.

    The threads live as long as the call, so that a process may fork before and after it. What `work` raises is raised
    here.
    """
    if min(n_threads, len(parts)) <= 1:
        return [work(part) for part in parts]
    # Imported here, as start-up is not to pay for what few use.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(n_threads, len(parts))) as pool:
        return list(pool.map(work, parts))


def worked_ahead(n_threads: int, work: Callable[[Part], Result], parts: Sequence[Part], ahead: int) -> Iterator[Result]:
    """work(part) of each part, in order; while the caller uses a result, threads work on the next `ahead` parts.

    A single thread works on a part when its result is asked for.
    """
    if min(n_threads, len(parts)) <= 1:
        return map(work, parts)
    return _in_order(min(n_threads, len(parts)), (partial(work, part) for part in parts), ahead)


def read_ahead(n_threads: int, read: Callable[[Part], Callable[[], Result]], parts: Sequence[Part]) -> Iterator[Result]:
    """read(part)() of each part, in order: the calling thread reads all parts, and is one of those that do the rest.

    n_threads: at least 2, with the calling one.

    For parts that are read, and results that are used, with Python's global lock held: threads that all did that would
    only be in each other's way.
    """
    return _in_order(n_threads, map(read, parts), len(parts))


def _in_order(n_threads: int, steps: Iterable[Callable[[], Result]], ahead: int) -> Iterator[Result]:
    """The results of the steps, in order; while the caller uses a result, threads work on the next `ahead` steps.

    The calling thread is one of n_threads, at least 2: more threads than cores are in each other's way. Instead of
    waiting for a result, it takes a step that no other thread has begun. An error of that step is raised at once.
    """
    from concurrent.futures import Future, ThreadPoolExecutor

    with ThreadPoolExecutor(n_threads - 1) as pool:
        tasks = deque[tuple[Callable[[], Result], Future[Result]]]()

        def first() -> Result:
            for place in range(len(tasks)):
                if tasks[0][1].done():
                    break
                step, task = tasks[place]
                if task.cancel():
                    done = Future[Result]()
                    done.set_result(step())
                    tasks[place] = step, done
            return tasks.popleft()[1].result()

        for step in steps:
            tasks.append((step, pool.submit(step)))
            if len(tasks) > ahead:
                yield first()
        while tasks:
            yield first()


def shares(texts: Sequence[Text], n_threads: int) -> list[Sequence[Text]]:
    """A batch in contiguous parts of about equal length, len() of a text, for `read_ahead`; one part for one thread."""
    if n_threads == 1:
        return [texts]
    ends = list(accumulate(map(len, texts), initial=0))
    n_parts = min(PARTS_OF_A_THREAD * n_threads, max(1, ends[-1] // MIN_SHARE))
    if n_parts > n_threads:
        # As many parts for each thread: threads with fewer would wait.
        n_parts -= n_parts % n_threads
    cuts = [0, *(bisect(ends, ends[-1] * k // n_parts) - 1 for k in range(1, n_parts)), len(texts)]
    return [texts[first:end] for first, end in pairwise(cuts) if first < end] or [texts]


def checked_threads(name: str, n_threads: Any) -> int:
    """The number of threads that a config gives the component of this name.

    Raises:
        ValueError: it is no whole number of at least 1.
    """
    try:
        found = float(n_threads)
    except (TypeError, ValueError):
        found = 0.0
    if not found >= 1 or not found.is_integer():
        raise ValueError(f"[{name}] n_threads must be a whole number of at least 1, not {n_threads!r}")
    return int(found)
