"""`spacy ssvm debug-data`: each check on a corpus with the defect and on one without, and the whole command."""

import re
import warnings

import numpy as np
import pytest
import spacy
import srsly
from hypothesis import given
from hypothesis import strategies as st
from spacy.attrs import ENT_IOB, ENT_TYPE
from spacy.pipeline._parser_internals import nonproj
from spacy.tokenizer import Tokenizer
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

from spacy_ssvm.cli.debug_data import MAX_PLACES
from spacy_ssvm.corpus.checks.corpora import read
from spacy_ssvm.corpus.checks.documents import BOUNDLESS, check_documents
from spacy_ssvm.corpus.checks.trees import arcs, circles, nonprojective
from spacy_ssvm.corpus.reader import create_corpus
from spacy_ssvm.corpus.tokenisation import retokenised
from spacy_ssvm.pipeline.corpus_checks import check_annotation
from spacy_ssvm.pipeline.gold_trees import gold_trees
from spacy_ssvm.pipeline.long_sentences import MAX_PART, MAX_SENTENCE

from ..pipeline.toy import LANG
from .calling import call, plain, refusal

VOCAB = spacy.blank("en").vocab
FIRST, OTHER = ["the", "first", "corpus"], ["another", "text", "here"]


def document(words=FIRST, iob=None, spans=None, heads=None, **annotation):
    """iob: spaCy's ENT_IOB and an entity label, as "3 PER", of each word, written past spaCy's checks; "" is none.

    spans: (first, behind, label) in doc.spans["sc"]. heads: of each word as a word, None where it is missing.
    """
    if heads is not None:
        annotation["heads"] = [k if head is None else head for k, head in enumerate(heads)]
        deps = ["" if head is None else "ROOT" if head == k else "x" for k, head in enumerate(heads)]
        annotation.setdefault("deps", deps)
    doc = Doc(VOCAB, words=words, **annotation)
    if iob is not None:
        rows = [(int(tag[:1] or 0), VOCAB.strings.add(tag[2:]) if tag[2:] else 0) for tag in iob]
        doc.from_array([ENT_IOB, ENT_TYPE], np.array(rows, np.uint64))
    if spans is not None:
        doc.spans["sc"] = [Span(doc, first, end, label=label) for first, end, label in spans]
    return doc


def saved(path, docs):
    DocBin(docs=docs).to_disk(path)
    return path


@pytest.fixture
def check(tmp_path):
    """Issues as (severity, corpus, what, count), of documents where no component is named."""

    def run(train, dev=None, component=None, settings=None, listed=None, split=False, **reader):
        nlp = spacy.blank(LANG)
        if split:
            nlp.tokenizer = Tokenizer(nlp.vocab)
        dev = [document(OTHER)] if dev is None else dev
        corpora = [
            read(name, create_corpus(saved(tmp_path / f"{name}.spacy", docs), **reader), nlp)
            for name, docs in (("train", train), ("dev", dev))
        ]
        if component is None:
            found = check_documents(*corpora)
        else:
            pipe = nlp.add_pipe(component, config=settings or {})
            report = check_annotation(pipe.codec, *corpora, listed)
            found = report.issues
        assert all(issue.remedy and len(issue.where) <= max(issue.count, 1) for issue in found)
        return found

    return run


def those(issues, what):
    return [(issue.severity, issue.corpus, issue.count) for issue in issues if what in issue.what]


def test_duplicates(check):
    issues = check([document(), document(OTHER), document()], [document(["new"])] * 3)
    assert those(issues, "repeat an earlier one") == [("warning", "train", 1), ("warning", "dev", 2)]
    assert issues[0].where == ("train.spacy, document 2: 'the first corpus ', as train.spacy, document 0",)
    assert not check([document(), document(OTHER)], [document(["new"])])


def test_train_and_dev_overlap(check):
    issues = check([document()], [document(OTHER), document()])
    assert those(issues, "also in the training corpus") == [("warning", "dev", 1)]
    assert "dev.spacy, document 1" in issues[0].where[0] and issues[0].total == 2


def test_empty_corpora(check):
    assert those(check([], []), "examples") == [("error", "train", 0), ("error", "dev", 0)]
    assert those(check([document([])]), "examples") == [("error", "train", 0)]


