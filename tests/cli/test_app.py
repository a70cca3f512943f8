"""`spacy ssvm …`, as a user calls it."""

import gzip
import importlib
import inspect
import subprocess
import sys
import warnings

import pytest
import spacy
import srsly
import typer
from spacy.tokens import Doc, DocBin, Token
from spacy.training import Example

from spacy_ssvm.cli.app import COMMANDS, ssvm
from spacy_ssvm.corpus.reader import create_corpus
from spacy_ssvm.registry import ssvm_solvers

from ..kernels.processes import PREDICTION, TRAINING, run
from .calling import call, plain, refusal, said

TEXTS = [
    ("the old dog sees a cat", "D A N V D N"),
    ("a cat sleeps", "D N V"),
    ("old cats see the dog", "A N V D N"),
    ("the dog barks at a bird", "D N V P D N"),
]


def test_the_commands_of_spacy_wait_for_none_of_ours():
    """spaCy imports the group for each of its own commands; a typing error does not import any, either."""
    code = (
        "import sys, spacy.cli, spacy_ssvm.cli.app as app; from typer.testing import CliRunner; "
        "said = CliRunner().invoke(app.ssvm, ['trian']).output; "
        "print('train' in said, sorted(name for name in sys.modules if name.startswith('spacy_ssvm.'))); "
        "sys.argv = ['spacy', 'ssvm', '--help']; spacy.cli.setup_cli()"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, _, help_of_the_group = result.stdout.partition("\n")
    assert first == "True ['spacy_ssvm.cli', 'spacy_ssvm.cli.app', 'spacy_ssvm.registry']"
    assert all(command in help_of_the_group for command in typer.main.get_command(ssvm).commands)


def test_each_command_is_a_function_of_its_module():
    group = typer.main.get_command(ssvm)
    assert list(group.commands) == sorted(group.commands) and "nothing" not in group.commands
    for name, command in group.commands.items():
        module = importlib.import_module(f"spacy_ssvm.cli.{COMMANDS[name]}")
        function = getattr(module, f"{name.replace('-', '_')}_command")
        assert command.name == name and inspect.unwrap(command.callback) is inspect.unwrap(function)
        assert command.help.split("\n")[0] == function.__doc__.split("\n")[0]
        assert bool(command.context_settings) == (name in ("debug-data", "train", "tune"))


def chunks(tags):
    """Noun phrases as entities: what only the given tags can tell of unknown words."""
    entities, inside = [], False
    for tag in tags:
        noun_phrase = tag in "DAN"
        entities.append(("I-NP" if inside and tag != "D" else "B-NP") if noun_phrase else "O")
        inside = noun_phrase
    return entities


def docs(vocab, texts):
    return [
        Doc(vocab, words=text.split(), tags=tags.split(), ents=chunks(tags.split()), sent_starts=[True] + [False] * k)
        for text, tags in texts
        for k in [len(tags.split()) - 1]
    ]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "dev.spacy"
    unseen = [("ze grumpf wug zibs o kel", "D A N V D N"), ("o wug zibs", "D N V")]
    DocBin(docs=docs(spacy.blank("en").vocab, unseen)).to_disk(path)
    return path


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory, corpus):
    """A chunker that reads tags and nothing else, with a corpus of given tags in its config."""
    features = {"@ssvm_features": "spacy-ssvm.Templates.v1", "templates": ["bias", "tag[-1]", "tag[0]", "tag[1]"]}
    nlp = spacy.blank("en")
    model = {"@architectures": "spacy-ssvm.Chain.v1", "features": features}
    nlp.add_pipe("ssvm_ner", config={"model": model})
    examples = []
    for reference in docs(nlp.vocab, TEXTS):
        words = [token.text for token in reference]
        predicted = Doc(nlp.vocab, words=words, tags=[token.tag_ for token in reference])
        examples.append(Example(predicted, reference))
    nlp.initialize(lambda: examples)
    for _ in range(10):
        nlp.update(examples)
    path = tmp_path_factory.mktemp("pipeline")
    nlp.to_disk(path / "plain")
    reader = {"@readers": "spacy-ssvm.Corpus.v1", "path": "${paths.dev}"}
    nlp.config["corpora"] = {
        "train": {**reader, "columns": ["tag"], "gold_preproc": False},
        "dev": {**reader, "columns": "${corpora.train.columns}", "gold_preproc": "${corpora.train.gold_preproc}"},
    }
    nlp.to_disk(path / "with_corpus")
    return path


