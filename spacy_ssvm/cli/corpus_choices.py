"""Choices for a corpus: language, components, what they read besides text, also of each other, and settings."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..corpus.description import CorpusDescription
from ..corpus.word_lists import WordLists, feature_settings
from ..files import listed
from ..wording import counted
from .settings import ANY_LANGUAGE, CHUNK_TEMPLATES, READ_TAGS, TAGGERS, spacy_language

ANNOTATED = 0.5
"""The share of words that have an annotation, from which it is learnt; FEATS have a smaller share in many languages."""

CROSSING = 0.2
"""The share of sentences with crossing arcs from which the parser is non-projective.

On development sets of UD 2.5, LAS of the projective and the non-projective parser: Afrikaans (22 % of the sentences)
82.4 and 83.1, Hungarian (26 %) 70.2 and 70.6, Gothic (17 %) 74.4 and 74.5, Irish (16 %) 71.8 and 71.9.
"""

SEVERAL_ROOTS = 0.05
"""The min share of sentences with several roots for the parser to allow several; a smaller one is taken for errors."""

DECIDED = 0.95
"""The min share of words whose FEATS follow from their tags for the parser not to read FEATS.

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

EXTRA = {name: f"components.{name}.model.features.extra" for name in TAGGERS}
"""Tagger → the name of the setting with further templates."""

LEMMAS = {"components.parser.model.features.lemmas": True, "corpora.train.columns": ["lemma"]}
"""Settings by which a parser reads lemmas."""

RARE_ENTITIES = 0.07
"""The share of words in entities below which losses at words outside of them count less.

On the development part of WNUT-17 (5 % of the words), with word lists, F1 is 43.2 with 1, 44.9 with 0.5, 44.5 with 0.3
(6 epochs, one seed; these differences are within noise). CoNLL-2002 Dutch has 9.5 %, Spanish 12 %.
"""

OUTSIDE_COST = 0.3
"""The factor of losses at words outside of rare entities."""

NEIGHBOURING_WORDS = ["lower[-2]+lower[-1]", "lower[1]+lower[2]", "lower[-1]+lower[1]", "lower[-1]+lower[0]+lower[1]"]
"""Templates of entity recognisers and chunkers, of two and three words around a word.

With word lists, F1 on development parts, means of epochs 8 to 12 without and with them: CoNLL-2002 Spanish 79.0 and
79.6, Dutch 79.4 and 79.2, WNUT-17 45.3 and 45.9 (one seed).
"""

CHUNK_CONTEXT = [
    *("tag[-3]", "tag[3]", "tag[-3]+tag[-2]", "tag[2]+tag[3]", "tag[-1]+tag[1]"),
    *("lower[0]", "lower[0]+tag[-1]", "lower[0]+tag[1]", "lower[-1]+tag[0]", "lower[1]+tag[0]"),
]
"""Templates of chunkers besides NEIGHBOURING_WORDS.

F1 on the last tenth of CoNLL-2000's training part, with word lists, means of epochs 8 to 15 without and with both:
95.1 and 95.3 (two seeds).
"""

DOCUMENT_WORDS = 100
"""The min mean number of words for Docs without sentence boundaries to count as documents."""

MAX_KNOWN = 0.1
"""The max share of development Docs that may have the text of a training Doc: short sentences recur."""

RESOURCES = "${paths.resources}"
"""The folder of word lists, as configs name it."""

TRAINING = {"max_epochs": 20, "patience": 8}
"""Settings of training: the scores of small treebanks rise and fall from epoch to epoch, and rise in the long run.

With a patience of 4, training ends after 13 epochs for Vietnamese-VTB 2.5, and after 12 for Afrikaans-AfriBooms with
projective trees; with 8, after 20 epochs, the best LAS in the training table is 0.2 and 0.4 higher. The five other
treebanks have the same best epoch, and take up to a quarter longer.
"""