def test_misaligned_tokens(check):
    joined = document(["in", "New", "York"], spaces=[True, False, False])
    split = document(["to New", "York"], spaces=[True, False])
    train = [joined, document(FIRST, spaces=[True, True, False]), split]
    issues = check(train, [document(OTHER, spaces=[True, True, False])], split=True)
    assert those(issues, "differ from the tokens of the annotation") == [("warning", "train", 3)]
    assert issues[0].where == (
        "example 0, token 1: 'NewYork'",
        "example 2, token 0: 'to'",
        "example 2, token 1: 'New'",
    )
    assert issues[0].total == 8


def test_documents_that_the_reader_leaves_out(check):
    train = [document(), document(["short"]), document(OTHER, sent_starts=[True, True, True])]
    issues = check(train, [document(["new"])], max_length=3)
    assert those(issues, "max_length = 3") == [("error", "train", 1)]
    assert issues[0].where == ("train.spacy, document 0: 'the first corpus '",)
    assert not check(train, [document(["new"])], max_length=4)


def test_documents_without_boundaries(check):
    """They are named; if they are in one corpus only, there is a warning."""
    words = ["word"] * BOUNDLESS
    long, other = document(words), document([*words, "end"])
    of_sentences = document(words, sent_starts=[k % 20 == 0 for k in range(len(words))])
    issues = check([long, document()], [other])
    assert those(issues, "without a sentence boundary") == [("info", "train", 1), ("info", "dev", 1)]
    assert issues[0].where == ("example 0: 'word word word word word word word word …' (200 tokens)",)
    assert not those(issues, "of another kind") and not check([document()], [of_sentences])
    for train, dev in ([long], [document(OTHER)]), ([document()], [long]), ([of_sentences], [other]):
        assert those(check(train, dev), "of another kind") == [("warning", "dev", 1)]


@pytest.mark.parametrize(("component", "attribute"), [("ssvm_tagger", "tags"), ("ssvm_parser", "deps")])
def test_labels(check, component, attribute):
    def docs(*labels):
        others = {"heads": [0] * len(labels)} if attribute == "deps" else {}
        return [document(["word"] * len(labels), **{attribute: list(labels)}, **others)]

    common = ["ROOT", *["A"] * 20, "B"]
    issues = check(docs(*common), docs("ROOT", "A", "C"), component)
    assert those(issues, "fewer than 20") == [("warning", "train", 2)]
    assert [set(issue.where) for issue in issues if "fewer" in issue.what] == [{"ROOT (1)", "B (1)"}]
    assert those(issues, "training corpus does not have") == [("warning", "dev", 1)]
    assert not those(issues, "initialize")
    issues = check(docs(*common), docs(*common), component, listed=["A", "ROOT", "Z"])
    assert those(issues, "not given") == [("error", "train", 1)]
    assert those(issues, "never occur") == [("warning", "train", 1)]
    assert not those(issues, "training corpus does not have")


@pytest.mark.parametrize("component", ["ssvm_tagger", "ssvm_ner", "ssvm_senter", "ssvm_parser"])
def test_nothing_to_learn(check, component):
    issues = check([document()], [document(OTHER)], component)
    assert those(issues, "labels") == [("error", "train", 0)]
    assert {(issue.corpus, issue.count, issue.total) for issue in issues if "without" in issue.what} == {
        ("train", 3, 3),
        ("dev", 3, 3),
    }


def test_missing_tags(check):
    tagged = document(tags=["A", "", "!B"])
    issues = check([tagged, document(OTHER, tags=list("ABC"))], [document(OTHER, tags=list("ABC"))], "ssvm_tagger")
    assert those(issues, "without gold tag") == [("warning", "train", 2)]
    issues = check([tagged], [tagged], "ssvm_tagger", {"attr": "pos"})
    assert those(issues, "labels") == [("error", "train", 0)]


SOUND = ["3 PER", "1 PER", "2"]
DEFECTS = [
    (["1 PER", "2", "1 PER"], "has no beginning", 2),
    (["3", "1", "2"], "has no beginning", 1),
    (["3 PER", "1 LOC", "2"], "entity label other than", 1),
    (["3 PER", "2 PER", "0 PER"], "entity label other than", 2),
]


