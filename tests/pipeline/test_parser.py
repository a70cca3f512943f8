"""`ssvm_parser` as a user of spaCy's parser expects it."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.training import Example

from .components import assert_certified
from .toy import (
    DUAL_SOLVERS,
    NEARLY_UNREGULARISED,
    SMALL_TREE,
    SOLVERS,
    STRUCTURES,
    TREES,
    annotation,
    blank,
    doc,
    parse,
    parser_examples,
    teach,
    train,
    trained,
    tree_of,
)

every_structure = pytest.mark.parametrize(("structure", "order"), STRUCTURES)
EXACT = STRUCTURES[:-1]
READS_TAGS = {**SMALL_TREE, "features": {**SMALL_TREE["features"], "tags": ["tag"]}}
TWO = ("I like green eggs Eat blue ham !", "nsubj:2 ROOT:2 amod:4 obj:2 ROOT:5 amod:7 obj:5 punct:5")
WORDS = ["Dogs", "of", "Berlin", "saw", "the", "old", "cat", "!", "Eat", "ham"]


def parser_of(nlp):
    return nlp.get_pipe("ssvm_parser")


def heads(doc: Doc) -> list[int]:
    return [token.head.i for token in doc]


def labels(doc: Doc) -> list[str]:
    return [token.dep_ for token in doc]


def starts(doc: Doc) -> list[int]:
    return [sentence.start for sentence in doc.sents]


def in_sentences(nlp, words: list[str], bounds) -> Doc:
    return Doc(nlp.vocab, words=words, sent_starts=[place in bounds for place in range(len(words))])


@pytest.fixture(scope="module")
def learnt():
    nlp = trained("ssvm_parser")
    nlp("said once")
    return nlp


@pytest.mark.parametrize("tree", STRUCTURES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_overfits_a_few_sentences_and_parses_others(tree, solver):
    epochs = 25 if solver == "SAP" else 10
    settings = {"solver": solver, "solver_settings": NEARLY_UNREGULARISED[solver]}
    nlp = trained("ssvm_parser", epochs, model=tree_of(*tree, max_heads=4 * (solver != "DCD")), **settings)
    for text, arcs in TREES:
        assert annotation(nlp(doc(nlp, text))) == annotation(parse(nlp, text, arcs))
    for words in ([], ["ham"], ["Eat", "ham"], WORDS * 16):
        tokens = nlp(in_sentences(nlp, words, [0]))
        assert sum(token.head.i == token.i for token in tokens) == len(list(tokens.sents)) == min(len(words), 1)


CROSSING = ("a b c d e", "x:3 y:4 ROOT:3 z:3 x:2")


@pytest.mark.parametrize("tree", EXACT)
@pytest.mark.parametrize("solver", DUAL_SOLVERS)
@pytest.mark.filterwarnings("ignore:.*annotation that this component cannot produce")
def test_the_gap_closes_where_decoding_is_exact(tree, solver):
    """Also of a gold tree that a structure has not, and that would give negative slacks: it is projected."""
    settings = {"solver": solver, "solver_settings": {"C": 0.1, "tolerance": 0.01}}
    if solver == "SAP":
        settings["solver_settings"]["rho1"] = 0.0
    nlp = blank("ssvm_parser", model=tree_of(*tree), **settings)
    examples = parser_examples(nlp, [*TREES, CROSSING])
    nlp.initialize(lambda: examples)
    for _ in range(300):
        nlp.update(examples, sgd=False)
        if parser_of(nlp).trained.training.finished:
            break
    assert parser_of(nlp).trained.training.finished
    assert 0 <= parser_of(nlp).certificate().relative_gap <= 0.01


@pytest.mark.parametrize("structure", ["projective", "nonprojective"])
@pytest.mark.filterwarnings("ignore:.*annotation that this component cannot produce")
def test_crossing_arcs_are_learnt_where_the_structure_has_them(structure):
    nlp = blank("ssvm_parser", model=tree_of(structure, 2), solver_settings={"C": 1.0})
    teach(nlp, parser_examples(nlp, [*TREES, CROSSING]))
    found = heads(nlp(doc(nlp, CROSSING[0])))
    assert (found == [int(arc[-1]) - 1 for arc in CROSSING[1].split()]) == (structure == "nonprojective")


@given(
    words=st.lists(st.sampled_from([*WORDS, "unheard-of"]), min_size=1, max_size=12),
    data=st.data(),
)
def test_what_a_doc_looks_like_afterwards(learnt, words, data):
    """Boundaries are kept exactly; each sentence is one tree within it; spaCy's views of it fit its heads."""
    bounds = {0, *data.draw(st.sets(st.integers(0, len(words) - 1)))}
    before = in_sentences(learnt, words, bounds)
    tokens = learnt(before.copy())
    assert starts(tokens) == starts(before) == sorted(bounds)
    assert [token.is_sent_start for token in tokens] == [token.is_sent_start for token in before]
    assert tokens.has_annotation("DEP")
    above = {token.i: [token.i, *(other.i for other in token.ancestors)] for token in tokens}
    for sentence in tokens.sents:
        assert {above[token.i][-1] for token in sentence} == {sentence.root.i}
    for token in tokens:
        assert (token.dep_ == "ROOT") == (token.head.i == token.i) and token.dep_ in parser_of(learnt).labels
        subtree = [other.i for other in tokens if token.i in above[other.i]]
        assert [other.i for other in token.subtree] == subtree
        assert (token.left_edge.i, token.right_edge.i) == (subtree[0], subtree[-1])
        children = [other.i for other in tokens if other.head.i == token.i != other.i]
        assert sorted(child.i for child in token.children) == children
    assert [token["head"] for token in tokens.to_json()["tokens"]] == heads(tokens)
    again = Doc(learnt.vocab).from_bytes(tokens.to_bytes())
    assert (heads(again), labels(again), starts(again)) == (heads(tokens), labels(tokens), starts(tokens))


