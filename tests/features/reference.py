"""What templates mean, in plain Python over Tokens: slow, and written without a look at the kernels."""

import re
from collections.abc import Callable, Hashable, Iterable

from spacy.tokens import Doc, Token

OUTSIDE = "outside"


def short_shape(text: str) -> str:
    shape = re.sub(r"[^\W\d_]", lambda c: "X" if c[0].isupper() else "x", re.sub(r"\d", "0", text))
    return re.sub(r"(.)\1+", r"\1", shape)


FLAGS = "alpha digit lower upper title punct space stop currency"
VALUES: dict[str, Callable[[Token], Hashable]] = {
    "word": lambda token: token.text,
    "lower": lambda token: token.lower_,
    "norm": lambda token: token.norm_,
    "shape": lambda token: token.shape_,
    "short_shape": lambda token: short_shape(token.text),
    "length": lambda token: len(token.text),
    "has_space": lambda token: bool(token.whitespace_),
    "has_digit": lambda token: any(character.isdecimal() for character in token.text),
    "has_hyphen": lambda token: "-" in token.text,
    "has_upper": lambda token: token.text != token.lower_,
    "tag": lambda token: token.tag_,
    "pos": lambda token: token.pos_,
    "lemma": lambda token: token.lemma_,
    "morph": lambda token: (str(token.morph) or "_") if token.has_morph() else None,
    "morph.Number": lambda token: token.morph.to_dict().get("Number"),
    "dep": lambda token: token.dep_,
    "ent_type": lambda token: token.ent_type_,
    "ent_iob": lambda token: token.ent_iob,
    "sent_start": lambda token: {None: 0, True: 1, False: -1}[token.is_sent_start],
    **{
        name: (lambda token, name=name: bool(getattr(token, name)))
        for name in [*(f"is_{flag}" for flag in FLAGS.split()), "like_num", "like_url", "like_email"]
    },
    **{
        f"{lower}{affix}{n}": (
            lambda token, lower=lower, affix=affix, n=n: (
                lambda text: (text[:n] if affix == "prefix" else text[-n:]) if len(text) >= n else None
            )(token.lower_ if lower else token.text)
        )
        for lower in ("", "lower_")
        for affix in ("prefix", "suffix")
        for n in range(1, 9)
    },
}
"""The value of each attribute; None, False, 0 and "" are no value."""


def fired(doc: Doc, templates: Iterable[str], values: dict[str, Callable[[Token], Hashable]] = VALUES) -> list[list]:
    """For each token the (template, values of its parts) of each template that fires there, in order."""
    found: list[list] = []
    for token in doc:
        features = []
        for template in templates:
            parts = []
            for piece in [] if template == "bias" else template.split("+"):
                name, offset = piece.rstrip("]").split("[")
                at = token.i + int(offset)
                parts.append(values[name](doc[at]) if 0 <= at < len(doc) else OUTSIDE)
            if all(part not in (None, False, 0, "") for part in parts):
                features.append((template, tuple(parts)))
        found.append(features)
    return found
