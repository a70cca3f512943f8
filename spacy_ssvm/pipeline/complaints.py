"""Warnings about a corpus, a pipeline or Docs, None if all is right; and how a component issues them."""

import warnings
from collections.abc import Callable, Sequence

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc

from ..corpus.tokenisation import SAMPLE, retokenised
from ..files import listed
from ..inspect.parts import AnnotationParts, ComparedPart
from ..models.documents import Documents
from ..models.protocol import Settings
from ..wording import counted, quoted
from ..words import token_of

MAX_SAID = 1000
"""The max number of complaints that are remembered, so as not to repeat them; many quote texts."""


class Warnings:
    """Warnings in the name of a component, which remembers the ones to be issued once.

    Args:
        name: of the component.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._said: set[str] = set()

    def __call__(self, complaint: str | None) -> None:
        """Warn, unless nothing is wrong."""
        if complaint is not None:
            warnings.warn(f"[{self.name}] {complaint}", stacklevel=4)

    def once(self, kind: str, complaint: str | None) -> None:
        """Issue a warning, unless it is None or one of this kind was issued before."""
        if complaint is not None and kind not in self._said:
            if len(self._said) == MAX_SAID:
                self._said.clear()
            self._said.add(kind)
            self(complaint)


def no_examples(nlp: Language | None) -> str:
    """Advice where there are no examples; spaCy's reader yields none of a path without .spacy files."""
    path = None if nlp is None else (nlp.config.get("paths") or {}).get("train")
    if path is None:
        return "is the corpus empty?"
    return (
        f'is paths.train, "{path}", a .spacy or .conllu file with documents, or a folder of such files? Others have to '
        "be converted with python -m spacy convert"
    )


def tokenizer(nlp: Language, references: Sequence[Doc]) -> str | None:
    """Warning about a tokenizer that does not find the training tokens in raw text."""
    again = retokenised(nlp, references[:: 1 + len(references) // SAMPLE])
    if again is None or again.fits:
        return None
    return (
        f"the tokenizer finds only {100 * (1 - again.n_lost / again.n_tokens):.1f} % of the training tokens in their "
        f"raw text, so that scores on gold tokens do not hold for text: {again.remedy}"
    )


def impossible(parts: AnnotationParts | None) -> str:
    """An example, in brackets, of gold annotation that the structure may not allow; empty if none is known."""
    return "" if parts is None else f" ({parts.impossible})"


def projections(
    numbers: Sequence[int],
    names: Callable[[list[int]], list[str]],
    docs: Documents,
    changed: np.ndarray,
    parts: AnnotationParts | None,
) -> str | None:
    """Warning about gold annotation that the structure does not allow.

    Args:
        numbers: of the examples in the data set.
        names: returns the names of the examples with these numbers.
        docs: where these examples are in the data set.
        changed: the data set's examples, int64, whose gold was replaced.
        parts: of the annotation.
    """
    if not len(changed):
        return None
    sizes = docs.sizes
    places = np.unique(np.repeat(np.arange(len(sizes)), sizes)[changed])
    which = f"{len(places):,} of {len(numbers):,} examples"
    if sizes.sum() > len(sizes):
        which = f"{len(changed):,} of {sizes.sum():,} {docs.unit}, in {which},"
    return (
        f"{which} have annotation that this component cannot produce{impossible(parts)}; the nearest possible one is "
        f"learnt instead: {listed(names([numbers[place] for place in places]))}"
    )


def unlearnt_annotation(names: Sequence[str]) -> str | None:
    """Warning about token attributes that the features read, but that no training Doc has."""
    if not names:
        return None
    return (
        f"the features read token.{' and token.'.join(names)}, which no training Doc has; predictions suffer where "
        'another component sets it. Use the reader "spacy-ssvm.Corpus.v1" with "jackknife" (predicted values) or '
        '"columns" (gold values), or remove these templates from the features'
    )


def unset_annotation(names: Sequence[str], docs: Sequence[Doc]) -> str | None:
    """Warning about token attributes that the features have learnt from, but that none of these Docs has."""
    missing = _unset(names, docs)
    if not missing:
        return None
    return (
        f"it has learnt from token.{' and token.'.join(missing)}, which Docs do not have: put the component that sets "
        "it before this one (this is said once)"
    )


def unset_in_corrections(names: Sequence[str], docs: Sequence[Doc]) -> str | None:
    """Warning that these Docs, from which a component is corrected, have nothing of what it predicts from."""
    missing = _unset(names, docs)
    if not missing:
        return None
    return (
        f"it predicts from token.{' and token.'.join(missing)}, which the Docs of an update do not have: what it "
        "learns there need not hold where they are set. Annotate the predicted Docs, as by Example(nlp(text), ...) or "
        "nlp.update(..., annotates=[...]) with the components that set it (this is said once)"
    )


def _unset(names: Sequence[str], docs: Sequence[Doc]) -> list[str]:
    """Token attributes, of the given ones, that none of these Docs has."""
    filled = [doc for doc in docs if len(doc)]
    return [name for name in names if filled and not any(doc.has_annotation(name.upper()) for doc in filled)]


def failed_batch(n_docs: int, error: Exception) -> str:
    """Warning about a batch that could not be annotated, although each single Doc could."""
    return (
        f"a batch of {counted(n_docs, 'document')} could not be annotated, but each of them could be alone, which "
        f"takes longer: {error!r}. Where memory was short, use a smaller batch_size; else please report this, as it is "
        "a fault of spacy-ssvm (this is said once)"
    )


def unlisted_labels(labels: Sequence[str]) -> str:
    """Warning about labels of examples that `initialize` was not given."""
    return (
        f"examples have labels that initialize was not given: {', '.join(labels)}; such labels count as missing until "
        "the pipeline is saved and loaded, and nlp.resume_training is called (this is said once)"
    )


def new_labels(labels: Sequence[str]) -> str:
    """Warning about new labels of a component whose solver has a state to save."""
    return (
        f"there are new labels, {', '.join(labels)}: the state of the solver is dropped, and it continues from the "
        "weights alone"
    )


def kept_by_workers(settings: Settings) -> str | None:
    """Warning about settings to save data that workers do not send to the component they train."""
    lost = ["no state of the solver"] * settings.save_solver_state + [
        "no names of features"
    ] * settings.save_feature_names
    return f"it learns by several workers, and so has {' and '.join(lost)} to save" if lost else None


def uncorrected(texts: Sequence[str]) -> str | None:
    """Warning about these texts, quoted, which are predicted wrongly after an update of several examples."""
    if not texts:
        return None
    return (
        f"an update has not corrected {counted(len(texts), 'example')} of several, as what was learnt from others "
        "undoes it, or as the component cannot predict it; an update of a single one says why (this is said once): "
        f"{listed(list(dict.fromkeys(texts)))}"
    )


def uncorrected_doc(doc: Doc, reason: str) -> str:
    """Warning about a Doc that is predicted wrongly after an update of this example alone, and the reason."""
    return f"the update has not corrected its example, {quoted(doc)}, because {reason}"


def uncorrected_tokens(doc: Doc, mistakes: Sequence[ComparedPart], reason: str) -> str | None:
    """`uncorrected_doc` that names the mistakes, if there are any."""
    if not mistakes:
        return None
    named = [
        f"token {token_of(doc, m.start)} ({doc[m.start : m.end].text!r}) is {m.predicted_name}, not {m.gold_name}"
        for m in mistakes
    ]
    return f"{uncorrected_doc(doc, reason)}: {listed(named)}"