def scores(tmp_path, *arguments):
    output = said("evaluate", *arguments, "--output", tmp_path / "scores.json")
    return srsly.read_json(tmp_path / "scores.json"), output


@pytest.mark.parametrize("command", ["debug-data", "tune", "train"])
def test_what_is_pasted_twice_into_a_config_is_named_with_its_line(command, tmp_path):
    path = tmp_path / "config.cfg"
    assert call("init-config", path, "--pipeline", "tagger").exit_code == 0
    text = path.read_text()
    output = {"debug-data": [], "tune": [tmp_path / "out.cfg"], "train": ["--output", tmp_path]}[command]
    for pasted, behind, message in (
        ("[training]\nmax_epochs = 3\n", 1, "[training] is given a second time"),
        ("[initialize.components.x]\ny = 1\ny = 2\n", 0, "y of [initialize.components.x] is given a second time"),
    ):
        path.write_text(f"{text}\n\n{pasted}")
        line = len(path.read_text().splitlines()) - behind
        complaint = refusal(command, path, *output, "--paths.train", "x", "--paths.dev", "x")
        assert f"config.cfg, line {line}: {message}" in complaint


def test_spans_are_scored_under_any_key(pipeline, corpus, tmp_path):
    overrides = {"components.ssvm_ner.spans_key": "possible_ones", "components.ssvm_ner.threshold": 0.0}
    spacy.load(pipeline / "with_corpus", config=overrides).to_disk(tmp_path / "model")
    found, output = scores(tmp_path, tmp_path / "model", corpus)
    assert f"SPANS possible_ones R {100 * found['spans_possible_ones_r']:.2f}" in output
    assert "SPANS possible_ones (per type)" in output
    report = tmp_path / "page.html"
    assert call("report", tmp_path / "model", corpus, report).exit_code == 0
    assert "SPANS possible_ones R" in report.read_text("utf8") and "doc.spans[" in report.read_text("utf8")


def test_bad_calls_are_explained(pipeline, corpus, tmp_path):
    nothing = tmp_path / "none.spacy"
    assert call("evaluate", pipeline / "plain", nothing).exit_code == 2
    DocBin(docs=[]).to_disk(nothing)
    assert "No documents" in refusal("evaluate", pipeline / "plain", nothing)
    (tmp_path / "words.tsv").write_text("Dogs\tN\n")
    (tmp_path / "words.json").write_text("{}")
    (tmp_path / "words.spacy").write_text("Dogs\tN\n")
    DocBin(docs=docs(spacy.blank("en").vocab, TEXTS)).to_disk(tmp_path / "good.spacy")
    (tmp_path / "half.spacy").write_bytes((tmp_path / "good.spacy").read_bytes()[:100])
    spacy.blank("en").to_disk(tmp_path / "damaged")
    (tmp_path / "damaged" / "meta.json").write_text("{")
    for arguments, message in (
        ([pipeline / "plain", corpus, "--column", "shape"], "columns names ['shape']; it can name"),
        ([pipeline / "plain", tmp_path / "words.tsv"], "words.tsv, line 1: the last of several columns is to be the"),
        ([pipeline / "plain", tmp_path / "words.json"], "a .spacy or .conllu file: name one file of columns, or"),
        ([pipeline / "plain", tmp_path / "words.spacy"], "words.spacy"),
        ([pipeline / "plain", tmp_path / "half.spacy"], "half.spacy"),
        ([tmp_path / "none", corpus], "cannot be loaded"),
        ([tmp_path / "damaged", corpus], "cannot be loaded"),
    ):
        assert message in refusal("evaluate", *arguments)
    unsaved = refusal("evaluate", pipeline / "plain", corpus, "--output", tmp_path)
    assert "The scores cannot be saved" in unsaved and "NER F" in unsaved