@given(lengths=st.lists(st.integers(0, 6), max_size=5))
def test_sentences_do_not_influence_each_other(learnt, lengths):
    """A Doc of several sentences has the trees that its sentences have alone, in any batch, with empty Docs in it."""
    pieces = [(WORDS * 2)[n : 2 * n] for n in lengths]
    bounds = np.cumsum([0, *lengths])
    whole = in_sentences(learnt, [word for piece in pieces for word in piece], bounds)
    alone = [in_sentences(learnt, piece, [0]) for piece in pieces]
    predicted, *single = parser_of(learnt).predict([whole, *alone])
    for (found, names), first, n in zip(single, bounds, lengths):
        assert np.array_equal(predicted[0][first : first + n], found + first)
        assert np.array_equal(predicted[1][first : first + n], names)


def test_labels_that_were_not_given_count_as_missing():
    nlp = blank("ssvm_parser")
    examples = parser_examples(nlp)
    with pytest.warns(UserWarning) as caught:
        parser_of(nlp).initialize(lambda: examples, nlp=nlp, labels=["nsubj", "obj"])
    assert str(caught[0].message).endswith("count as missing: amod, case, det, nmod, punct")
    for _ in range(10):
        nlp.update(examples, sgd=False)
        assert_certified(nlp, "ssvm_parser")
    assert parser_of(nlp).labels == ("nsubj", "obj")
    scores = nlp.evaluate(examples)
    assert scores["uas"] == 1.0
    assert scores["dep_las_per_type"]["nsubj"]["r"] == scores["dep_las_per_type"]["obj"]["r"] == 1.0


def test_without_any_label_but_the_root_the_tree_is_still_one():
    nlp = blank("ssvm_parser")
    teach(nlp, parser_examples(nlp, TREES[-1:]), 2)
    tokens = nlp(doc(nlp, "Eat ham now"))
    assert sum(token.head.i == token.i for token in tokens) == 1
    assert sorted(labels(tokens)) == ["ROOT", "dep", "dep"]


