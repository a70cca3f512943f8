"""Choices for a treebank: language, components, what they read of each other, and the structure of the parser."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote

from ..corpus.reader import corpus_files
from ..corpus.treebank import Treebank
from ..files import listed
from .languages import ANY_LANGUAGE, spacy_language

ANNOTATED = 0.5
"""The share of words that have an annotation, from which it is learnt; that of FEATS is smaller in many languages."""

CROSSING = 0.2
"""The share of sentences with crossing arcs from which the parser is non-projective.

On development sets of UD 2.5, LAS of the projective and the non-projective parser: Afrikaans (22 % of the sentences)
82.4 and 83.1, Hungarian (26 %) 70.2 and 70.6, Gothic (17 %) 74.4 and 74.5, Irish (16 %) 71.8 and 71.9.
"""

SEVERAL_ROOTS = 0.05
"""The share of sentences with several roots from which the parser may choose several; a few are taken for errors."""

DECIDED = 0.95
"""The share of words whose FEATS follow from their tags from which the parser does not read FEATS.

Afrikaans-AfriBooms 2.5, where all follow: LAS on the development set 81.5 with them, 81.8 without.
"""

LARGE_TREEBANK = 100_000
"""The number of training words from which the taggers do without LONG_AFFIXES.

On development sets of UD 2.5, these raise UPOS by 0.9 points for Turkish, 0.4 for Gothic, 0.3 for Hungarian, 0.2 for
Greek, 0.1 for Afrikaans and Irish (20,000 to 42,000 words; means of the last four of 14 epochs), and XPOS by −0.1 to
0.3; for English-EWT (205,000 words), by less than 0.1.
"""

LONG_AFFIXES = [*(f"lower_prefix{n}[0]" for n in (5, 6, 7, 8)), *(f"lower_suffix{n}[0]" for n in (6, 7, 8))]
"""Templates of taggers."""

TRAINING = {"max_epochs": 20, "patience": 8}
"""Settings of training: the scores of small treebanks rise and fall from epoch to epoch, and rise in the long run.

With a patience of 4, training ends after 13 epochs for Vietnamese-VTB 2.5, and after 12 for Afrikaans-AfriBooms with
projective trees; with 8, after 20 epochs, the best LAS in the training table is 0.2 and 0.4 higher. The five other
treebanks have the same best epoch, and take up to a quarter longer.
"""


@dataclass
class Choices:
    """Settings that suit a treebank.

    Attributes:
        lang: a language of spaCy.
        components: names, as `init_config.COMPONENTS` has them.
        read: the columns that lemmatizer and parser read, and that are jackknifed.
        lemmas: whether the parser reads lemmas, too.
        affixes: templates that the taggers read, too.
        tag_of: UPOS → XPOS, if it decides it and there is no tagger.
        model: settings of the parser's model, other than the default.
        multi_root: a setting of the parser.
        reasons: of each setting, by its name in the config.
    """

    lang: str
    components: list[str] = field(default_factory=list)
    read: dict[str, tuple[str, ...]] = field(default_factory=dict)
    lemmas: bool = False
    affixes: Sequence[str] = ()
    tag_of: Mapping[str, str] = field(default_factory=dict)
    model: dict[str, object] = field(default_factory=dict)
    multi_root: bool = False
    reasons: dict[str, str] = field(default_factory=dict)


FULL = Choices(
    "en",
    ["senter", "tagger", "pos_tagger", "morphologizer", "lemmatizer", "parser"],
    {"lemmatizer": ("tag", "pos", "morph"), "parser": ("tag", "morph", "pos")},
    lemmas=True,
    affixes=LONG_AFFIXES,
)
"""Choices for a small treebank that annotates everything, with few crossing arcs.