def test_compress_writes_a_smaller_pipeline_that_works_alike(pipeline, corpus, tmp_path):
    before, _ = scores(tmp_path, pipeline / "with_corpus", corpus)
    settings = "--weight-dtype", "float16", "--keep-fraction", 0.9
    assert "ssvm_ner" in said("compress", pipeline / "with_corpus", tmp_path / "small", *settings)
    files = [folder / "ssvm_ner" / "model" for folder in (pipeline / "with_corpus", tmp_path / "small")]
    assert files[1].stat().st_size < files[0].stat().st_size
    after, _ = scores(tmp_path, tmp_path / "small", corpus)
    assert after["ents_f"] == before["ents_f"] == 1.0
    settings = spacy.load(tmp_path / "small").get_pipe_config("ssvm_ner")
    assert (settings["weight_dtype"], settings["keep_fraction"]) == ("float16", 0.9)


def test_what_cannot_be_compressed_is_explained(pipeline, tmp_path):
    plain = pipeline / "plain"
    assert "keep_fraction must be above 0" in call("compress", plain, tmp_path / "out", "--keep-fraction", 0).output
    assert "weight_dtype must be one of" in call("compress", plain, tmp_path / "out", "--weight-dtype", "int4").output
    assert call("compress", plain, tmp_path / "out").exit_code == 0
    assert "compressed already" in refusal("compress", tmp_path / "out", tmp_path / "again")
    spacy.blank("en").to_disk(tmp_path / "blank")
    (tmp_path / "file").write_text("")
    assert "file" in refusal("compress", plain, tmp_path / "file" / "out")
    assert "no component" in refusal("compress", tmp_path / "blank", tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_compressing_a_calibrated_pipeline_says_what_is_lost(pipeline, mistaken, tmp_path):
    assert call("calibrate", pipeline / "with_corpus", mistaken, tmp_path / "calibrated").exit_code == 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        output = said("compress", tmp_path / "calibrated", tmp_path / "small")
    assert f"ssvm_ner is calibrated, which compressed weights make void: calibrate {tmp_path / 'small'} again" in output
    assert not [str(warning.message) for warning in caught if "calibrat" in str(warning.message)]
    assert not spacy.load(tmp_path / "small").get_pipe("ssvm_ner").has_probabilities
    assert spacy.load(tmp_path / "calibrated").get_pipe("ssvm_ner").has_probabilities
    assert "void" not in said("compress", tmp_path / "calibrated", tmp_path / "same", "--weight-dtype", "float32")
    assert spacy.load(tmp_path / "same").get_pipe("ssvm_ner").has_probabilities
    assert call("calibrate", tmp_path / "small", mistaken, tmp_path / "again").exit_code == 0
    assert spacy.load(tmp_path / "again").get_pipe("ssvm_ner").has_probabilities


def test_a_pipeline_is_not_saved_over_itself(pipeline, mistaken, tmp_path, monkeypatch):
    """Rounded weights in place of the only exact ones could not be undone."""
    spacy.load(pipeline / "with_corpus").to_disk(tmp_path / "model")
    before = (tmp_path / "model" / "ssvm_ner" / "model").read_bytes()
    (tmp_path / "link").symlink_to(tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    for arguments in (["compress", "model", tmp_path / "link"], ["calibrate", tmp_path / "model", mistaken, "model/"]):
        assert "itself: name another folder" in refusal(*arguments)
    assert (tmp_path / "model" / "ssvm_ner" / "model").read_bytes() == before
    assert not spacy.load(tmp_path / "model").get_pipe("ssvm_ner").has_probabilities


def test_compress_takes_code_and_disabled_components(tmp_path):
    """The code registers the extension that a feature reads; what is disabled is saved, too."""
    (tmp_path / "code.py").write_text(
        "from spacy.tokens import Token\nToken.set_extension('n_of_test', getter=lambda t: len(t.text), force=True)\n"
    )
    Token.set_extension("n_of_test", getter=lambda token: len(token.text))
    features = {"@ssvm_features": "spacy-ssvm.Templates.v1", "templates": ["_.n_of_test[0]"]}
    nlp = spacy.blank("en")
    nlp.add_pipe("ssvm_ner", config={"model": {"@architectures": "spacy-ssvm.Chain.v1", "features": features}})
    examples = [Example(Doc(nlp.vocab, [t.text for t in doc]), doc) for doc in docs(nlp.vocab, TEXTS)]
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    nlp.disable_pipe("ssvm_ner")
    nlp.to_disk(tmp_path / "model")
    Token.remove_extension("n_of_test")
    said("compress", tmp_path / "model", tmp_path / "small", "--code", tmp_path / "code.py")
    assert Token.has_extension("n_of_test")
    files = [tmp_path / folder / "ssvm_ner" / "model" for folder in ("model", "small")]
    assert files[0].read_bytes() != files[1].read_bytes()
    Token.remove_extension("n_of_test")


@pytest.mark.parametrize(
    ("command", "option"), [("init-config", []), ("report", []), ("tune", []), ("suggest", ["--output"])], ids=str
)
@pytest.mark.parametrize("kind", ["folder", "in a file"])
def test_a_result_that_cannot_be_written_is_refused_before_the_work(command, option, kind, tmp_path):
    (tmp_path / "file").write_text("[nlp]")
    arguments = {"init-config": [], "tune": [tmp_path / "file"]}.get(command, [tmp_path, tmp_path / "file"])
    output = tmp_path if kind == "folder" else tmp_path / "file" / "new" / "result"
    result = call(command, *arguments, *option, output)
    complaint = "is a folder: name a file" if kind == "folder" else f"cannot be written, as {tmp_path / 'file'} is no"
    assert result.exit_code == 2 and complaint in plain(result), result.output


def test_warmup_refuses_an_unknown_solver():
    assert "there is no solver nonsense" in refusal("warmup", "--solver", "dcd,nonsense")


def test_warmup_leaves_out_solvers_whose_package_is_not_installed(monkeypatch):
    def solvers():
        return {block["@ssvm_solvers"] for name in ssvm_solvers.get_all() for block in warmup._blocks(name, True)}

    warmup = importlib.import_module("spacy_ssvm.cli.warmup")
    monkeypatch.setattr(warmup, "find_spec", lambda package: object())
    everything = solvers()
    monkeypatch.setattr(warmup, "find_spec", lambda package: None)
    assert everything == set(ssvm_solvers.get_all()) and everything - solvers() == {"spacy-ssvm.LBFGS.v1"}


@pytest.mark.slow
def test_warmup_compiles_less_for_one_solver(tmp_path, monkeypatch):
    """Nothing that components with this solver need is missing, and the kernels of other solvers are."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    command = [sys.executable, "-m", "spacy", "ssvm", "warmup", "--solver", "dcd"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    stored = {path.name.partition("-outer-")[0] for path in tmp_path.glob("*/*-outer-*")}
    assert "spacy_ssvm.solvers.dcd._oracle_pass" in stored and "spacy_ssvm.solvers.sap._visit" not in stored
    assert run(f"{TRAINING}{PREDICTION}", NUMBA_CACHE_DIR=str(tmp_path)).misses == 0


@pytest.fixture(scope="module")
def mistaken(tmp_path_factory):
    """What the pipeline of the fixture above is wrong about in part."""
    path = tmp_path_factory.mktemp("mistaken") / "dev.spacy"
    found = docs(spacy.blank("en").vocab, TEXTS)
    for doc, wrong in zip(found, (True, False, False, True)):
        if wrong:
            doc.set_ents([doc.ents[0]])
    DocBin(docs=found).to_disk(path)
    return path


def test_calibrate_saves_a_pipeline_with_probabilities(pipeline, mistaken, corpus, tmp_path):
    before = spacy.load(pipeline / "with_corpus")
    arguments = pipeline / "with_corpus", mistaken, tmp_path / "out"
    options = "--component", "ssvm_ner", "--diagram", tmp_path / "plots" / "reliability.svg"
    output = said("calibrate", *arguments, *options)
    assert "Fitted to 4 sequences" in output and "ECE" in output and "0.9 to 1.0" in output
    assert "Before calibration the scores were margins" in output
    assert "Probability Items before Mean before Right before Items after Mean after Right after" in output
    assert "</svg>" in (tmp_path / "plots" / "reliability.svg").read_text()
    assert "nonsense" in refusal("calibrate", *arguments, "--diagram", tmp_path / "plot.nonsense")
    nlp = spacy.load(tmp_path / "out")
    pipe = nlp.get_pipe("ssvm_ner")
    assert pipe.has_probabilities and not before.get_pipe("ssvm_ner").has_probabilities
    # The corpus was read with its given tags, as the pipeline's own config says.
    found = pipe.calibrate(create_corpus(mistaken, columns=["tag"])(nlp))
    assert found.beta == spacy.load(tmp_path / "out").get_pipe("ssvm_ner").inverse_temperature


def test_what_cannot_be_calibrated_is_explained(pipeline, mistaken, corpus, tmp_path, monkeypatch):
    plain, out, nothing = pipeline / "with_corpus", tmp_path / "out", tmp_path / "none.spacy"
    DocBin(docs=[]).to_disk(nothing)
    spacy.blank("en").to_disk(tmp_path / "blank")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for arguments, message in (
        ([plain, mistaken, out, "--component", "tagger"], "has no spacy-ssvm component tagger"),
        ([plain, corpus, out], "no β is the best one"),
        ([plain, nothing, out], "there is nothing to calibrate it on"),
        ([plain, mistaken, out, "--held-out", nothing], "there is nothing to measure the calibration on"),
        ([tmp_path / "blank", mistaken, out], "has no component of spacy-ssvm"),
    ):
        assert message in refusal("calibrate", *arguments)
    assert not out.exists()
    without_it = refusal("calibrate", plain, mistaken, out, "--diagram", tmp_path / "plot.svg")
    assert "needs matplotlib: pip install matplotlib" in without_it
    assert spacy.load(out).get_pipe("ssvm_ner").has_probabilities


UNSEEN = ["the dog barks", "o wug zibs a kel", "a cat sleeps", "o wug zibs a kel"]
"""Texts of words that were seen in training and of others, and one of them twice."""


@pytest.fixture(scope="module")
def reader_of_words(tmp_path_factory):
    """A pipeline of a tagger and a chunker."""
    nlp = spacy.blank("en")
    nlp.add_pipe("ssvm_tagger")
    nlp.add_pipe("ssvm_ner")
    examples = [Example(Doc(nlp.vocab, [t.text for t in doc]), doc) for doc in docs(nlp.vocab, TEXTS)]
    nlp.initialize(lambda: examples)
    for _ in range(5):
        nlp.update(examples)
    path = tmp_path_factory.mktemp("words")
    nlp.to_disk(path)
    return path


def suggested(*arguments):
    result = call("suggest", *arguments)
    assert result.exit_code == 0, result.output
    return [srsly.json_loads(line) for line in result.output.splitlines()]


def test_suggestions_of_each_kind_of_file(reader_of_words, tmp_path):
    """In the order of the component's own ranking: what is new first, and its copy after it."""
    nlp = spacy.load(reader_of_words)
    ranking = list(nlp.get_pipe("ssvm_tagger").suggest(map(nlp.make_doc, UNSEEN)))
    assert ranking[0].number == 1
    (tmp_path / "texts.txt").write_text("\n\n".join(UNSEEN) + "\n", "utf8")
    records = [{"text": text, "meta": {"id": k}} for k, text in enumerate(UNSEEN)]
    srsly.write_jsonl(tmp_path / "texts.jsonl", records)
    # Annotation would be a constraint, which leaves nothing to be unsure of.
    tagged = [Doc(nlp.vocab, words=text.split(), tags=["N"] * len(text.split())) for text in UNSEEN]
    DocBin(docs=[Doc(nlp.vocab), *tagged]).to_disk(tmp_path / "texts.spacy")
    of_tagger = "--component", "ssvm_tagger"
    for name, line in (("txt", lambda k: 2 * k + 1), ("jsonl", lambda k: k + 1), ("spacy", lambda k: k + 2)):
        found = suggested(reader_of_words, tmp_path / f"texts.{name}", *of_tagger)
        assert [record["line"] for record in found] == [line(k) for k, _ in ranking]
        assert [record["score"] for record in found] == pytest.approx([score for _, score in ranking], abs=1e-4)
        assert [record["text"].strip() for record in found] == [UNSEEN[k] for k, _ in ranking]
        assert name != "jsonl" or [record["meta"]["id"] for record in found] == [k for k, _ in ranking]
    ranked = suggested(reader_of_words, tmp_path / "texts.txt", *of_tagger)
    (tmp_path / "windows.txt").write_bytes("\r\n\r\n".join(f"\ufeff{text}" for text in UNSEEN).encode())
    for name in ("texts.txt", "texts.jsonl"):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress((tmp_path / name).read_bytes()))
        assert suggested(reader_of_words, tmp_path / f"{name}.gz", *of_tagger) == suggested(
            reader_of_words, tmp_path / name, *of_tagger
        )
    assert suggested(reader_of_words, tmp_path / "windows.txt", *of_tagger) == ranked
    with (tmp_path / "texts.jsonl").open("ab") as file:
        file.write(b'{"text": "half \\ud800"}\n["a"]\n\xff\n')
    with pytest.warns(UserWarning, match=r"3 lines of .* left out: texts.jsonl, line 5: .*line 6: .*line 7: "):
        assert len(suggested(reader_of_words, tmp_path / "texts.jsonl", *of_tagger)) == 4
    options = *of_tagger, "-k", 1, "-o", tmp_path / "new" / "out.jsonl"
    saved = said("suggest", reader_of_words, tmp_path / "texts.txt", *options)
    assert "Saved 1 suggestions out of 4 texts" in saved
    (first,) = srsly.read_jsonl(tmp_path / "new" / "out.jsonl")
    assert first["text"] == UNSEEN[1]
    assert suggested(reader_of_words, tmp_path / "new" / "out.jsonl", *of_tagger)[0] == {**first, "line": 1}


def test_suggestions_are_made_after_the_components_before(pipeline, reader_of_words, tmp_path):
    """The chunker of the first pipeline reads nothing but tags, which the tagger sets."""
    nlp = spacy.load(pipeline / "plain")
    nlp.add_pipe("ssvm_tagger", source=spacy.load(reader_of_words), before="ssvm_ner")
    nlp.to_disk(tmp_path / "both")
    (tmp_path / "texts.txt").write_text("\n".join(UNSEEN), "utf8")
    with nlp.select_pipes(enable="ssvm_tagger"):
        tagged = list(nlp.pipe(UNSEEN))
    found = suggested(tmp_path / "both", tmp_path / "texts.txt", "--component", "ssvm_ner")
    expected = list(nlp.get_pipe("ssvm_ner").suggest(tagged))
    assert [record["line"] - 1 for record in found] == [k for k, _ in expected]
    assert [record["score"] for record in found] == pytest.approx([round(score, 4) for _, score in expected])


def test_what_cannot_be_suggested_is_explained(pipeline, reader_of_words, tmp_path):
    for name, contents in {"empty.txt": b"\n \n", "bad.jsonl": b'\n{"text"\n', "rows.conllu": b"1\tOslo\n"}.items():
        (tmp_path / name).write_bytes(contents)
    spacy.blank("en").to_disk(tmp_path / "blank")
    plain = pipeline / "plain"
    for arguments, message in (
        ([plain, tmp_path / "empty.txt"], "No texts in"),
        ([plain, tmp_path / "bad.jsonl"], "line 2: this is not JSON"),
        ([plain, tmp_path / "rows.conllu"], "the name of a file of text has to end in .txt"),
        (
            [plain, tmp_path / "empty.txt", "--component", "parser"],
            "has no spacy-ssvm component parser; it has ssvm_ner",
        ),
        ([reader_of_words, tmp_path / "empty.txt"], "name one by --component ssvm_tagger or ssvm_ner"),
        ([tmp_path / "blank", tmp_path / "empty.txt"], "has no component of spacy-ssvm"),
    ):
        assert message in refusal("suggest", *arguments)
