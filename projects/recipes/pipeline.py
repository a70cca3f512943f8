"""What the recipes share: the pipeline, loaded once in each process, and Docs as bytes."""

from base64 import b64encode
from collections.abc import Iterable
from functools import lru_cache

import spacy
from spacy.language import Language
from spacy.tokens import DocBin


@lru_cache(maxsize=1)
def loaded(model: str) -> Language:
    """The pipeline, which the next call in this process finds in memory."""
    return spacy.load(model)


def annotated(model: str, texts: Iterable[str]) -> list[bytes]:
    """A DocBin with one Doc for each text, as bytes."""
    return [DocBin(store_user_data=True, docs=[doc]).to_bytes() for doc in loaded(model).pipe(texts)]


def with_docs(records: Iterable[dict], model: str) -> list[dict]:
    """The records, with the bytes of the Doc in Base64 as `doc`."""
    records = list(records)
    docs = annotated(model, [record["text"] for record in records])
    return [{**record, "doc": b64encode(doc).decode()} for record, doc in zip(records, docs)]
