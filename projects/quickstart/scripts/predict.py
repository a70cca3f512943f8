"""Load a trained pipeline and print the sentences of raw text with their tags, trees and entities."""

from pathlib import Path

import spacy
import typer
from spacy.tokens import Token


def arc(token: Token) -> str:
    """A token with its head and label, as label(head, token)."""
    return f"root({token.text})" if token.head == token else f"{token.dep_}({token.head.text}, {token.text})"


def main(model: Path, texts: list[str]) -> None:
    """Analyse each of TEXTS with the pipeline in MODEL."""
    nlp = spacy.load(model)
    for doc in nlp.pipe(texts):
        for sentence in doc.sents:
            print(sentence.text)
            print("  tags:     ", " ".join(f"{token.text}/{token.tag_}" for token in sentence))
            print("  tree:     ", " ".join(arc(token) for token in sentence))
            print("  entities: ", ", ".join(f"{entity.text} ({entity.label_})" for entity in sentence.ents) or "none")


if __name__ == "__main__":
    typer.run(main)