@dataclass
class Choices:
    """Settings that suit a corpus.

    Attributes:
        lang: a language of spaCy.
        components: names in `settings.COMPONENTS`.
        read: the columns that lemmatizer and parser read, and that are jackknifed.
        tag_of: UPOS → XPOS, if UPOS determines it and there is no tagger.
        settings: the ones that differ from those of a config for these components, by their names in the config.
        lists: component → the settings of its features by which it reads word lists.
        reasons: of each setting, by its name in the config.
    """

    lang: str
    components: list[str] = field(default_factory=list)
    read: dict[str, tuple[str, ...]] = field(default_factory=dict)
    tag_of: Mapping[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    lists: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def add(self, component: str, reason: str) -> None:
        """Choose a component."""
        self.components.append(component)
        self.reasons[f"components.{component}"] = reason

    def leave_out(self, component: str, reason: str) -> None:
        """Do without a component."""
        self.reasons[f"components.{component}"] = f"none: {reason}"


FULL = Choices(
    "en",
    ["senter", "tagger", "pos_tagger", "morphologizer", "lemmatizer", "parser"],
    {"lemmatizer": ("tag", "pos", "morph"), "parser": ("tag", "morph", "pos")},
    settings={**dict.fromkeys(EXTRA.values(), LONG_AFFIXES), **LEMMAS},
)
"""Choices for a small treebank that annotates everything, with few crossing arcs.

Templates of single morphological features and of lemmas raise LAS on development sets of UD 2.5, with predicted tags,
features, lemmas and sentences, from 57.7 by 1.8 and 0.6 for Turkish, from 64.6 by 1.1 and 0.5 for Gothic, from 81.7 by
1.0 and 0.0 for Greek, and from 68.7 by 0.6 and 0.1 for Hungarian (means of the last four of ten epochs).
"""


def choose(
    corpus: CorpusDescription,
    lang: str | None = None,
    of_file: str | None = None,
    merge_subtokens: bool = False,
    named: Collection[str] = (),
    lists: WordLists | None = None,
) -> Choices:
    """The choices for a corpus.

    Args:
        lang: the code of its language; None: as in the lists, or in the file name.
        of_file: the code in the name of the training file, None if there is none.
        named: the components to choose among, all if none is named.
        lists: word lists for the components to read.

    Raises:
        ImportError: the tokenizer of `lang` needs a package that is not installed.
        ValueError: the corpus annotates nothing to learn, or not what a named component learns; or the lists are of
            another language.
    """
    found, reason = _language(lang, of_file, lists)
    choices = Choices(found, reasons={"nlp.lang": reason})
    if "chunker" in named:
        _choose_chunker(choices, corpus)
    else:
        _choose_components(choices, corpus, named)
        _choose_reader(choices, corpus, merge_subtokens)
    if "ner" in choices.components:
        _choose_for_entities(choices, corpus)
    if "parser" in choices.components:
        _choose_structure(choices, corpus)
    _choose_lists(choices, lists)
    choices.reasons["training.logger.compress"] = (
        "the best pipeline is saved with as few bits as cost nothing on the development corpus; false saves all"
    )
    return choices


def _language(lang: str | None, of_file: str | None, lists: WordLists | None) -> tuple[str, str]:
    """The language, and why."""
    if lang is not None:
        found, reason = spacy_language(lang)
        if lists is not None and lists.lang != found:
            raise ValueError(f"the word lists in {lists.folder} are of the language {lists.lang}, not {found}")
        return found, reason or "as --lang says"
    if lists is not None:
        return lists.lang, "that of the word lists"
    if of_file is None:
        return ANY_LANGUAGE, "no language: the name of the training file does not begin with a code; --lang names one"
    try:
        found, reason = spacy_language(of_file)
    except ImportError:
        found, reason = ANY_LANGUAGE, f"a package is missing for spaCy's language {of_file}"
    return found, f"{reason}; --lang names another" if reason else "from the name of the training file"


def _choose_components(choices: Choices, corpus: CorpusDescription, named: Collection[str]) -> None:
    components, reasons = choices.components, choices.reasons
    if corpus.n_docs == 1:
        choices.leave_out("senter", "the training corpus is one Doc, which is learnt from sentence by sentence")
    elif corpus.n_docs < corpus.n_sentences:
        choices.add("senter", "the training texts have several sentences")
    else:
        choices.leave_out("senter", "each training text is one sentence, so that no boundary can be learnt")
    if corpus.xpos < ANNOTATED:
        choices.leave_out("tagger", f"{_percent(corpus.xpos)} of the words have XPOS")
    elif "tagger" not in named and corpus.upos >= ANNOTATED and all(map(_can_be_table, corpus.xpos_of.values())):
        choices.tag_of = {upos: tag for upos, (tag,) in sorted(corpus.xpos_of.items()) if upos}
        choices.leave_out("tagger", "XPOS follows from UPOS, by the patterns of the attribute_ruler")
    else:
        decided = all(len(tags) == 1 for tags in corpus.xpos_of.values())
        why = "some with $, which a table in a config cannot have" if decided else "and UPOS does not decide it"
        choices.add("tagger", f"{_percent(corpus.xpos)} of the words have XPOS, {why}")
    _choose_if_annotated(choices, "pos_tagger", "UPOS", corpus.upos)
    if corpus.feats > 0:
        left = ", which it leaves to the pos_tagger" if "pos_tagger" in components else ""
        analyses = f"{corpus.n_analyses:,} combinations with UPOS{left}"
        choices.add("morphologizer", f"{_percent(corpus.feats)} of the words have FEATS, in {analyses}")
    else:
        choices.leave_out("morphologizer", "no word has FEATS")
    _choose_if_annotated(choices, "lemmatizer", "LEMMA", corpus.lemmas)
    _choose_if_annotated(choices, "parser", "HEAD", corpus.heads)
    if corpus.entities:
        labels = counted(len(corpus.entities), "label")
        choices.add("ner", f"{sum(corpus.entities.values()):,} entities with {labels}")
    else:
        choices.leave_out("ner", "no word is in an entity")
    if not set(components) - {"senter"}:
        raise ValueError("the training corpus has no annotation to learn: XPOS, UPOS, LEMMA, HEAD or entities")
    if named:
        _keep_named(choices, named)
    if corpus.n_words < LARGE_TREEBANK and EXTRA.keys() & set(components):
        choices.settings |= {EXTRA[name]: LONG_AFFIXES for name in components if name in EXTRA}
        reasons["components.*tagger.model.features.extra"] = (
            f"long affixes help taggers that learn from fewer than {LARGE_TREEBANK:,} words"
        )
    sets = {"tag": "tagger", "pos": "pos_tagger", "morph": "morphologizer"}
    for name, columns in FULL.read.items():
        read = tuple(column for column in columns if sets[column] in components)
        if name in components and read:
            choices.read[name] = read
    read = choices.read.get("parser", ())
    if "morph" in read and len(read) > 1 and corpus.feats_by_tags >= DECIDED:
        choices.read["parser"] = tuple(column for column in read if column != "morph")
        reasons["components.parser.model.features.tags"] = (
            f"no morph: FEATS follow from the tags of {_percent(corpus.feats_by_tags)} of the words"
        )
    if choices.read:
        reasons["corpora.train.jackknife"] = (
            "lemmatizer and parser read this annotation, and learn from it with errors as in use"
        )
    if "lemmatizer" in components and "morph" in choices.read.get("parser", ()):
        choices.settings |= LEMMAS
        reasons["corpora.train.columns"] = (
            "the parser reads lemmas: gold ones are nearer to those of the lemmatizer than jackknifed ones would be"
        )


def _keep_named(choices: Choices, named: Collection[str]) -> None:
    """Leave out unnamed components, except taggers whose tags others read."""
    if missing := sorted(set(named) - set(choices.components)):
        reasons = "; ".join(f"{name}: {choices.reasons[f'components.{name}']}" for name in missing)
        raise ValueError(f"--pipeline names what the corpus does not annotate: {reasons}")
    kept = {*named, *(TAGGERS if set(named) & set(READ_TAGS) else ())}
    for name in [name for name in choices.components if name not in kept]:
        choices.components.remove(name)
        choices.leave_out(name, "--pipeline does not name it")
    if "pos_tagger" not in choices.components:
        choices.tag_of = {}


def _choose_chunker(choices: Choices, corpus: CorpusDescription) -> None:
    if not corpus.entities or corpus.xpos < ANNOTATED:
        raise ValueError("the training corpus does not annotate what a chunker learns: XPOS, and chunks as entities")
    labels = counted(len(corpus.entities), "label")
    choices.add("chunker", f"as --pipeline says; {sum(corpus.entities.values()):,} chunks with {labels}")
    choices.reasons["corpora.*.columns"] = "a chunker reads gold tags"
    templates = "components.chunker.model.features.templates"
    choices.settings[templates] = [*CHUNK_TEMPLATES, *NEIGHBOURING_WORDS, *CHUNK_CONTEXT]
    choices.reasons[templates] = "further words and tags, and pairs of a word and a tag, raised F1 on CoNLL-2000"


def _choose_for_entities(choices: Choices, corpus: CorpusDescription) -> None:
    reasons, document = choices.reasons, "components.ner.model.features.document"
    n_sentences, n_words = corpus.n_sentences / corpus.n_docs, corpus.n_words / corpus.n_docs
    choices.settings[document] = corpus.n_docs > 1 and (n_sentences >= 2 or n_words >= DOCUMENT_WORDS)
    if choices.settings[document]:
        reasons[document] = (
            f"a Doc has {n_sentences:.1f} sentences and {n_words:.0f} "
            "words: other occurrences of a word in its document are read, too, so use the pipeline on whole documents"
        )
        if "senter" not in choices.components:
            for part in ("train", "dev"):
                whole = {f"corpora.{part}.gold_preproc": False, f"corpora.{part}.columns": ["sent_start"]}
                choices.settings |= whole
    else:
        reasons[document] = "no: the Docs are no documents of several sentences"
        if "senter" not in choices.components:
            choices.settings |= {f"corpora.{part}.gold_preproc": True for part in ("train", "dev")}
    choices.settings["components.ner.model.features.extra"] = NEIGHBOURING_WORDS
    reasons["components.ner.model.features.extra"] = (
        "words around a word are read together, too, which raised F1 for two of three corpora"
    )
    share = f"{_percent(corpus.in_entities)} of the words are in entities"
    if corpus.in_entities < RARE_ENTITIES:
        choices.settings["components.ner.label_costs"] = {"O": OUTSIDE_COST}
        reasons["components.ner.label_costs"] = f"{share}, less than {_percent(RARE_ENTITIES)}: fewer are to be missed"
    else:
        reasons["components.ner.label_costs"] = f"none: {share}, at least {_percent(RARE_ENTITIES)}"
    if corpus.with_entities < 1:
        reasons["components.ner"] += (
            f"; of {_percent(1 - corpus.with_entities)} of the words it is not said whether they are in one, and any "
            "analysis of these is right"
        )


def _choose_lists(choices: Choices, lists: WordLists | None) -> None:
    if lists is None:
        lang = "LANG" if choices.lang == ANY_LANGUAGE else choices.lang
        choices.reasons["components.*.model.features"] = (
            f"no word lists: make some by python -m spacy ssvm resources {lang} FOLDER, and name them with --resources"
        )
        return
    for name in choices.components:
        if read := [one for one in lists.lists if name in one.components]:
            choices.lists[name] = feature_settings(read, RESOURCES)
            choices.reasons[f"components.{name}.model.features"] = f"word lists: {', '.join(one.name for one in read)}"
    for name, reason in lists.lacking.items():
        choices.reasons[f"word list {name}"] = f"none: {reason}"


def _can_be_table(tags: Collection[str]) -> bool:
    """Whether a table in the config can map UPOS to XPOS; tags: the XPOS tags of one UPOS tag."""
    # Reading and writing a config doubles each dollar sign.
    return len(tags) == 1 and "$" not in next(iter(tags))


def _choose_if_annotated(choices: Choices, name: str, column: str, share: float) -> None:
    """Choose a component if a large enough share of the words has a value in the column that it learns from."""
    note = choices.add if share >= ANNOTATED else choices.leave_out
    note(name, f"{_percent(share)} of the words have {column}")


def _choose_reader(choices: Choices, corpus: CorpusDescription, merge_subtokens: bool) -> None:
    choices.reasons["corpora.train.gold_tokens"] = (
        "components learn from the words of the corpus, and are scored on them; on text, they get those of "
        "[nlp.tokenizer]" + (f". {corpus.n_with_spaces:,} words contain spaces" if corpus.n_with_spaces else "")
    )
    if not corpus.is_conllu:
        return
    what, reason = f"{corpus.n_multi_words:,} multi-word tokens", "there are no multi-word tokens"
    if corpus.n_multi_words and merge_subtokens:
        reason = f"each of {what} is one token, as in text"
    elif corpus.n_multi_words:
        reason = (
            f"{what} are divided into their words, as UD is evaluated, and no tokenizer of spaCy divides text; for use "
            "on text, write the config with --merge-subtokens"
        )
    choices.reasons["corpora.train.merge_subtokens"] = reason


def _choose_structure(choices: Choices, corpus: CorpusDescription) -> None:
    model, limit = "components.parser.model", "less than"
    if corpus.crossing >= CROSSING:
        choices.settings |= {f"{model}.structure": "nonprojective", f"{model}.order": 2}
        limit = "at least"
    share = f"{_percent(corpus.crossing)} of the sentences have crossing arcs"
    choices.reasons[f"{model}.structure"] = f"{share}: {limit} {_percent(CROSSING)}"
    if corpus.several_roots:
        choices.settings["components.parser.multi_root"] = corpus.several_roots >= SEVERAL_ROOTS
        choices.reasons["components.parser.multi_root"] = (
            f"{_percent(corpus.several_roots)} of the sentences have several roots; from "
            f"{_percent(SEVERAL_ROOTS)} on, the parser may choose several"
        )


def described(corpus: CorpusDescription) -> list[str]:
    """Lines about a corpus, for comments and messages."""
    lines = [f"{corpus.train}: {corpus.n_sentences:,} sentences, {corpus.n_words:,} words, {corpus.n_docs:,} Docs"]
    if corpus.is_conllu:
        lines.append(
            f"{corpus.n_multi_words:,} multi-word tokens, {corpus.n_with_spaces:,} words with spaces, "
            f"{corpus.n_empty:,} empty nodes (left out), {_percent(corpus.no_space)} of the words without a space "
            "after them"
        )
    if corpus.dev is None:
        kept_back = "a tenth of the training corpus is kept back if the config is written to a file"
        lines.append(f"There is no development corpus: {kept_back}")
    else:
        lines.append(f"Development corpus: {corpus.dev}")
        if corpus.n_known > MAX_KNOWN * corpus.n_dev:
            lines.append(
                f"{corpus.n_known:,} of its {counted(corpus.n_dev, 'Doc')} are training Docs, too: scores on it say "
                "little about new text. Name another one, or remove them from training"
            )
        unseen = sorted(corpus.dev_entities.keys() - corpus.entities.keys())
        if corpus.entities and not corpus.dev_entities:
            lines.append("It has no entities: scores of an entity recogniser on it say nothing")
        elif corpus.entities and unseen:
            n_unseen = sum(corpus.dev_entities[label] for label in unseen)
            lines.append(
                f"{n_unseen:,} of its {sum(corpus.dev_entities.values()):,} entities have labels that the training "
                f"corpus does not have: {listed(unseen)}"
            )
    if corpus.bad:
        lines.append(f"{len(corpus.bad):,} {corpus.pieces} cannot be read and are left out: {listed(corpus.bad)}")
    return lines


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
