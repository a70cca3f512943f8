"""A solver that is added without touching the package: its parameters, its learner and its kernel, all in this file."""

from dataclasses import dataclass

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_ssvm.kernels import kernel
from spacy_ssvm.registry import ssvm_solvers
from spacy_ssvm.solvers.learner import Learner, fit
from spacy_ssvm.solvers.parameters import Parameters, require_positive
from spacy_ssvm.solvers.planes import axpy, dot, find_plane, plane_buffer
from spacy_ssvm.solvers.problem import call
from spacy_ssvm.solvers.state import Field, fields_of

from ..problems import all_planes, objective, optimum, random_problem

NAME = "tests.Subgradient.v1"
CORPUS = [("Dogs eat ham", "NOUN VERB NOUN"), ("I like eggs", "PRON VERB NOUN"), ("Eat ham", "VERB NOUN")]


@dataclass(frozen=True, kw_only=True)
class Subgradient(Parameters):
    """The subgradient method on ½‖w‖² + C Σ ξ_i: w ← (1 − 1/t) w + (nC/t) ΔΦ at visit t."""

    CHECKS = {"C": require_positive}

    C: float = 0.1


class SubgradientLearner(Learner, of=Subgradient):
    STATE = (Field("visits"),)
    visits = 0

    def visit(self, examples):
        rate, plane = self.parameters.C * self.problem.n_examples, plane_buffer(self.problem.max_plane_entries)
        self.loss += call(_visit, self.problem, examples, self.w, rate, self.visits, plane)
        self.visits += len(examples)


@kernel
def _visit(oracle, data, examples, weights, rate, visits, plane):
    total = 0.0
    for example in examples:
        visits += 1
        size, loss = find_plane(oracle, data, example, weights, 1.0, plane)
        slack = loss - dot(weights, plane.indices, plane.values, size)
        weights *= 1.0 - 1.0 / visits
        if slack > 0.0:
            axpy(weights, rate / visits, plane.indices, plane.values, size)
            total += slack
    return total


ssvm_solvers.register(NAME, func=Subgradient)


def test_it_approaches_the_optimum():
    problem = random_problem(n_examples=5, max_length=2, n_rows=4, active=2)
    planes = all_planes(problem)
    learner, certificate = fit(Subgradient(C=0.1), problem, max_epochs=2000)
    best = objective(planes, optimum(planes, 0.1, 1), 0.1, 1)
    assert certificate is None and best <= objective(planes, learner.w, 0.1, 1) <= 1.01 * best


def test_a_component_learns_with_it(tmp_path):
    """In a config, as every solver; its state is saved, and learning goes on from it."""
    nlp = spacy.blank("en")
    nlp.add_pipe("ssvm_tagger", config={"solver": {"@ssvm_solvers": NAME}, "save_solver_state": True})
    pairs = [Doc(nlp.vocab, words=text.split(), tags=tags.split()) for text, tags in CORPUS]
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in pairs]
    nlp.initialize(lambda: examples)
    for _ in range(10):
        nlp.update(examples)
    assert [[token.tag_ for token in nlp(text)] for text, _ in CORPUS] == [tags.split() for _, tags in CORPUS]
    nlp.to_disk(tmp_path)
    again = spacy.load(tmp_path)
    losses = [
        one.update([Example(one.make_doc(example.text), example.reference) for example in examples])["ssvm_tagger"]
        for one in (nlp, again)
    ]
    assert losses[0] == losses[1] > 0


def test_two_objects_of_a_learner_have_no_attribute_of_the_same_name_in_its_state():
    class Ambiguous(SubgradientLearner):
        STATE = (Field("visits", of="average"),)

    with pytest.raises(TypeError, match='two fields "visits" in its state: of average and itself'):
        fields_of(Ambiguous)