@pytest.mark.parametrize("gold_preproc", [False, True])
@pytest.mark.parametrize(("iob", "what", "count"), DEFECTS)
def test_inconsistent_entities(check, iob, what, count, gold_preproc):
    sound = document(OTHER, iob=SOUND)
    issues = check([sound, document(iob=iob)], [sound], "ssvm_ner", gold_preproc=gold_preproc)
    assert those(issues, what) == [("error", "train", count)]
    assert "document 1, token" in next(issue for issue in issues if what in issue.what).where[0]
    unlabelled = document(iob=["3 PER", "1", "3"])
    issues = check([sound], [sound, unlabelled], "ssvm_ner", gold_preproc=gold_preproc)
    assert not [issue for issue in issues if issue.severity == "error"]


def test_negated_entities(check):
    negated = document(ents=["B-!PER", "I-!PER", "O"])
    issues = check([document(OTHER, iob=SOUND), negated], [negated], "ssvm_ner")
    assert those(issues, "negated label") == [("error", "train", 1), ("error", "dev", 1)]


@pytest.mark.filterwarnings("ignore:1 documents of")
def test_documents_that_the_reader_cannot_read(check):
    """spaCy cuts such a document into sentences only where its entities can be read."""
    broken = document(iob=["2", "1 PER", "2"], sent_starts=[True, False, True])
    issues = check([broken], gold_preproc=True)
    assert those(issues, "stop the reader") == [("error", "train", 1)] and "E093" in issues[0].where[0]
    issues = check([document(OTHER), broken], gold_preproc=True)
    assert those(issues, "leaves out") == [("error", "train", 1)]
    (issue,) = (issue for issue in issues if "leaves out" in issue.what)
    assert "document 1, 'the first corpus" in issue.where[0] and "E093" in issue.where[0]


def test_reader_without_files():
    reference = document()
    examples = [Example(document([]), document([])), Example(Doc(VOCAB, words=FIRST), reference)]
    corpus = read("train", lambda nlp: iter(examples), spacy.blank("en"))
    assert corpus.documents == [("example 0", reference)] and corpus.examples == examples[1:] and corpus.n_tokens == 3


def test_whitespace_entities(check):
    words = ["\n", "Jane", "Doe", "\n"]
    dev = [document(OTHER, iob=SOUND)]
    for iob, beginning, end in [
        (["3 PER", "1 PER", "1 PER", "2"], 1, 0),
        (["2", "3 PER", "1 PER", "1 PER"], 0, 1),
        (["3 PER", "2", "2", "3 PER"], 2, 0),
        (["2", "3 PER", "1 PER", "2"], 0, 0),
    ]:
        issues = check([document(words, iob=iob)], dev, "ssvm_ner")
        assert those(issues, "begin with whitespace") == [("error", "train", beginning)] * bool(beginning)
        assert those(issues, "end with whitespace") == [("warning", "train", end)] * bool(end)


def test_entities_across_sentences(check):
    crossing = document(iob=SOUND, sent_starts=[True, True, False])
    inside = document(OTHER, iob=SOUND, sent_starts=[True, False, True])
    for gold_preproc, severity in ((False, "warning"), (True, "error")):
        issues = check([inside], [crossing, inside], "ssvm_ner", gold_preproc=gold_preproc)
        assert those(issues, "across a sentence boundary") == [(severity, "dev", 1)]
        issues = check([inside], [inside], "ssvm_ner", gold_preproc=gold_preproc)
        assert not those(issues, "across")


def test_overlapping_spans(check):
    def count(*spans):
        doc = document(iob=["3 PER", "1 PER", "2"], spans=spans)
        found = those(check([doc], [document(OTHER, iob=SOUND)], "ssvm_ner"), "overlap")
        return sum(count for _, _, count in found)

    assert count((0, 1, "PER")) == 1, "inside an entity"
    assert count((0, 2, "LOC")) == 1, "an entity's tokens with another label"
    assert count((2, 3, "PER"), (2, 3, "LOC")) == 1, "one another"
    assert count((0, 2, "PER"), (2, 3, "LOC")) == 0


