"""The config of a corpus: the choices for it, with the reasons as comments."""

from collections.abc import Collection, Iterable, Mapping

from thinc.api import Config

from ..corpus.description import CorpusDescription, describe, language_of
from ..corpus.word_lists import WordLists
from ..features.sets import ner_features
from .corpora import Corpora
from .corpus_choices import TRAINING, Choices, choose, described
from .settings import TAGGERS, config_of, filled


def corpus_config(
    corpora: Corpora,
    lang: str | None,
    solver: str,
    merge_subtokens: bool = False,
    named: Collection[str] = (),
    lists: WordLists | None = None,
) -> tuple[Config, Choices, CorpusDescription]:
    """A complete config for a corpus, the choices in it, and their reasons.

    Args:
        lang, named, lists: as for `choose`.
        solver: its registered name, or the distinctive part of it.

    Raises:
        ImportError, ValueError: as `describe`, `choose` and `make_config`.
    """
    corpus = describe(corpora.train, corpora.dev, merge_subtokens)
    choices = choose(corpus, lang, language_of(corpora.source), merge_subtokens, named, lists)
    config = config_for(choices, solver, merge_subtokens)
    config["paths"].update(train=str(corpus.train), dev=None if corpus.dev is None else str(corpus.dev))
    if lists is not None:
        config["paths"]["resources"] = str(lists.folder)
    return config, choices, corpus


def config_for(choices: Choices, solver: str, merge_subtokens: bool = False) -> Config:
    """A complete config, but for paths, of these choices.

    Raises:
        ValueError, ImportError: as `make_config`.
    """
    config = config_of(choices.components, solver, choices.lang, choices.read)
    components = config["components"]
    for corpus in config["corpora"].values():
        corpus.update(gold_tokens=True, merge_subtokens=merge_subtokens)
        if choices.document and "senter" not in components:
            corpus.update(gold_preproc=False, columns=["sent_start"])
    for name in set(TAGGERS) & set(choices.components):
        components[name]["model"]["features"]["extra"] = list(choices.affixes) or None
    if set(components) - {"ner", "chunker"}:
        config["training"].update(TRAINING)
    if "ner" in components:
        components["ner"]["model"]["features"]["document"] = choices.document
        if choices.label_costs:
            components["ner"]["label_costs"] = choices.label_costs
    if "parser" in components:
        components["parser"]["multi_root"] = choices.multi_root
        components["parser"]["model"].update(choices.model)
    if choices.lemmas:
        components["parser"]["model"]["features"]["lemmas"] = True
        config["corpora"]["train"]["columns"] = ["lemma"]
    for name, settings in choices.lists.items():
        features = components[name]["model"]["features"]
        features.update(settings)
        if "templates" in features:
            features["templates"] = [
                *features["templates"],
                *class_templates(settings.get("clusters", {}), settings.get("classes", {})),
            ]
    if choices.tag_of:
        _add_tags(config, choices.tag_of)
        config = filled(config)
    return config


def class_templates(clusters: Iterable[str], classes: Iterable[str]) -> list[str]:
    """The templates by which the ready set for entities reads classes with these names, for a set of one's own."""
    plain = set(ner_features().templates)
    # The names count; what they stand for does not.
    full = ner_features(clusters=dict.fromkeys(clusters, "file"), classes=dict.fromkeys(classes, "file"))
    return [str(template) for template in full.templates if template not in plain]


def commented(config: Config, corpora: Corpora, choices: Choices, corpus: CorpusDescription) -> tuple[list[str], str]:
    """The facts and reasons for a config, and its text with these as comments."""
    reasons = [f"{name}: {reason}" for name, reason in choices.reasons.items()]
    said = [*corpora.made, *described(corpus), "", *reasons]
    comments = ["Written by spacy ssvm init-config --data, for these reasons.", "", *said]
    head = "".join(f"# {line}".rstrip() + "\n" for line in comments)
    return [line for line in said if line], f"{head}\n{config.to_str()}"


def _add_tags(config: Config, tag_of: Mapping[str, str]) -> None:
    """Add spaCy's component that sets `tag` by `pos`, after the pos_tagger."""
    pipeline = config["nlp"]["pipeline"]
    pipeline.insert(1 + pipeline.index("pos_tagger"), "attribute_ruler")
    config["components"]["attribute_ruler"] = {
        "factory": "attribute_ruler",
        "scorer": {"@scorers": "spacy.tagger_scorer.v1"},
    }
    patterns = [{"patterns": [[{"POS": upos}]], "attrs": {"TAG": tag}} for upos, tag in tag_of.items()]
    config["initialize"]["components"]["attribute_ruler"] = {"patterns": patterns}
