"""`spacy ssvm tune`: a path of warm starts, and the config that comes of it."""

import random
import sys
from dataclasses import replace

import numpy as np
import pytest
import spacy
from spacy.cli.train import train
from spacy.tokens import Doc, DocBin
from spacy.training import Example, biluo_to_iob
from spacy.util import load_config

from spacy_ssvm.cli import trials as tuner
from spacy_ssvm.cli.score_counts import COUNTS, CountingScorer
from spacy_ssvm.cli.trials import with_settings
from spacy_ssvm.cli.tune import _plan
from spacy_ssvm.solvers.dcd import Cpd
from spacy_ssvm.training.tuning import MIN_DOCUMENTS, Trial, as_good, best_of, between, grid_points, halve, rounds

from ..pipeline.toy import EXAMPLES, LANG, SPANS, TAGGED, blank, tagger_examples, trained, weights
from ..pipeline.toy import doc as doc_of
from ..pipeline.toy import train as train_all
from .calling import call, plain

READER = {"@readers": "spacy-ssvm.Corpus.v1"}
NOISY = [(text, " ".join(reversed(tags.split()))) for text, tags in TAGGED[:2]]
"""Annotation that contradicts the rest, so that C matters."""


@pytest.fixture
def config(tmp_path):
    """Writes a config of these components and a corpus for them."""

    def write(*factories, solver="DCD", settings=None, dev=None, **blocks):
        nlp = blank(factories[0], solver=solver, solver_settings=settings)
        for factory in factories[1:]:
            nlp.add_pipe(factory, name="second")
        docs = [example.reference for example in EXAMPLES[factories[0]](nlp)]
        if factories[0] == "ssvm_tagger":
            docs += [example.reference for example in tagger_examples(nlp, NOISY)]
        DocBin(docs=docs).to_disk(tmp_path / "train.spacy")
        DocBin(docs=docs if dev is None else dev(nlp)).to_disk(tmp_path / "dev.spacy")
        written = nlp.config.copy()
        written["paths"].update(train=None, dev=None)
        written["corpora"] = {
            part: {**READER, "path": f"${{paths.{part}}}", "gold_preproc": True} for part in ("train", "dev")
        }
        written["training"].update(
            max_epochs=10,
            max_steps=0,
            patience=0,
            eval_frequency=1,
            batcher={"@batchers": "spacy.batch_by_sequence.v1", "size": 10**9},
            **blocks,
        )
        written.to_disk(tmp_path / "config.cfg")
        return tmp_path / "config.cfg"

    return write


def tune(path, *arguments):
    folder = path.parent
    corpora = ["--paths.train", folder / "train.spacy", "--paths.dev", folder / "dev.spacy"]
    command = ["tune", path, folder / "best.cfg", *corpora, *arguments]
    return call(*command)


def rows(output):
    """The rows of the table at the end."""
    lines = output[output.index("CPU s") :].splitlines()[2:]
    return [line.split() for line in lines[: lines.index("")]]


def complaint(result):
    assert result.exit_code == 1
    return plain(result)


def test_the_config_that_is_saved_trains_with_the_best_values(config):
    path = config("ssvm_tagger")
    result = tune(path, "--bisect", 2, "--training.seed", 3)
    assert result.exit_code == 0, result.output
    found = {float(C): float(score) for C, score, *_ in rows(result.output)}
    assert list(found)[:6] == [0.01, 0.05, 0.1, 0.5, 1, 5] and len(found) == 8
    best = load_config(path.parent / "best.cfg")
    C = best["components"]["ssvm_tagger"]["solver"]["C"]
    assert f"{C:.4g}" in result.output and found[float(f"{C:.4g}")] == max(found.values())
    assert best["training"]["seed"] == 3 and best["corpora"]["train"]["path"] == "${paths.train}"
    train(path.parent / "best.cfg", path.parent / "out")
    nlp = spacy.load(path.parent / "out" / "model-best")
    assert nlp.get_pipe("ssvm_tagger").solver.C == C
    assert 100 * nlp.meta["performance"]["tag_acc"] == pytest.approx(max(found.values()), abs=5)
    assert (path.parent / "best.svg").read_text().count("development score") >= 1


def independent(factory, epochs, **settings):
    """A pipeline that has learnt with these settings from the start."""
    nlp = blank(factory, **settings)
    examples = EXAMPLES[factory](nlp)
    nlp.initialize(lambda: examples)
    train_all(nlp, examples, epochs)
    return nlp


