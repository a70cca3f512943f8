"""Load a trained pipeline and print the tags and entities of raw text."""

from pathlib import Path

import spacy
import typer


def main(model: Path, texts: list[str]) -> None:
    """Tag each of TEXTS with the pipeline in MODEL."""
    nlp = spacy.load(model)
    for doc in nlp.pipe(texts):
        print(doc.text)
        print("  tags:     ", " ".join(f"{token.text}/{token.tag_}" for token in doc))
        print("  entities: ", ", ".join(f"{entity.text} ({entity.label_})" for entity in doc.ents) or "none")


if __name__ == "__main__":
    typer.run(main)
