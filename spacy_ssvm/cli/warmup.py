"""`spacy ssvm warmup`: compiles all kernels before their first use, for Docker images and before forking."""

import logging
import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import fields
from functools import partial
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from threading import Thread
from typing import Annotated, Any, TypeAlias

import numpy as np
import spacy
import typer
from spacy.cli._util import string_to_list
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from wasabi import msg

from ..clustering import brown_classes, exchange_classes
from ..clustering.brown import MIN_WINDOW
from ..corpus.jackknife import Jackknife
from ..distributed.messages import SparseVector
from ..distributed.rules import rule_of
from ..distributed.rules.dual import DualBlock, DualSettings, dual_objective
from ..distributed.rules.rule import BlockParts, LearningBlock
from ..features.index import empty_table, grown
from ..kernels import CacheStatistics, cache_statistics
from ..models.tree.scores import N_ARC_ROWS, describe_grand
from ..registry import ssvm_solvers
from ..solvers.sap import Sap
from ..solvers.working_set import empty, trim
from ..structures import FORBIDDEN
from ..structures.chain.pruning import MANY
from ..structures.chain.scored import ChainScores, TransitionScores
from .reading import failing
from .settings import registered_solver

ALWAYS = {"kappa1": 0, "check_oracle": True}
"""Settings, for all solvers with them, that run kernels which the defaults run late or never."""
ALTERNATIVES: dict[str, Sequence[dict[str, Any]]] = {
    "spacy-ssvm.MIRA.v1": [{"k": 2}],
    "spacy-ssvm.PredictionMIRA.v1": [{"k": 2}],
    "spacy-ssvm.SGD.v1": [{"beta": 1.0}],
    "spacy-ssvm.DCA.v1": [{"beta": "inf"}],
    "spacy-ssvm.SAP.v1": [{"nu": 1.0}, {"batch": True}],
}
"""Settings with which a solver runs other kernels than with its defaults."""
NEEDED = {"spacy-ssvm.LBFGS.v1": "scipy"}
"""The package of an extra that a solver needs; without the package, its kernels are not compiled."""
SCORED = ("scored_tags", "scored_lemmas", "scored_ents", "scored_starts", "scored_parses")
WRONG = "wrong"
"""The key in doc.spans of incorrect entities."""
LIMITS = [{"patterns": [[{"LOWER": "more"}]], "forbid": ["ROOT"]}]
"""Rules of the parser, which match in the last sentence only."""
STRUCTURES = [("projective", 3), ("nonprojective", 2), ("projective", 2), ("nonprojective", 1)]
"""The structures of trees besides order 1, which every solver can learn; the default comes first."""
MANY_LABELS = ["POS=X", *(f"Kind={number:02}|POS=X" for number in range(64))]
"""So many that some are left out before decoding."""
WITH_PROBABILITIES = {"@ssvm_solvers": "spacy-ssvm.SGD.v1", "beta": 1.0}
DCD = {"@ssvm_solvers": "spacy-ssvm.DCD.v1"}
MAX_PROCESSES = 16
"""The maximum number of processes: more would wait for each other's kernels, and each needs some 300 MB."""
KINDS = ("hits", "misses")
Job: TypeAlias = tuple[Callable[..., None], tuple[Any, ...]]
"""A function that a process runs, and its arguments."""


def warmup(
    only: Collection[str] = (), report: Callable[[int, int], None] = lambda done, jobs: None
) -> list[CacheStatistics]:
    """Train, save, load, correct and run every component with every solver on three sentences, on all cores.

    only: the registered names of some solvers, to train and predict with by default settings only. report: called after
        each job with the number of jobs that are done and the number of all jobs.

    Returns the cache statistics of all kernels in all processes: which were loaded from disk, and which were compiled.
    """
    before = _counts()
    grown(empty_table(), 1 << 17)  # In this process, so that it tells once what stands against keeping kernels.
    counts = _counts() - before
    jobs = list(_jobs(only))
    # One more than cores, for when one waits for what another compiles.
    with ProcessPoolExecutor(min(1 + (os.cpu_count() or 1), MAX_PROCESSES), initializer=_be_quiet) as pool:
        for done, finished in enumerate(as_completed([pool.submit(_counted, *job) for job in jobs]), 1):
            counts.update(finished.result())
            report(done, len(jobs))
    names = sorted({name for name, _ in counts})
    return [CacheStatistics(name, *(counts[name, kind] for kind in KINDS)) for name in names]


@failing("Nothing was compiled")
def warmup_command(
    solver: Annotated[
        str, typer.Option("--solver", "-s", help="Comma-separated solvers, such as dcd,sap; all if there are none")
    ] = "",
) -> None:
    """Compile the kernels of every component and solver, on all cores, or load them from the disk cache.

    With --solver, only those that components with these solvers train and predict with by default.
    """
    started = time.perf_counter()
    only = [registered_solver(name) for name in string_to_list(solver)]
    statistics = warmup(only, _show if sys.stdout.isatty() else lambda done, jobs: None)
    compiled = sum(kernel.misses for kernel in statistics)
    what = f"Compiled {compiled:,} kernels" if compiled else "No kernel was left to compile"
    msg.good(f"{what} ({time.perf_counter() - started:.1f} s)")