@pytest.mark.parametrize("solver", ["Perceptron", "MIRA", "SGD", "DCD"])
def test_a_solver_starts_anew(solver):
    """One without dual variables does always, any other when asked."""
    nlp = trained("ssvm_tagger", epochs=4, solver=solver)
    before = weights(nlp, "ssvm_tagger")
    pipe = nlp.get_pipe("ssvm_tagger")
    pipe.retune(pipe.solver, anew=solver == "DCD")
    train_all(nlp, tagger_examples(nlp), 3)
    assert weights(nlp, "ssvm_tagger") != before
    assert weights(nlp, "ssvm_tagger") == weights(independent("ssvm_tagger", 3, solver=solver), "ssvm_tagger")


def test_other_parameters_than_C(config):
    path = config("ssvm_tagger", solver="SAP", settings={"C": 1.0})
    result = tune(path, "--grid", "rho1=0.5,0.1", "--grid", "C=1", "--grid", "C=0.1", "--epochs", 3)
    assert result.exit_code == 0, result.output
    assert [row[:2] for row in rows(result.output)] == [["0.5", "0.1"], ["0.5", "1"], ["0.1", "0.1"], ["0.1", "1"]]
    assert all(int(row[3]) <= 3 for row in rows(result.output))


def test_settings_of_the_component(config):
    """Each change begins a training run; what is saved is the best one."""
    path = config("ssvm_tagger")
    written = load_config(path)
    written["components"]["ssvm_tagger"]["model"]["features"]["extra"] = ["lower_prefix5[0]"]
    written.to_disk(path)
    result = tune(path, "--grid", "C=0.1,1", "--grid", "label_costs.NOUN=1,0.0", "--grid", "n_threads=1", "--epochs", 2)
    assert result.exit_code == 0, result.output
    assert [row[:3] for row in rows(result.output)] == [[cost, "1", C] for cost in ("1", "0") for C in ("0.1", "1")]
    best = load_config(path.parent / "best.cfg")["components"]["ssvm_tagger"]
    assert best["label_costs"]["NOUN"] == 1 and best["model"]["features"]["extra"] == ["lower_prefix5[0]"]
    assert "no such setting" in complaint(tune(path, "--grid", "label_cost.N=1"))
    lacking = complaint(tune(path, "--grid", "model.features.gazetteers.city=on,off"))
    assert "has no model.features.gazetteers.city that could be off" in lacking
    assert "keep_fraction must be above 0" in complaint(tune(path, "--grid", "keep_fraction=0"))


def test_combinations_that_do_not_exist_are_left_out(config):
    """As of structures and orders of trees; but a value that is in none is wrong."""
    written, structures = load_config(config("ssvm_parser")), "model.structure=projective,nonprojective"
    points = _plan(written, None, [structures, "model.order=2,3"], 0, 1).points
    tried = [" ".join(map(str, values.values())) for values in points]
    assert tried == ["projective 2", "projective 3", "nonprojective 2"]
    with pytest.raises(ValueError, match="1, 2 or 3"):
        _plan(written, None, [structures, "model.order=2,3,4"], 0, 1)


def test_a_source_can_be_left_out(config):
    features = {"gazetteers": {"a": "a.txt", "b": "b.txt"}}
    written = load_config(config("ssvm_tagger"))
    written["components"]["ssvm_tagger"]["model"]["features"].update(features)
    found = with_settings(
        written, "ssvm_tagger", {"model.features.gazetteers.a": "off", "model.features.gazetteers.b": "on"}
    )
    assert found["components"]["ssvm_tagger"]["model"]["features"]["gazetteers"] == {"b": "b.txt"}
    assert written["components"]["ssvm_tagger"]["model"]["features"]["gazetteers"] == features["gazetteers"]


def test_batches_in_parts(config):
    """As in the configs of configs/; the values are tried with all examples at once either way."""
    path = config("ssvm_tagger", accumulate_gradient=1)
    whole = trials(tune(path, "--grid", "C=0.01,1", "--epochs", 4))
    assert all(float(score) > 50 for _, score, *_ in whole)
    assert trials(tune(config("ssvm_tagger", accumulate_gradient=16), "--grid", "C=0.01,1", "--epochs", 4)) == whole