def test_misaligned_entities(check):
    doc = document(["New", "Yo", "rk"], spaces=[True, False, False], iob=["3 GPE", "1 GPE", "2"])
    doc.ents = [Span(doc, 0, 2, label="GPE")]
    whole = document(["New", "Yo", "rk"], spaces=[True, False, False])
    whole.ents = [Span(whole, 0, 3, label="GPE")]
    issues = check([doc, whole], [document(OTHER, iob=SOUND)], "ssvm_ner", split=True)
    assert those(issues, "begin or end inside a token") == [("warning", "train", 1)]
    assert those(issues, "without entity annotation") == [("warning", "train", 2)]
    issues = check([doc, whole], [document(OTHER, iob=SOUND)], "ssvm_ner", split=True, gold_preproc=True)
    assert not those(issues, "begin or end inside a token")


def test_sentences(check):
    two = document(sent_starts=[True, False, True])
    one = document(OTHER, sent_starts=[True, False, False])
    partial = document(["so", *FIRST], sent_starts=[True, None, False, True])
    assert those(check([one], [two], "ssvm_senter"), "more than one sentence") == [("error", "train", 0)]
    issues = check([two], [two], "ssvm_senter", gold_preproc=True)
    assert those(issues, "more than one sentence") == [("error", "train", 0), ("error", "dev", 0)]
    issues = check([two, partial, document(OTHER)], [two], "ssvm_senter")
    assert not those(issues, "more than one sentence")
    assert those(issues, "without sentence boundaries") == [("warning", "train", 4)]


def parsed(heads, words=None, **annotation):
    return document(words or [f"w{k}" for k in range(len(heads))], heads=heads, **annotation)


TREE = [1, 1, 1, 4, 4]
"""Two sentences."""


@pytest.mark.parametrize("gold_preproc", [False, True])
@pytest.mark.parametrize("circle", [[1, 2, 0, 3, 3], [2, 1, 0]])
def test_circles(check, circle, gold_preproc):
    """One in a sentence of its own, and one around a root."""
    train = [parsed([1, 1, 1]), parsed(circle)]
    issues = check(train, [parsed([0, 0])], "ssvm_parser", gold_preproc=gold_preproc)
    assert those(issues, "heads contain a cycle") == [("error", "train", 1)]
    assert "document 1, tokens 0-2" in issues[0].where[0]
    assert not those(issues, "another sentence")
    assert not those(check([parsed(TREE)], [parsed([0, 0])], "ssvm_parser"), "circle")


@pytest.mark.parametrize("multi_root", [False, True])
def test_relations_without_heads(check, multi_root):
    bare = document(deps=["x", "ROOT", "y"])
    own = document(heads=[1, 1, 2], deps=["x", "ROOT", "y"])
    issues = check([parsed(TREE), bare, own], [parsed(TREE)], "ssvm_parser", {"multi_root": multi_root})
    assert those(issues, "no head") == [("error", "train", 3 + (not multi_root))]
    (issue,) = [issue for issue in issues if "no head" in issue.what]
    assert "document 1, token 0: 'the'" in issue.where[0]
    assert not those(check([parsed(TREE)], [parsed(TREE)], "ssvm_parser"), "no head")


@pytest.mark.parametrize("gold_preproc", [False, True])
def test_intertwined_trees(check, gold_preproc):
    """spaCy lets a sentence start at the left edge of each root, which cuts other trees that lie around it."""
    around = parsed([2, 3, 2, 3, 2, 3])
    raw = Doc(VOCAB, words=[token.text for token in around])
    assert gold_trees(Example(raw, around), multi_root=False).flaws["crossing"].size == 1
    issues = check([around], [parsed(TREE)], "ssvm_parser", gold_preproc=gold_preproc)
    assert those(issues, "another sentence") == [("error", "train", 1)]
    multi_root = check([around], [parsed(TREE)], "ssvm_parser", {"multi_root": True}, gold_preproc=gold_preproc)
    assert bool(those(multi_root, "another sentence")) == gold_preproc