def _show(done: int, jobs: int) -> None:
    print(f"\rCompiling kernels: {done} of {jobs} parts done", end="\n" if done == jobs else "", flush=True)


def _be_quiet() -> None:
    """In processes whose solvers reach their tolerance at once and whose tokens lack labels on purpose."""
    logging.getLogger("spacy").disabled = True
    logging.getLogger("spacy.ssvm").disabled = True
    warnings.simplefilter("ignore")


def _jobs(only: Collection[str]) -> Iterator[Job]:
    """Trees and sequences in turns: they share few kernels, and so wait little for each other. Long jobs go first."""
    everything = not only
    solvers = [block for name in only or ssvm_solvers.get_all() for block in _blocks(name, everything)]
    structures = STRUCTURES if everything else STRUCTURES[:1]
    trees: list[Job] = [(_run_trees, (DCD, structure, order, everything)) for structure, order in structures]
    trees += [(_run_trees, (WITH_PROBABILITIES, "nonprojective", 1, everything))] if everything else []
    trees += [(_run_trees, (block, "projective", 1, everything)) for block in solvers]
    sequences: list[Job] = [(_run_sequences, (block, everything)) for block in solvers]
    for pair in zip_longest(trees, sequences):
        yield from (job for job in pair if job)
    yield _run_late, ()
    if everything:
        yield _run_clusters, ()
        yield _run_state, ()
        yield _run_rarities, ()


def _blocks(name: str, everything: bool) -> Iterator[dict[str, Any]]:
    """A solver's blocks of the config: by default or, if wanted, with all settings that run other kernels."""
    solver = ssvm_solvers.get(name)
    if not everything:
        yield {"@ssvm_solvers": name}
        return
    if name in NEEDED and find_spec(NEEDED[name]) is None:
        return
    for settings in ({}, *ALTERNATIVES.get(name, [])):
        known = {field.name for field in fields(solver(**settings))}
        always = {key: value for key, value in ALWAYS.items() if key in known}
        yield {"@ssvm_solvers": name, **always, **settings}


def _counted(job: Callable[..., None], arguments: tuple[Any, ...]) -> Counter[tuple[str, str]]:
    """Run a job, and count how often it loads ("hits") and compiles ("misses") each kernel."""
    before = _counts()
    job(*arguments)
    return _counts() - before


def _counts() -> Counter[tuple[str, str]]:
    return Counter({(kernel.name, kind): getattr(kernel, kind) for kernel in cache_statistics() for kind in KINDS})


def _run_sequences(solver: dict[str, Any], everything: bool) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("ssvm_senter", config={"solver": solver})
    nlp.add_pipe("ssvm_tagger", config={"solver": solver})
    nlp.add_pipe("ssvm_morphologizer", config={"solver": solver})
    nlp.add_pipe("ssvm_lemmatizer", config={"solver": solver, "min_tree_freq": 1})
    with tempfile.TemporaryDirectory() as folder:
        given: dict[str, Any] = {}
        if everything:
            nlp.config["initialize"]["components"] = {"ssvm_morphologizer": {"labels": MANY_LABELS}}
            phrases = Path(folder) / "phrases.txt"
            phrases.write_text("an example\n", encoding="utf8")
            features = {
                "@ssvm_features": "spacy-ssvm.NerFeatures.v1",
                "gazetteers": {"phrases": str(phrases)},
                "document": True,
            }
            model = {"@architectures": "spacy-ssvm.Chain.v1", "features": features}
            given = {"model": model, "incorrect_spans_key": WRONG}
        nlp.add_pipe("ssvm_ner", config={"solver": solver, **given})
        _run(nlp, everything)


def _run_trees(solver: dict[str, Any], structure: str, order: int, everything: bool) -> None:
    nlp = spacy.blank("en")
    arcs = {"@ssvm_features": "spacy-ssvm.ParserFeatures.v1", "hash_bits": 8, "label_hash_bits": 8}
    model = {"@architectures": "spacy-ssvm.Tree.v1", "structure": structure, "order": order, "margin": 0.0}
    limits = LIMITS if everything else []
    nlp.add_pipe("ssvm_parser", config={"solver": solver, "model": {**model, "features": arcs}, "patterns": limits})
    _run(nlp, everything)


def _run_clusters() -> None:
    # More words than a window has places.
    sentences = [[chr(0x4E00 + k), "example"] for k in range(2 * MIN_WINDOW)]
    for learn in (brown_classes, exchange_classes):
        learn(sentences, n_classes=2, min_count=1)