def test_a_solver_block_that_components_share(config):
    """The tuned component gets a block of its own; the other one keeps the reference."""
    path = config("ssvm_tagger", "ssvm_tagger")
    written = load_config(path)
    written["solver"] = {**written["components"]["ssvm_tagger"]["solver"], "seed": "${system.seed}"}
    for name in ("ssvm_tagger", "second"):
        written["components"][name]["solver"] = "${solver}"
    written.to_disk(path)
    result = tune(path, "--component", "ssvm_tagger", "--grid", "C=0.7", "--epochs", 1)
    assert result.exit_code == 0, result.output
    best = load_config(path.parent / "best.cfg")
    assert best["components"]["second"]["solver"] == "${solver}" and best["solver"]["C"] != 0.7
    assert best["components"]["ssvm_tagger"]["solver"] == {**best.interpolate()["solver"], "C": 0.7}


def test_the_path_from_point_to_point():
    assert grid_points({"C": [1, 0.1], "rho1": [0.5, 0.1]}) == [
        {"rho1": rho1, "C": C} for rho1 in (0.5, 0.1) for C in (0.1, 1)
    ]

    def trials(scores, **others):
        return [Trial({**others, "C": C}, score, 1, 1, 0.0) for C, score in scores.items()]

    assert between(trials({0.01: 0.1, 0.1: 0.3, 10.0: 0.2}))["C"] == pytest.approx(1)
    assert between(trials({0.001: 0.1, 0.1: 0.3, 1.0: 0.2}))["C"] == pytest.approx(0.01)
    assert between(trials({0.01: 0.3, 0.04: 0.2}))["C"] == pytest.approx(0.005)
    assert between(trials({0.01: 0.2, 0.04: 0.3}))["C"] == pytest.approx(0.08)
    both = [*trials({0.01: 0.3, 1.0: 0.5}, rho1=0.1), *trials({0.04: 0.2}, rho1=0.3)]
    assert between(both) == {"rho1": 0.1, "C": pytest.approx(10)}
    assert best_of(trials({1.0: 0.3, 0.1: 0.3, 0.5: 0.2})).values == {"C": 0.1}


def scored(counts, C):
    """A trial with these counts, [documents, 2], of one ratio."""
    right, of = np.sum(counts, axis=0)
    return Trial({"C": C}, right / of, 1, 1, 0.0, np.array(counts, float)[:, None])


