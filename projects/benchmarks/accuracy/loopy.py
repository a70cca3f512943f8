"""How near loopy belief propagation comes to the truth, by enumeration, on random sentences of 3 to 6 tokens.

Each token has up to `candidates` heads, the token before among them; all siblings and grandparents are listed. Arcs'
scores are normal with deviation `scale`, pairs' with `pairs` times that. Columns, means over the instances: MAP, the
share of decoded trees that are the best; first, the same of the first-order decoder, which ignores pairs; lost, the
best score less the decoded one, in units of `scale`; |Δp| and max |Δp|, absolute error of the arcs' marginals, mean and
largest of an instance; |ΔlogZ|, error of the Bethe estimate; converged, the share of instances; rounds.
"""

import argparse

import numpy as np
from numba import njit

from spacy_ssvm.structures.tree.loopy import loopy_decode, loopy_marginals
from spacy_ssvm.structures.tree.parts import NONE, Parts, dense_scores, score_tree
from spacy_ssvm.structures.tree.spanning import maximum_spanning_tree


@njit
def is_tree(heads, multi_root):
    for m in range(1, len(heads)):
        node, steps = m, 0
        while node != 0:
            node, steps = heads[node], steps + 1
            if steps == len(heads):
                return False
    return multi_root or np.sum(heads[1:] == 0) == 1


@njit
def enumerate_trees(parts, multi_root, marginals):
    """Every choice of a candidate head for each token; the best score of a tree, the log-partition, the marginals."""
    n = len(parts.number) - 1
    choice, end = np.searchsorted(parts.modifiers, np.arange(n + 2)), np.zeros(n + 2, np.int64)
    end[:-1] = choice[1:]
    begin = choice.copy()
    heads = np.full(n + 1, -1, np.int32)
    best, total = -np.inf, 0.0
    marginals[:] = 0.0
    m = 0
    while m <= n:
        for token in range(1, n + 1):
            heads[token] = parts.heads[choice[token]]
        if is_tree(heads, multi_root):
            score = score_tree(parts, heads)
            if score > best:
                marginals *= np.exp(best - score)
                total *= np.exp(best - score)
                best = score
            weight = np.exp(score - best)
            total += weight
            for token in range(1, n + 1):
                marginals[choice[token]] += weight
        m = 1
        while m <= n:
            choice[m] += 1
            if choice[m] < end[m]:
                break
            choice[m] = begin[m]
            m += 1
    marginals /= total
    return best, best + np.log(total)


def random_parts(rng: np.random.Generator, n: int, candidates: int, scale: float, pairs: float) -> Parts:
    """The parts of one instance."""
    number = np.full((n + 1, n + 1), NONE, np.int32)
    for m in range(1, n + 1):
        others = np.setdiff1d(np.arange(n + 1), [m - 1, m])
        number[[m - 1, *rng.permutation(others)[: candidates - 1]], m] = 0
    modifiers, heads = (nodes.astype(np.int32) for nodes in np.nonzero(number.T == 0))
    number[heads, modifiers] = np.arange(len(heads))
    siblings, grands = [], []
    for h, m in zip(heads, modifiers):
        inner = number[h, min(h, m) + 1 : max(h, m)]
        siblings.append([NONE, *inner[inner != NONE]])
        above = np.delete(number[:, h], m) if h > 0 else np.empty(0, np.int32)
        grands.append(above[above != NONE])
    flat, grand = np.concatenate(siblings).astype(np.int32), np.concatenate(grands).astype(np.int32)
    return Parts(
        number,
        heads,
        modifiers,
        rng.normal(0.0, scale, len(heads)),
        np.cumsum([0, *map(len, siblings)]),
        flat,
        rng.normal(0.0, pairs * scale, len(flat)),
        np.cumsum([0, *map(len, grands)]),
        grand,
        rng.normal(0.0, pairs * scale, len(grand)),
    )


def measure(parts: Parts, scale: float, multi_root: bool, iterations: int, tolerance: float) -> tuple[float, ...]:
    """One instance's figures, in the order of the columns."""
    truth, beliefs = np.zeros(len(parts.heads)), np.zeros(len(parts.heads))
    best, log_partition = enumerate_trees(parts, multi_root, truth)
    heads = np.zeros(len(parts.number), np.int32)
    maximum_spanning_tree(dense_scores(parts), multi_root, heads)
    first = score_tree(parts, heads)
    score = loopy_decode(parts, multi_root, iterations, tolerance, heads)
    estimate, rounds, converged = loopy_marginals(parts, multi_root, 50, 1e-4, beliefs)
    near = best - 1e-9 * (1.0 + abs(best))
    error = np.abs(beliefs - truth)
    return (
        score >= near,
        first >= near,
        (best - score) / scale,
        error.mean(),
        error.max(),
        abs(estimate - log_partition),
        converged,
        rounds,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=300)
    parser.add_argument("--candidates", type=int, default=4)
    parser.add_argument("--pairs", type=float, default=0.5)
    parser.add_argument("--iterations", type=int, default=10, help="rounds of the decoder at most")
    parser.add_argument("--tolerance", type=float, default=1e-3, help="of the decoder")
    parser.add_argument("--multi-root", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print("tokens  scale    MAP  first   lost    |Δp|  max |Δp|  |ΔlogZ|  converged  rounds")
    for n in range(3, 7):
        for scale in (0.3, 1.0, 3.0, 10.0):
            rng = np.random.default_rng(args.seed)
            figures = [
                measure(
                    random_parts(rng, n, args.candidates, scale, args.pairs),
                    scale,
                    args.multi_root,
                    args.iterations,
                    args.tolerance,
                )
                for _ in range(args.instances)
            ]
            exact, first, lost, error, largest, partition, converged, rounds = np.mean(figures, axis=0)
            print(
                f"{n:6d} {scale:6.1f} {exact:6.3f} {first:6.3f} {lost:6.3f} {error:7.4f} {largest:9.4f}"
                f" {partition:8.4f} {converged:10.2f} {rounds:7.1f}"
            )


if __name__ == "__main__":
    main()