Templates of single morphological features and of lemmas raise LAS on development sets of UD 2.5, with predicted tags,
features, lemmas and sentences, from 57.7 by 1.8 and 0.6 for Turkish, from 64.6 by 1.1 and 0.5 for Gothic, from 81.7 by
1.0 and 0.0 for Greek, and from 68.7 by 0.6 and 0.1 for Hungarian (means of the last four of ten epochs).
"""


def choose(treebank: Treebank, lang: str | None, merge_subtokens: bool) -> Choices:
    """The choices for a treebank. lang: the code of its language, None for that of the treebank.

    Raises:
        ImportError: the tokenizer of `lang` needs a package that is not installed.
        ValueError: the treebank annotates nothing to learn.
    """
    found, reason = _language(treebank, lang)
    choices = Choices(found, reasons={"nlp.lang": reason})
    _choose_components(choices, treebank)
    _choose_reader(choices, treebank, merge_subtokens)
    if "parser" in choices.components:
        _choose_structure(choices, treebank)
    choices.reasons["training.logger.compress"] = (
        "the best pipeline is saved with as few bits as cost nothing on the development corpus; false saves all"
    )
    return choices


def _language(treebank: Treebank, lang: str | None) -> tuple[str, str]:
    """The language, and why."""
    if lang is not None:
        found, reason = spacy_language(lang)
        return found, reason or "as --lang says"
    if treebank.lang is None:
        return ANY_LANGUAGE, "no language: the name of the training file does not begin with a code; --lang names one"
    try:
        found, reason = spacy_language(treebank.lang)
    except ImportError:
        found, reason = ANY_LANGUAGE, f"a package is missing for spaCy's language {treebank.lang}"
    return found, f"{reason}; --lang names another" if reason else "from the name of the training file"


def _choose_components(choices: Choices, treebank: Treebank) -> None:
    components, reasons = choices.components, choices.reasons
    if treebank.n_docs < treebank.n_sentences:
        components.append("senter")
        reasons["components.senter"] = "the training texts have several sentences"
    else:
        reasons["components.senter"] = "none: each training text is one sentence, so that no boundary can be learnt"
    if treebank.xpos < ANNOTATED:
        reasons["components.tagger"] = f"none: {_percent(treebank.xpos)} of the words have XPOS"
    elif treebank.upos >= ANNOTATED and all(map(_can_be_table, treebank.xpos_of.values())):
        choices.tag_of = {upos: tag for upos, (tag,) in sorted(treebank.xpos_of.items()) if upos}
        reasons["components.tagger"] = "none: XPOS follows from UPOS, by the patterns of the attribute_ruler"
    else:
        components.append("tagger")
        decided = all(len(tags) == 1 for tags in treebank.xpos_of.values())
        why = "some with $, which a table in a config cannot have" if decided else "and UPOS does not decide it"
        reasons["components.tagger"] = f"{_percent(treebank.xpos)} of the words have XPOS, {why}"
    _choose_if_annotated(choices, "pos_tagger", "UPOS", treebank.upos)
    if treebank.feats > 0:
        components.append("morphologizer")
        left = ", which it leaves to the pos_tagger" if "pos_tagger" in components else ""
        reasons["components.morphologizer"] = (
            f"{_percent(treebank.feats)} of the words have FEATS, in {treebank.n_analyses:,} combinations with UPOS"
            f"{left}"
        )
    else:
        reasons["components.morphologizer"] = "none: no word has FEATS"
    _choose_if_annotated(choices, "lemmatizer", "LEMMA", treebank.lemmas)
    _choose_if_annotated(choices, "parser", "HEAD", treebank.heads)
    if not set(components) - {"senter"}:
        raise ValueError(f"{treebank.train} has no annotation to learn: XPOS, UPOS, LEMMA or HEAD")
    if treebank.n_words < LARGE_TREEBANK and {"tagger", "pos_tagger"} & set(components):
        choices.affixes = LONG_AFFIXES
        reasons["components.*tagger.model.features.extra"] = (
            f"long affixes help taggers that learn from fewer than {LARGE_TREEBANK:,} words"
        )
    known = {
        "tag": "tagger" in components,
        "pos": "pos_tagger" in components,
        "morph": "morphologizer" in components,
    }
    for name, columns in FULL.read.items():
        read = tuple(column for column in columns if known[column])
        if name in components and read:
            choices.read[name] = read
    read = choices.read.get("parser", ())
    if "morph" in read and len(read) > 1 and treebank.feats_by_tags >= DECIDED:
        choices.read["parser"] = tuple(column for column in read if column != "morph")
        reasons["components.parser.model.features.tags"] = (
            f"no morph: FEATS follow from the tags of {_percent(treebank.feats_by_tags)} of the words"
        )
    if choices.read:
        reasons["corpora.train.jackknife"] = (
            "lemmatizer and parser read this annotation, and learn from it with errors as in use"
        )
    if "lemmatizer" in components and "morph" in choices.read.get("parser", ()):
        choices.lemmas = True
        reasons["corpora.train.columns"] = (
            "the parser reads lemmas: gold ones are nearer to those of the lemmatizer than jackknifed ones would be"
        )


def _can_be_table(tags: Collection[str]) -> bool:
    """Whether UPOS decides XPOS, of which these are the tags for one UPOS, in a table of the config."""
    # Reading and writing a config doubles each dollar sign.
    return len(tags) == 1 and "$" not in next(iter(tags))


def _choose_if_annotated(choices: Choices, name: str, column: str, share: float) -> None:
    """Choose a component if a large enough share of the words has a value in the column that it learns from."""
    reason = f"{_percent(share)} of the words have {column}"
    if share >= ANNOTATED:
        choices.components.append(name)
        choices.reasons[f"components.{name}"] = reason
    else:
        choices.reasons[f"components.{name}"] = f"none: {reason}"


def _choose_reader(choices: Choices, treebank: Treebank, merge_subtokens: bool) -> None:
    choices.reasons["corpora.train.gold_tokens"] = (
        "components learn from the words of the treebank, and are scored on them; on text, they get those of "
        "[nlp.tokenizer]" + (f". {treebank.n_with_spaces:,} words contain spaces" if treebank.n_with_spaces else "")
    )
    what = f"{treebank.n_multi_words:,} multi-word tokens"
    if not treebank.n_multi_words:
        choices.reasons["corpora.train.merge_subtokens"] = "there are no multi-word tokens"
    elif merge_subtokens:
        choices.reasons["corpora.train.merge_subtokens"] = f"each of {what} is one token, as in text"
    else:
        choices.reasons["corpora.train.merge_subtokens"] = (
            f"{what} are divided into their words, as UD is evaluated, and no tokenizer of spaCy divides text; for use "
            "on text, write the config with --merge-subtokens"
        )


def _choose_structure(choices: Choices, treebank: Treebank) -> None:
    share = f"{_percent(treebank.crossing)} of the sentences have crossing arcs"
    if treebank.crossing >= CROSSING:
        choices.model = {"structure": "nonprojective", "order": 2}
        choices.reasons["components.parser.model.structure"] = f"{share}: at least {_percent(CROSSING)}"
    else:
        choices.reasons["components.parser.model.structure"] = f"{share}: less than {_percent(CROSSING)}"
    if treebank.several_roots:
        choices.multi_root = treebank.several_roots >= SEVERAL_ROOTS
        choices.reasons["components.parser.multi_root"] = (
            f"{_percent(treebank.several_roots)} of the sentences have several roots; from "
            f"{_percent(SEVERAL_ROOTS)} on, the parser may choose several"
        )


def described(treebank: Treebank) -> list[str]:
    """Lines about a treebank, for comments and messages."""
    lines = [
        f"{treebank.train}: {treebank.n_sentences:,} sentences, {treebank.n_words:,} words, {treebank.n_docs:,} Docs",
        f"{treebank.n_multi_words:,} multi-word tokens, {treebank.n_with_spaces:,} words with spaces, "
        f"{treebank.n_empty:,} empty nodes (left out), {_percent(treebank.no_space)} of the words without a space "
        "after them",
    ]
    if treebank.dev is None:
        lines += [
            "There is no development file *dev*.conllu. Keep a tenth back, and write the config for the two parts:",
            *_dividing(treebank.train),
        ]
    else:
        lines.append(f"Development file: {treebank.dev}")
    if treebank.bad:
        lines.append(f"{len(treebank.bad):,} sentences cannot be read and are left out: {listed(treebank.bad)}")
    return lines


def _dividing(train: Path) -> list[str]:
    """Commands that divide a treebank into two files, whose names tell its language."""
    name = corpus_files(train)[0].name
    names = [name if "train" in name else f"{Path(name).stem}-train.conllu"]
    names.append(names[0].replace("train", "dev"))
    parts = " ".join(quote(f"parts/{name}") for name in names)
    return [
        f"python -m spacy ssvm split {quote(str(train))} {parts}",
        "python -m spacy ssvm init-config --treebank parts CONFIG",
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