def test_scores_that_are_equal_but_for_noise():
    n = 2 * MIN_DOCUMENTS
    best, same = scored([(9, 10)] * n, 1), scored([(9, 10)] * n, 2)
    # One document of many decides, or all do; then in few documents there is a difference either way.
    lucky = scored([(8, 10)] + [(9, 10)] * (n - 1), 3)
    worse = scored([(8, 10)] * n, 4)
    mixed = scored([(10, 10), (7, 10)] * (n // 2), 5)
    assert as_good([worse, best, same, lucky], [1.0]) == [False, True, True, True]
    assert as_good([best, mixed], [1.0]) == [True, False]
    assert as_good([best, replace(worse, score=0.1)], [1.0]) is None
    assert as_good([best, replace(worse, counts=None)], [1.0]) is None
    assert as_good([scored([(9, 10)] * (MIN_DOCUMENTS - 1), 1)], [1.0]) is None


def test_the_counts_are_those_of_the_scores():
    """With missing annotation, and tokens that differ from the gold ones."""
    nlp = spacy.blank(LANG)
    for factory in ("ssvm_senter", "ssvm_tagger", "ssvm_morphologizer", "ssvm_lemmatizer", "ssvm_parser", "ssvm_ner"):
        nlp.add_pipe(factory)
    draw = random.Random(0)

    def annotated(words, spaces, gaps):
        n = len(words)
        starts = [i == 0 or draw.random() < 0.3 for i in range(n)]
        firsts = [max(j for j in range(i + 1) if starts[j]) for i in range(n)]
        return Doc(
            nlp.vocab,
            words=words,
            spaces=spaces,
            tags=[draw.choice(["A", "B", ""] if gaps else ["A", "B"]) for _ in words],
            pos=[draw.choice(["NOUN", "VERB"]) for _ in words],
            morphs=[draw.choice(["A=1", "A=1|B=2", "_", ""] if gaps else ["A=1", "A=1|B=2", "_"]) for _ in words],
            lemmas=[draw.choice(["a", "b", ""] if gaps else ["a", "b"]) for _ in words],
            heads=firsts,
            deps=["ROOT" if first == i else draw.choice(["x", "y"]) for i, first in enumerate(firsts)],
            ents=[draw.choice(["O", "B-X", "B-Y", ""] if gaps else ["O", "B-X", "B-Y"]) for _ in words],
        )

    examples = []
    for n in range(1, 40):
        gold = annotated(["ab"] * n, [False] * n, gaps=True)
        cut = [part for i in range(n) for part in (["a", "b"] if n % 3 == 0 and i % 4 == 1 else ["ab"])]
        examples.append(Example(annotated(cut, [False] * len(cut), gaps=False), gold))
    scorer = CountingScorer(nlp, COUNTS)
    found = scorer.score(examples)
    right, of = scorer.counts.sum(axis=0).T
    assert dict(zip(COUNTS, right / of)) == pytest.approx({name: found[name] for name in COUNTS})
    assert all(0.05 < score < 0.95 for score in right / of)


def test_the_better_half_goes_on():
    """The one that gains most from more epochs is left out, if it is not the one to compare with."""
    assert [rounds(n, 10) for n in (1, 2, 3, 6, 18)] == [[10], [10], [5, 10], [3, 5, 10], [1, 2, 3, 5, 10]]
    assert rounds(18, 2) == [1, 2]
    points = [{"C": C} for C in (1, 2, 3, 4, 5, 6)]
    tried = []

    def try_all(some, epochs):
        tried.append([values["C"] for _, values in some])
        for number, values in reversed(some):
            yield number, Trial(values, values["C"] if values["C"] > 1 else 0.7 * epochs, epochs, 1, 0.0)

    trials, left = halve(points, 10, try_all, default=0)
    assert tried == [[1, 2, 3, 4, 5, 6], [1, 4, 5, 6], [1, 5, 6]] and left == [0, 4, 5]
    assert [trial.epochs for trial in trials] == [10, 3, 3, 5, 10, 10] and best_of(trials).values == {"C": 1}
    trials, left = halve(points, 10, try_all)
    assert left == [4, 5] and trials[0].epochs == 3


def test_trials_that_go_on_are_those_that_begin_anew_with_more_epochs(config, monkeypatch):
    """Kept in memory, too many to be kept, and by workers."""
    path = config("ssvm_tagger")
    grid = ("--halve", "--grid", "C=0.01,0.1,1", "--grid", "label_costs.NOUN=1,0.0", "--epochs", 4)
    kept = trials(tune(path, *grid))
    assert len(kept) == 6 and {row[3] for row in kept} >= {"1", "4"}
    assert trials(tune(path, *grid, "--workers", 2)) == kept
    monkeypatch.setattr(tuner, "MAX_KEPT", 0)
    assert trials(tune(path, *grid)) == kept
    best = load_config(path.parent / "best.cfg")["components"]["ssvm_tagger"]
    left = [row for row in kept if int(row[3]) == 4]
    assert f"{best['solver']['C']:.4g}" in {row[1] for row in left if row[2] == max(row[2] for row in left)}


def test_what_is_noise_is_said(config):
    words = ["Eat", "ham", "now"]

    def dev(nlp):
        return [
            Doc(nlp.vocab, words=words[: 1 + n % 3], tags=["V", "N", "A"][: 1 + n % 3]) for n in range(MIN_DOCUMENTS)
        ]

    path = config("ssvm_tagger", dev=dev)
    result = tune(path, "--grid", "C=0.5,1", "--epochs", 2)
    assert result.exit_code == 0, result.output
    assert {row[-1] for row in rows(result.output)} == {"best", "="}
    said = plain(result)
    assert (
        f"1 of 1 other scores, marked =, are not lower by more than noise (paired bootstrap of {MIN_DOCUMENTS} " in said
    )
    assert f"Config saved to {path.parent / 'best.cfg'}" in said and "keeps its own values" not in said
    own = plain(tune(path, "--grid", "C=0.1,0.5", "--grid", "label_costs.NOUN=0.9,1", "--epochs", 1))
    solver = load_config(path.parent / "best.cfg")["components"]["ssvm_tagger"]["solver"]
    assert solver["C"] == 0.1 and ("keeps its own values, label_costs.NOUN = 1, C = 0.1: the gain of 0.00" in own)
    few = plain(tune(config("ssvm_tagger"), "--grid", "C=0.5,1", "--epochs", 1))
    assert "Which differences are noise is not known: that takes 20 documents" in few and "Noise" not in few


def test_the_others_learn_first(config):
    path = config("ssvm_tagger", "ssvm_tagger")
    assert "2 components of spacy-ssvm: name one of ssvm_tagger, second" in complaint(tune(path))
    result = tune(path, "--component", "ssvm_tagger", "--grid", "C=0.1", "--epochs", 2)
    assert result.exit_code == 0, result.output
    assert "is no component" in complaint(tune(path, "--component", "ner"))


def test_annotated_examples_are_those_that_were_there_before(config):
    """Without gold_preproc, what arrives after the annotation is read by another reader, and is other Docs; yet the
    objective is that of the corpus, and a score that of the values beside it."""
    path = config("ssvm_tagger", "ssvm_ner")
    written = load_config(path)
    for part in ("train", "dev"):
        written["corpora"][part]["gold_preproc"] = False
    written["training"].update(annotating_components=["ssvm_tagger"], score_weights={"ents_f": 1.0})
    features = {"@ssvm_features": "spacy-ssvm.Templates.v1", "templates": ["lower[0]", "tag[0]"]}
    written["components"]["second"].update(
        solver={"@ssvm_solvers": "spacy-ssvm.LBFGS.v1", "beta": 1.0, "gamma": 0.0},
        model={"@architectures": "spacy-ssvm.Chain.v1", "features": features},
    )
    nlp = blank("ssvm_ner")
    docs = [
        Doc(nlp.vocab, words=text.split(), tags=["P"] * len(text.split()), ents=biluo_to_iob(ents.split()))
        for text, ents in SPANS
    ]
    DocBin(docs=docs).to_disk(path.parent / "train.spacy")
    DocBin(docs=docs).to_disk(path.parent / "dev.spacy")
    written.to_disk(path)
    result = tune(path, "--component", "second", "--grid", "gamma=0,0.5", "--grid", "C=0.003,1")
    assert result.exit_code == 0, result.output
    low, high, low_again, _ = (float(row[2]) for row in rows(result.output))
    assert low < high > low_again


def test_calls_that_make_no_sense_are_explained(config):
    path = config("ssvm_tagger")
    assert "has no parameter rho1 to tune, only C, " in complaint(tune(path, "--grid", "rho1=1"))
    assert "--grid c=1: spacy-ssvm.DCD.v1 has no parameter c; did you mean C?" in complaint(tune(path, "--grid", "c=1"))
    assert "--grid 0.1,1: expected NAME=VALUES, such as C=0.1,1" in complaint(tune(path, "--grid", "0.1,1"))
    assert "'many' is not a number" in complaint(tune(path, "--grid", "C=1,many"))
    assert "C must be positive" in complaint(tune(path, "--grid", "C=1,-1"))
    assert "two values of C" in complaint(tune(path, "--grid", "C=1", "--bisect", 1))
    assert tune(path, "--epochs", 0).exit_code == 2
    assert tune(path.parent / "none.cfg").exit_code == 2
    assert not (path.parent / "best.cfg").exists()


def test_solvers_without_C(config):
    assert "has no C: there is nothing to tune" in complaint(tune(config("ssvm_tagger", solver="Perceptron")))
    path = config("ssvm_tagger", solver="ProjectedSubgradient")
    assert "has no C: name one of epsilon, eta0 with --grid" in complaint(tune(path))
    result = tune(path, "--grid", "epsilon=1,10", "--epochs", 1)
    assert result.exit_code == 0, result.output


def test_a_dev_part_that_nothing_can_be_chosen_by(config):
    grid = ("--grid", "C=1", "--epochs", 1)
    assert "There are no documents in corpora.dev" in complaint(tune(config("ssvm_tagger", dev=lambda nlp: []), *grid))
    bare = config("ssvm_tagger", dev=lambda nlp: [Doc(nlp.vocab, words=["Eat", "ham"])])
    assert "no annotation for the scores tag_acc" in complaint(tune(bare, *grid))


def test_a_config_without_our_components(tmp_path):
    nlp = spacy.blank(LANG)
    nlp.config.to_disk(tmp_path / "config.cfg")
    for arguments in ((), ("--component", "tagger")):
        said = complaint(tune(tmp_path / "config.cfg", *arguments))
        assert "trains no component of spacy-ssvm: there is nothing to tune" in said


def test_without_matplotlib(config, monkeypatch):
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    path = config("ssvm_tagger")
    result = tune(path, "--grid", "C=0.1", "--epochs", 1)
    assert "No plot: matplotlib is not installed" in result.output
    assert (path.parent / "best.cfg").exists() and not (path.parent / "best.svg").exists()


def test_retune_needs_an_initialized_component():
    nlp = blank("ssvm_tagger")
    with pytest.raises(ValueError, match="call initialize first"):
        nlp.get_pipe("ssvm_tagger").retune(nlp.get_pipe("ssvm_tagger").solver)


def test_another_solver_after_resuming_reaches_the_optimum_that_it_reaches_without():
    """Neither is held to the weights of the solver before; until it learns, these predict."""
    primals = []
    for resumes in (False, True):
        nlp = blank("ssvm_tagger", solver_settings={"C": 1.0}, save_solver_state=True)
        examples = tagger_examples(nlp)
        nlp.initialize(lambda examples=examples: examples)
        train_all(nlp, examples, 20)
        tagger = nlp.get_pipe("ssvm_tagger")
        if resumes:
            tagger.from_bytes(tagger.to_bytes())
            train_all(nlp, examples, 1)
        before = [token.tag_ for token in nlp(doc_of(nlp, "The cat eats ham"))]
        tagger.retune(Cpd(C=0.01, tolerance=1e-4))
        assert [token.tag_ for token in nlp(doc_of(nlp, "The cat eats ham"))] == before
        train_all(nlp, examples, 60)
        primals.append(tagger.certificate().primal)
    assert primals[0] == pytest.approx(primals[1], rel=1e-3)


def trials(result):
    """The rows of the table at the end, without the seconds."""
    assert result.exit_code == 0, result.output
    header = next(line for line in result.output.splitlines() if "CPU s" in line).split("  ")
    column = [title.strip() for title in header if title.strip()].index("CPU s")
    return [[*row[:column], *row[column + 1 :]] for row in rows(result.output)]


def test_workers_try_each_value_in_a_run_of_its_own(config):
    path = config("ssvm_tagger")
    alone = [row for C in (0.01, 0.1, 5) for row in trials(tune(path, "--grid", f"C={C}", "--epochs", 3))]
    for n_workers in (2, 9):
        assert trials(tune(path, "--grid", "C=5,0.01,0.1", "--epochs", 3, "--workers", n_workers)) == alone
    C = load_config(path.parent / "best.cfg")["components"]["ssvm_tagger"]["solver"]["C"]
    assert max(alone, key=lambda row: (float(row[1]), -float(row[0])))[0] == f"{C:.4g}"


def test_the_bisection_goes_on_from_what_workers_have_found(config):
    path = config("ssvm_tagger")
    found, again = (trials(tune(path, "--bisect", 2, "--epochs", 3, "--workers", n)) for n in (2, 4))
    assert len(found) == 8 and found == again
    assert [found[-1]] == trials(tune(path, "--grid", f"C={found[-1][0]}", "--epochs", 3))


READERS = """
import multiprocessing, os, sys
import spacy
from spacy_ssvm.corpus.reader import create_corpus

@spacy.registry.readers("deadly")
def deadly(path: str):
    times = []
    def read(nlp):
        times.append(1)
        if len(times) > 1 and (multiprocessing.parent_process() or "default_worker" in sys.argv[0]):
            os._exit(3)
        return create_corpus(path, gold_preproc=True)(nlp)
    return read
"""


def deadly(path):
    """The config, but its reader kills a worker that scores, and the options that it needs."""
    written = load_config(path)
    written["corpora"]["dev"] = {"@readers": "deadly", "path": "${paths.dev}"}
    written.to_disk(path)
    (path.parent / "code.py").write_text(READERS, "utf8")
    return path, "--code", path.parent / "code.py", "--workers", 2


def test_a_worker_that_dies_ends_the_run(config):
    path, *options = deadly(config("ssvm_tagger"))
    said = complaint(tune(path, *options))
    assert "Nothing was tuned" in said and "a worker died" in said and not (path.parent / "best.cfg").exists()


def test_what_a_worker_complains_about_is_said(config):
    bare = config("ssvm_tagger", dev=lambda nlp: [Doc(nlp.vocab, words=["Eat", "ham"])])
    assert "no annotation for the scores tag_acc" in complaint(tune(bare, "--workers", 2))


def test_values_are_checked_before_workers_start(config, monkeypatch):
    monkeypatch.setattr("spacy_ssvm.cli.tune.map_unordered", None)
    assert "C must be positive" in complaint(tune(config("ssvm_tagger"), "--grid", "C=1,-1", "--workers", 2))


@pytest.mark.slow
@pytest.mark.usefixtures("ray")
class TestWithRay:
    def test_workers_of_a_cluster_find_what_processes_find(self, config):
        path = config("ssvm_tagger")
        options = ("--workers", 2, "--bisect", 1)
        # Processes first: Ray leaves threads behind, with which a process had better not fork.
        expected = trials(tune(path, *options))
        assert trials(tune(path, *options, "--address", "local")) == expected