@pytest.mark.parametrize("tree", EXACT)
@pytest.mark.parametrize("solver", DUAL_SOLVERS)
def test_missing_annotation(tree, solver):
    nlp = blank(
        "ssvm_parser",
        solver=solver,
        model=tree_of(*tree),
        solver_settings=NEARLY_UNREGULARISED[solver] | {"tolerance": 0.0},
    )
    gaps = [("The old dog eats blue ham", "- - nsubj:4 - - obj:4"), ("Anna likes dogs", "nsubj:2 ROOT:2 -")]
    examples = parser_examples(nlp, [*TREES, *gaps])
    with pytest.warns(UserWarning, match="5 of 31 training tokens have no gold head"):
        nlp.initialize(lambda: examples)
    for _ in range(25 if solver == "SAP" else 6):
        nlp.update(examples, sgd=False)
        assert_certified(nlp, "ssvm_parser")
        assert parser_of(nlp).certificate() is None
    for text, arcs in gaps:
        predicted = nlp(doc(nlp, text))
        for token, arc in zip(predicted, arcs.split()):
            assert arc in ("-", f"{token.dep_}:{token.head.i + 1}")


@pytest.mark.parametrize("solver", DUAL_SOLVERS)
def test_boundaries_that_move_between_epochs(solver):
    """A Doc then has other sentences than before; none of the old ones is learnt from any longer."""
    settings = NEARLY_UNREGULARISED[solver] | {"tolerance": 0.0}
    nlp = blank("ssvm_parser", solver=solver, solver_settings=settings)
    references = [parse(nlp, *TWO), *(example.reference for example in parser_examples(nlp))]
    bounds = [[0, 4], [0], [0, 2, 4], [0, 4], [0, 1, 2, 3, 4, 5, 6, 7], [0, 4], [0, 4]]

    def examples(epoch: int) -> list[Example]:
        words = [[token.text for token in reference] for reference in references]
        cuts = [bounds[epoch], *([0, len(found) // 2 if epoch % 2 else 0] for found in words[1:])]
        return [
            Example(in_sentences(nlp, found, cut), reference) for found, cut, reference in zip(words, cuts, references)
        ]

    nlp.initialize(lambda: examples(0))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", message=".*which no training Doc has")
        for epoch in range(len(bounds)):
            nlp.update(examples(epoch), sgd=False)
            training = parser_of(nlp).trained.training
            assert training.epochs == epoch + 1
            assert_certified(nlp, "ssvm_parser")
            lengths = np.diff(training.data.problem().data.trees.columns.starts)
            used = training.data.docs.examples(np.arange(len(references)))
            assert len(set(used.tolist())) == len(used)
            assert lengths[np.setdiff1d(np.arange(len(lengths)), used)].sum() == 0
    assert ["between two epochs" in str(warning.message) for warning in caught] == [True]
    assert len(parser_of(nlp).trained.training) == len(references)
    tokens = nlp(in_sentences(nlp, TWO[0].split(), [0, 4]))
    assert annotation(tokens) == annotation(parse(nlp, *TWO))


def test_several_roots_without_boundaries_become_sentences():
    """spaCy has no other place for them; with boundaries, only a copy that was saved and loaded has them."""
    nlp = blank("ssvm_parser", multi_root=True)
    examples = parser_examples(nlp, [TWO])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*which no training Doc has")
        nlp.initialize(lambda: examples)
        train(nlp, examples)
        tokens = nlp(doc(nlp, TWO[0]))
    assert starts(tokens) == [0, 4]
    preset = nlp(in_sentences(nlp, TWO[0].split(), [0]))
    assert heads(preset) == heads(tokens)
    assert starts(preset) == [0]
    assert starts(Doc(nlp.vocab).from_bytes(preset.to_bytes())) == [0, 4]
    again = blank("ssvm_parser").from_bytes(nlp.to_bytes())
    assert annotation(again(doc(again, TWO[0]))) == annotation(tokens)


@every_structure
def test_tags_help_where_there_are_some(structure, order):
    """Words that were never seen, told apart by their tags alone."""
    nlp = blank("ssvm_parser", model=tree_of(structure, order), solver_settings={"C": 1.0})
    tags = ["DET", "NOUN", "VERB"]

    def example(words: str) -> Example:
        gold = parse(nlp, words, "det:2 nsubj:3 ROOT:3")
        if words.startswith("z"):
            gold = parse(nlp, words, "ROOT:1 det:3 obj:1")
        return Example(doc(nlp, words, tags=tags if words[0] != "z" else ["VERB", "DET", "NOUN"]), gold)

    teach(nlp, [example(f"{first}{i} b{i} c{i}") for i in range(8) for first in "az"])
    for unseen in (example("x y w"), example("zz y w")):
        assert heads(nlp(unseen.predicted.copy())) == heads(unseen.reference)
    without = nlp(doc(nlp, "x y w"))
    assert sum(token.head.i == token.i for token in without) == 1


def test_gold_that_cannot_be_learnt_is_counted_each_time_with_its_reason():
    nlp = blank("ssvm_parser")
    crossing = ("a b c d", "x:3 y:4 ROOT:3 z:3")
    with pytest.warns(UserWarning) as caught:
        nlp.initialize(lambda: parser_examples(nlp, [*TREES, crossing]))
    messages = [str(warning.message) for warning in caught if "which no training Doc has" not in str(warning.message)]
    assert len(messages) == 1
    assert "1 of 7 examples have annotation that this component cannot produce" in messages[0]
    twice = ("a b c d e f a b c d", "x:3 y:4 ROOT:3 z:3 x:6 ROOT:6 x:9 y:10 ROOT:9 z:9")
    with pytest.warns(UserWarning, match="2 of 9 sentences, in 1 of 7 examples, have annotation .*: example 6, 'a b c"):
        nlp.initialize(lambda: parser_examples(nlp, [*TREES, twice]))


@pytest.mark.parametrize(
    ("given", "found", "said"),
    [
        (None, [0], "no sentence boundaries"),
        ([None] * 4 + [True] + [None] * 3, [0, 4], "of some tokens only"),
    ],
)
def test_boundaries_that_are_not_set_are_missed_once(given, found, said):
    nlp = trained("ssvm_parser", 2)
    with pytest.warns(UserWarning, match=said):
        tokens = nlp(doc(nlp, TWO[0], sent_starts=given))
    assert starts(tokens) == found
    assert sum(token.head.i == token.i for token in tokens) == len(found)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp(doc(nlp, TWO[0], sent_starts=given))


@pytest.mark.parametrize("annotating", [[], ["senter"]], ids=["nothing annotates", "something else annotates"])
def test_tags_that_no_training_doc_has_are_missed(annotating):
    """As with spaCy's own reader, which brings words only; what else annotates makes no difference."""
    nlp = blank("ssvm_parser", model=READS_TAGS)
    nlp.add_pipe("sentencizer", name="senter", first=True)
    nlp.config["training"]["annotating_components"] = annotating
    examples = parser_examples(nlp)
    nlp.initialize(lambda: examples)
    with pytest.warns(UserWarning, match=r"read token\.tag, which no training Doc has.*jackknife"):
        nlp.update(examples, annotates=annotating)
    assert parser_of(nlp).cfg["reads"] == []
    again = blank("ssvm_parser", model=READS_TAGS).from_bytes(nlp.to_bytes(exclude=["senter"]), exclude=["senter"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again(in_sentences(again, WORDS, [0]))


@pytest.mark.parametrize("is_saved", [False, True], ids=["at once", "saved and loaded in between"])
def test_tags_that_another_component_sets_at_the_first_update_are_not_missed(is_saved):
    """Whatever the config says: `nlp.update` is told what annotates. The saved component knows what it has read, and
    misses it once in Docs that lack it."""
    nlp = blank("ssvm_parser", model=READS_TAGS, corrections=False)
    nlp.add_pipe("attribute_ruler", first=True).add([[{}]], {"TAG": "X"})
    examples, parser = parser_examples(nlp), parser_of(nlp)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parser.initialize(lambda: examples, nlp=nlp)
        assert parser.cfg["reads"] == []
        if is_saved:
            parser.from_bytes(parser.to_bytes())
        nlp.update(examples, exclude=["attribute_ruler"], annotates=["attribute_ruler"])
    assert parser.cfg["reads"] == ["tag"]
    again = blank("ssvm_parser", model=READS_TAGS)
    parser_of(again).from_bytes(parser.to_bytes())
    with pytest.warns(UserWarning, match=r"learnt from token\.tag"):
        again(in_sentences(again, WORDS, [0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again(in_sentences(again, WORDS, [0]))
        again(Doc(again.vocab, words=["The", "cat"], tags=["A", "B"], sent_starts=[True, False]))
    again.update(parser_examples(again), sgd=False)
    assert parser_of(again).cfg["reads"] == ["tag"], "a correction without tags does not make the component forget them"
