"""The identity of a pipeline, so that files made with another one are recognised."""

import hashlib
from pathlib import Path

from spacy.language import Language


def identity(nlp: Language) -> dict[str, str]:
    """The name and the version of a pipeline, and a digest of its files."""
    digest = hashlib.sha256()
    root = nlp.path or Path()
    for path in sorted(path for path in root.rglob("*") if path.is_file()) if nlp.path else []:
        digest.update(str(path.relative_to(root)).encode() + hashlib.sha256(path.read_bytes()).digest())
    return {"name": f"{nlp.lang}_{nlp.meta['name']}", "version": nlp.meta["version"], "sha256": digest.hexdigest()}