def test_several_roots(check):
    single, double = parsed([1, 1, 1]), parsed(TREE)
    issues = check([single, parsed([0, 0]), double], [double, double], "ssvm_parser")
    assert those(issues, "several roots") == [("warning", "train", 1)]
    assert not those(check([single, double], [double], "ssvm_parser"), "several roots")
    multi_root = check([single, parsed([0, 0]), double], [double], "ssvm_parser", {"multi_root": True})
    assert not those(multi_root, "several roots")


@pytest.mark.parametrize(
    ("structure", "order", "severity"), [("projective", 3, "warning"), ("nonprojective", 1, "info")]
)
def test_nonprojective_arcs(check, structure, order, severity):
    settings = {"model": {"@architectures": "spacy-ssvm.Tree.v1", "structure": structure, "order": order}}
    crossed = parsed([2, 3, 2, 2, 0])
    issues = check([crossed, parsed([0, 0])], [parsed(TREE)], "ssvm_parser", settings)
    assert those(issues, "not projective") == [(severity, "train", 2)]
    (issue,) = [issue for issue in issues if "not projective" in issue.what]
    assert issue.total == 7 and "in 1 of 2 sentences (50.0 %)" in issue.what


def test_missing_heads_and_long_sentences(check):
    partial = parsed([1, 1, None])
    long = parsed([0] * (MAX_SENTENCE + 1))
    issues = check([partial, long], [parsed(TREE)], "ssvm_parser")
    across = MAX_SENTENCE + 1 - MAX_PART
    assert those(issues, "gold head") == [("warning", "train", 1 + across)]
    assert those(issues, "more than 250 tokens") == [("error", "train", 1)]
    assert not those(check([parsed(TREE)], [parsed(TREE)], "ssvm_parser"), "tokens")


@given(st.data())
def test_circles_are_those_of_spacy(data):
    n = data.draw(st.integers(1, 9))
    heads = data.draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n))
    found = circles(np.array(heads)).tolist()
    assert found == [token for token in range(n) if token in nonproj.ancestors(token, heads)]
    assert bool(found) == (nonproj.contains_cycle(heads) is not None)
    doc = parsed(heads)
    assert arcs(doc).tolist() == heads
    one_sentence = Doc(VOCAB, words=[token.text for token in doc])
    assert bool(gold_trees(Example(one_sentence, doc), multi_root=True).flaws["circular"].size) == bool(found)


@given(st.data())
def test_nonprojective_arcs_are_those_of_spacy(data):
    n = data.draw(st.integers(1, 9))
    order = data.draw(st.permutations(range(n)))
    heads = list(range(n))
    for k in range(1, n):
        heads[order[k]] = order[data.draw(st.integers(0, k - 1))]
    expected = [nonproj.is_nonproj_arc(token, heads) for token in range(n)]
    places = [0 if head == token else head + 1 for token, head in enumerate(heads)]
    assert nonprojective(np.array(places, np.int32)).tolist() == expected


def save_config(folder, **initialize):
    """initialize: its settings of the component."""
    nlp = spacy.blank("en")
    nlp.add_pipe("ssvm_ner", name="chunks")
    nlp.add_pipe("entity_ruler")
    config = nlp.config
    config["corpora"]["train"] = {
        "@readers": "spacy-ssvm.Corpus.v1",
        "path": "${paths.train}",
        "jackknife": ["tag"],
    }
    config["initialize"]["components"]["chunks"] = initialize
    config.to_disk(folder / "config.cfg")


@pytest.fixture
def project(tmp_path):
    save_config(tmp_path)
    many = [parsed([0] * 3, [f"word{k}", "to", "say"], iob=SOUND, tags=list("ABC")) for k in range(20)]
    saved(tmp_path / "sound.spacy", many)
    saved(tmp_path / "dev.spacy", [document(OTHER, iob=SOUND)])
    saved(tmp_path / "rare.spacy", many[:3])
    white = [parsed([0] * 2, ["\n", f"word{k}"], iob=["3 PER", "1 PER"]) for k in range(MAX_PLACES + 2)]
    saved(tmp_path / "defective.spacy", many + white)
    return tmp_path


def arguments(project, train, *others):
    paths = ["--paths.train", project / f"{train}.spacy", "--paths.dev", project / "dev.spacy"]
    return [str(argument) for argument in ("debug-data", project / "config.cfg", *paths, *others)]


