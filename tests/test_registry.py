"""What an installed package promises spaCy: entry points and names in configs."""

import re
from importlib.metadata import distribution

import pytest
from spacy import registry
from spacy.language import Language

ENTRY_POINTS = [point for point in distribution("spacy-ssvm").entry_points if point.group.startswith("spacy_")]


PROMISED = {
    "spacy_architectures": "Chain.v1 Tree.v1",
    "spacy_cli": "ssvm",
    "spacy_factories": "ssvm_lemmatizer ssvm_morphologizer ssvm_ner ssvm_parser ssvm_senter ssvm_tagger",
    "spacy_loggers": "ConsoleLogger.v1",
    "spacy_misc": "ClassFile.v1 LemmaLexicon.v1 Lexicon.v1 LexiconPatterns.v1 LookupsClusters.v1 PatternFile.v1 "
    "PhraseFile.v1 TableColumn.v1 VectorClasses.v1",
    "spacy_readers": "Corpus.v1",
    "spacy_scorers": "ner_scorer.v1 parser_scorer.v1 tagger_scorer.v1",
    "spacy_ssvm_features": (
        "ArcTemplates.v1 LemmatizerFeatures.v1 NerFeatures.v1 ParserFeatures.v1 SenterFeatures.v1 TaggerFeatures.v1 "
        "Templates.v1"
    ),
    "spacy_ssvm_models": "ssvm_chain ssvm_tree",
    "spacy_ssvm_solvers": (
        "CPD.v1 DCA.v1 DCD.v1 DCDLight.v1 ExponentiatedGradient.v1 Extragradient.v1 FrankWolfe.v1 LBFGS.v1 LSE.v1 "
        "LSECuttingPlane.v1 MIRA.v1 OneSlack.v1 Perceptron.v1 PredictionMIRA.v1 ProjectedSubgradient.v1 SAP.v1 SDM.v1 "
        "SGD.v1"
    ),
}
"""Group → all names in it, without `spacy-ssvm.`. Files of users hold them, so that a released one is never removed: a
function that a config means differently gets a new name, with the next version."""


def test_the_registered_names_are_those_promised():
    found = {}
    for point in ENTRY_POINTS:
        found.setdefault(point.group, []).append(point.name.removeprefix("spacy-ssvm."))
    assert {group: " ".join(sorted(names)) for group, names in found.items()} == PROMISED


def test_names_of_functions_in_configs_have_versions():
    unversioned = {"spacy_cli", "spacy_factories", "spacy_ssvm_models"}
    names = [point.name for point in ENTRY_POINTS if point.group not in unversioned]
    assert [name for name in names if not re.fullmatch(r"spacy-ssvm\.\w+\.v[1-9]\d*", name)] == []


@pytest.mark.parametrize("point", ENTRY_POINTS, ids=lambda point: point.name)
def test_spacy_finds_what_the_entry_point_names(point):
    name, found = point.group.removeprefix("spacy_"), point.load()
    assert callable(found)
    if name == "factories":
        assert Language.has_factory(point.name)
    elif name != "cli":
        assert getattr(registry, name).get(point.name) is found