def _run_late() -> None:
    """Compile kernels that three sentences do not reach: of working sets that are closed up, and of jackknifed tags."""
    trim(empty(1))
    vocab = spacy.blank("en").vocab
    Jackknife([Doc(vocab, words=["one"])] * 2, 2, 0).predict(np.ones(2, np.uint64), "tags")


def _run_state() -> None:
    """A solver that goes on from its saved state."""
    nlp = spacy.blank("en")
    pipe: Any = nlp.add_pipe("ssvm_tagger", config={"solver": DCD, "save_solver_state": True})
    examples = [_example(nlp.vocab, ["One", "example"], 0)]
    nlp.initialize(lambda: examples)
    pipe.update(examples)
    pipe.from_bytes(pipe.to_bytes())
    pipe.update(examples)


def _run_rarities() -> None:
    """Many jackknifed tags, sums over scores far apart, reasons with grandparents, a common step of workers without a
    closed form, and arrays in files."""
    from ..kernels.mapped_arrays import map_large_arrays

    many = np.arange(1, 2 * MANY + 1, dtype=np.uint64)
    Jackknife([Doc(spacy.blank("en").vocab, words=["one"] * MANY)] * 2, 2, 0).predict(many, "tags")
    same = TransitionScores(np.where(np.eye(2) == 1.0, 0.0, FORBIDDEN), np.zeros(2), np.zeros(2))
    ChainScores(1e4 * np.eye(2), same).marginals(1.0)
    describe_grand(np.zeros((N_ARC_ROWS, 1), np.int64), 0, 0, 1, 2)
    along = SparseVector(np.zeros(1, np.int32), np.ones(1))
    dual_objective(Sap()).best_step(np.zeros(1), along, 1.0, 0.0, 0.0, 1.0)
    with tempfile.TemporaryDirectory() as folder:
        # It holds for the thread that calls it, and its arrays would go with the folder.
        thread = Thread(target=map_large_arrays, args=(Path(folder),))
        thread.start()
        thread.join()


def _run(nlp: Language, everything: bool) -> None:
    sentences: list[list[str | None]] = [["An", "example", "of", "four"], ["Another", None], ["One", "more"]]
    # The first pass learns from two sentences, and drops the heads of the third one.
    examples = [_example(nlp.vocab, words, root) for words, root in zip(sentences, [0, 0, 1])]
    nlp.initialize(partial(list, examples[:2]))
    nlp.update(examples[:2])
    nlp.update(examples)
    doc = examples[0].predicted
    for name in nlp.pipe_names:
        pipe: Any = nlp.get_pipe(name)
        pipe.certificate()
        if everything:
            _run_block(pipe.solver, pipe.problem())
        pipe.predict([doc])
        pipe.predict([examples[-1].predicted])
        pipe.from_bytes(pipe.to_bytes())
        # By the weights of a file, which learning replaces.
        pipe.predict([doc])
        pipe.update(examples)
        for _ in range(2):  # In the second epoch, the examples with new labels are remembered.
            pipe.update([_example(nlp.vocab, ["Something", "new"], 0, "NEW")])
        pipe.predict([doc])
        if not everything:
            continue
        with suppress(ValueError):  # the structure is not decoded exactly
            pipe.kbest(doc, 2)
            for method in SCORED:
                if hasattr(pipe, method):
                    getattr(pipe, method)([doc])
            pipe.explain(doc).text()
            list(pipe.suggest([doc]))


def _run_block(solver: Any, problem: Any) -> None:
    """Run the kernels that only learning with several workers uses, if the solver has such kernels."""
    try:
        kind = rule_of(solver).worker
    except ValueError:
        return
    if issubclass(kind, LearningBlock):
        block = kind(solver, problem, BlockParts(0, 1, []))
        with_momentum = [DualSettings(momentum=0.5)] if issubclass(kind, DualBlock) else []
        for settings in (kind.alone, *with_momentum):
            moved = block.epoch(np.random.default_rng(0), settings, np.zeros(1, np.int64))
            block.step(1.0, moved.direction, True)


def _example(vocab: Any, words: list[str | None], root: int, label: str = "THING") -> Example:
    """An example whose first word is an entity, and whose arcs but one have this label, too."""
    tokens = [word or "x" for word in words]
    reference = Doc(
        vocab,
        words=tokens,
        tags=["" if word is None else word.lower() for word in words],
        pos=["" if word is None else "X" for word in words],
        lemmas=["" if word is None else word.lower() for word in words],
        ents=[f"B-{label}", *("" if word is None else "O" for word in words[1:])],
        heads=[root] * len(words),
        deps=["" if word is None else "ROOT" if place == root else label for place, word in enumerate(words)],
    )
    reference.spans[WRONG] = [Span(reference, k, k + 1, label) for k, word in enumerate(words) if word is None]
    return Example(Doc(vocab, words=tokens), reference)