def debugged(*args):
    result = call(*args)
    return result.exit_code, plain(result)


def test_command_fails_on_errors_and_on_warnings_if_strict(project):
    """Nothing is jackknifed, though the reader in the config would."""
    code, output = debugged(*arguments(project, "sound", "--strict"))
    assert code == 0 and "0 errors, 0 warnings" in output and "PER 20" in output, output
    code, output = debugged(*arguments(project, "rare"))
    assert code == 0 and "0 errors, 1 warning" in output, output
    code, output = debugged(*arguments(project, "rare", "--strict"))
    assert code == 1 and "train: labels with fewer than 20 occurrences: 1" in output, output
    code, output = debugged(*arguments(project, "defective"))
    assert code == 1 and f"train: entities that begin with whitespace: {MAX_PLACES + 2}" in output, output
    assert "defective.spacy, document 20, tokens 0-1: '\\n word0'" in output and "and 2 more" in output
    assert "word5" not in output


def test_command_counts_in_plain_words(project):
    """A section without issues does not read as one without documents; what is missing is not counted."""
    code, output = debugged(*arguments(project, "sound"))
    assert code == 0 and "Nothing found" not in output and output.count("✔ No problems") == 2, output
    saved(project / "bare.spacy", [document(), document(OTHER)])
    code, output = debugged(*arguments(project, "bare"))
    assert code == 1 and "train: no labels" in output and "labels: 0" not in output, output
    assert "- example 0: 'the first corpus ' (3 tokens)" in output
    assert "train: no examples with a gold tag, which the reader is to jackknife" in output


@pytest.mark.parametrize(("n_tagged", "n_issues"), [(0, 1), (1, 1), (2, 0)])
def test_columns_that_cannot_be_jackknifed(check, n_tagged, n_issues):
    tagged, bare = document(tags=list("ABC")), document()
    docs = [*[tagged] * n_tagged, *[bare] * (2 - n_tagged)]
    issues = check(docs, [tagged, tagged], jackknife=["tag"])
    assert those(issues, "jackknife") == [("error", "train", n_tagged)] * n_issues


def test_labels_of_initialize(project):
    srsly.write_json(project / "labels.json", ["LOC"])
    path = str(project / "labels.json")
    save_config(project, labels={"@readers": "spacy.read_labels.v1", "path": path, "require": True})
    code, output = debugged(*arguments(project, "sound"))
    assert code == 1 and "labels that initialize is not given: 1" in output and "- PER (20)" in output, output
    (project / "labels.json").unlink()
    code, output = debugged(*arguments(project, "sound"))
    assert code == 1 and "labels.json" in output, output


def test_bad_configs_are_explained(project):
    config = str(project / "config.cfg")
    assert "has no path" in refusal("debug-data", config)
    missing = refusal(*arguments(project, "none"))
    assert "The corpora cannot be read" in missing and 'no file or folder "' in missing and "config.cfg" not in missing
    unknown = refusal(*arguments(project, "sound", "--components.chunks.factory", "ssvm_nerd"))
    assert "config.cfg cannot be used" in unknown and "ssvm_nerd" in unknown
    assert "n_threads" in refusal(*arguments(project, "sound", "--components.chunks.n_threads", "many"))
    assert "trains no component" in refusal(*arguments(project, "sound", "--training.frozen_components", '["chunks"]'))
    (project / "dev.spacy").write_bytes(b"no corpus")
    assert "dev.spacy: [E1014]" in refusal(*arguments(project, "sound"))
    assert call("debug-data", project / "none.cfg").exit_code == 2


CHINESE = [["我", "喜欢", "中文", "。"], ["他们", "昨天", "去", "了", "上海", "。"]]


def chinese(words, **annotation):
    return document(words, spaces=[False] * len(words), **annotation)


