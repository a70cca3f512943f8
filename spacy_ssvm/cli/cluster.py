"""`spacy ssvm cluster`: classes of words from raw text."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, cast

import typer
from spacy.language import Language
from spacy.util import get_lang_class
from tqdm import tqdm
from wasabi import msg

from ..clustering.bigrams import Bigrams, average_mutual_information, count_bigrams
from ..clustering.learning import ClusteringSettings, Method, learn_with_checkpoints, named
from ..corpus.texts import SUFFIXES, find_files, read_sentences
from ..files import replace_files
from .reading import failing


@failing()
def cluster_command(
    inputs: Annotated[
        list[Path],
        typer.Argument(help='Raw text: .txt, .jsonl with "text" (both also .gz), .spacy, folders or patterns'),
    ],
    output: Annotated[Path, typer.Argument(help="File for the classes: class, word and count, separated by tabs")],
    classes: Annotated[int, typer.Option("--classes", "-k", help="Number of classes")] = 1000,
    method: Annotated[
        str, typer.Option("--method", "-m", help="brown, or exchange: words that look alike belong together, too")
    ] = "brown",
    min_count: Annotated[int, typer.Option("--min-count", "-c", min=1, help="Rarer words have no class")] = 2,
    lang: Annotated[str, typer.Option("--lang", "-l", help="Code of the language whose tokenizer splits texts")] = "en",
    tokenised: Annotated[
        bool, typer.Option("--tokenised", "-t", help="The tokens of a text are separated by spaces already")
    ] = False,
    n_threads: Annotated[
        int, typer.Option("--n-threads", "-n", min=1, help="Threads; the classes do not depend on it")
    ] = 1,
) -> None:
    """Learn classes of words from raw text: words with the same neighbours are in one class.

    The names of classes are bit strings, whose prefixes are coarser classes. An interrupted command resumes, from a
    file next to the output, when it is given again.
    """
    settings = ClusteringSettings(cast(Method, method), classes)
    if output.is_dir():
        raise ValueError(f"{output} is a folder: name a file for the classes")
    if output.exists() and output.name.endswith(SUFFIXES):
        raise ValueError(f"{output} is there already, and may be a text: name a file for the classes, such as x.tsv")
    files = find_files(inputs)
    bigrams = count_bigrams(_sentences(files, _blank(lang), tokenised), min_count)
    n_tokens = bigrams.n_pairs - int(bigrams.counts[-1])
    msg.info(f"{n_tokens:,} tokens in {len(files):,} files, {len(bigrams.words):,} words to cluster")
    if len(bigrams.words) < classes:
        msg.warn(f"There are fewer words than classes: each of the {len(bigrams.words):,} words is a class")
    information = _learn(bigrams, settings, output, n_threads)
    msg.good(f"Saved to {output}; average mutual information {information:.4f} bits")


def _blank(lang: str) -> Language:
    try:
        return get_lang_class(lang)()
    except ImportError as error:
        raise ValueError(
            f"--lang {lang}: there is no such language (xx has general rules for tokens), or its tokenizer lacks a "
            f"package: {error}"
        ) from error


def _sentences(files: list[Path], nlp: Language, tokenised: bool) -> Iterator[list[str]]:
    tokenise = str.split if tokenised else lambda text: [token.text for token in nlp.tokenizer(text)]
    with tqdm(files, "Reading", unit=" files", disable=None, leave=False) as progress:
        for path in progress:
            yield from read_sentences(path, tokenise, nlp.vocab)


def _learn(bigrams: Bigrams, settings: ClusteringSettings, output: Path, n_threads: int) -> float:
    """Learn classes and save them; returns their average mutual information."""
    output.parent.mkdir(parents=True, exist_ok=True)
    checkpoint = output.with_name(f"{output.name}.checkpoint")
    if checkpoint.exists():
        msg.info(f"Going on from {checkpoint}, if it is of this text and these settings")
    with tqdm(total=len(bigrams.words), unit=" words", disable=None, leave=False) as progress:
        for state in learn_with_checkpoints(checkpoint, bigrams, settings, n_threads):
            progress.set_description("Merging" if state.stage == "window" else f"Sweep {state.sweep + 1}", False)
            progress.n = state.word
            progress.update(0)
    classes = named(bigrams, state.classes)
    counts = dict(zip(bigrams.words, bigrams.counts.tolist()))
    order = sorted(classes, key=lambda word: (classes[word], -counts[word], word))
    lines = "".join(f"{classes[word]}\t{word}\t{counts[word]}\n" for word in order)
    replace_files(output.parent, {output.name: lines.encode("utf8")})
    checkpoint.unlink(missing_ok=True)
    return average_mutual_information(bigrams, state.classes)
