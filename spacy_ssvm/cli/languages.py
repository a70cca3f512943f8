"""The languages of spaCy, which has fewer than there are treebanks and texts."""

import spacy

ANY_LANGUAGE = "xx"
"""spaCy's language with general rules for tokens."""


def spacy_language(code: str) -> tuple[str, str | None]:
    """spaCy's code of a language, and None; or ANY_LANGUAGE, and why it is not this language.

    Raises:
        ImportError: the language's tokenizer needs a package that is not installed.
    """
    try:
        return str(spacy.blank(code).lang), None
    except (AttributeError, ImportError) as error:
        # A module of spacy.lang need not be a language.
        if isinstance(error, ImportError) and "E048" not in str(error):
            raise
    return ANY_LANGUAGE, f"spaCy has no language {code}; {ANY_LANGUAGE} has general rules for tokens"