def test_tokens_that_the_tokenizer_does_not_find_in_raw_text(check):
    """Where components learn from gold tokens, other checks see nothing of it. "NewYork" and "to New" are lost."""
    joined = document(["in", "New", "York"], spaces=[True, False, False])
    split = document(["to New", "York"], spaces=[True, False])
    sound = document(FIRST, spaces=[True, True, False])
    issues = check([joined, sound, split], [sound], split=True, gold_preproc=True)
    assert those(issues, "does not find in the raw text (1 of 3 documents") == [("warning", "train", 3)]
    (issue,) = (issue for issue in issues if "raw text" in issue.what)
    assert issue.where[1] == "train.spacy, document 0, token 2: 'York'" and issue.total == 8
    assert "--merge-subtokens" in issue.remedy
    issues = check([sound] * 19 + [joined], [sound], split=True, gold_preproc=True)
    assert those(issues, "raw text (19 of 20 documents") == [("info", "train", 2)]


def test_a_tokenizer_that_takes_no_texts_is_not_compared():
    nlp = spacy.blank(LANG)
    nlp.tokenizer = None
    assert retokenised(nlp, [document()]) is None


@pytest.mark.parametrize(
    ("lang", "tokenizer", "said"),
    [
        ("zh", {"@tokenizers": "spacy.Tokenizer.v1"}, 'segmenter = "jieba"'),
        ("zh", {"segmenter": "char"}, 'segmenter = "jieba"'),
        ("vi", {"@tokenizers": "spacy.Tokenizer.v1"}, "use_pyvi = true"),
        ("vi", {"use_pyvi": False}, "use_pyvi = true"),
        *((lang, {"@tokenizers": "spacy.Tokenizer.v1"}, f"spacy.{lang}.") for lang in ("ja", "ko", "th")),
        ("tr", {}, "--merge-subtokens"),
    ],
)
def test_the_tokenizer_of_a_language_is_named(lang, tokenizer, said):
    nlp = spacy.blank(lang, config={"nlp": {"tokenizer": tokenizer}})
    found = retokenised(nlp, map(chinese, CHINESE))
    n_strings = len(nlp.vocab.strings)
    assert said in found.remedy and (found.n_docs, found.n_tokens) == (2, 10)
    retokenised(nlp, [document(["unheard", "of"])])
    assert len(nlp.vocab.strings) == n_strings and "unheard" not in nlp.vocab.strings


def test_initialize_warns_once_of_a_tokenizer_that_does_not_find_the_training_tokens():
    nlp = spacy.blank("zh", config={"nlp": {"tokenizer": {"@tokenizers": "spacy.Tokenizer.v1"}}})
    nlp.add_pipe("ssvm_tagger")
    nlp.add_pipe("ssvm_tagger", name="second")
    words = [word for sentence in CHINESE for word in sentence]
    docs = [Doc(nlp.vocab, words=given, tags=given, spaces=[False] * len(given)) for given in CHINESE]
    examples = [Example(Doc(nlp.vocab, words=[token.text for token in gold]), gold) for gold in docs]
    with pytest.warns(UserWarning, match=r"\[ssvm_tagger\] the tokenizer finds only 20\.0 % of the training") as caught:
        nlp.initialize(lambda: examples)
    assert len(caught) == 1 and "spacy.zh.ChineseTokenizer" in str(caught[0].message)
    nlp.tokenizer = Tokenizer(nlp.vocab, infix_finditer=re.compile("|".join(words)).finditer)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp.initialize(lambda: examples)


def test_the_order_of_parser_and_senter_and_a_corpus_in_another_format(tmp_path):
    nlp = spacy.blank(LANG)
    nlp.add_pipe("ssvm_parser")
    nlp.add_pipe("ssvm_senter")
    nlp.config.to_disk(tmp_path / "config.cfg")
    corpus = saved(tmp_path / "corpus.spacy", [document(heads=[0, 0, 0])])
    command = "debug-data", tmp_path / "config.cfg", "--paths.dev", corpus, "--paths.train"
    after = "components that set sentence boundaries, but come after the parser: 1"
    assert after in refusal(*command, corpus)
    (tmp_path / "train.json").write_text("{}")
    config = (tmp_path / "config.cfg").read_text().replace("spacy.Corpus.v1", "spacy-ssvm.Corpus.v1")
    (tmp_path / "config.cfg").write_text(config)
    assert "python -m spacy convert" in refusal(*command, tmp_path / "train.json")
