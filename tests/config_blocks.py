"""What the text beside a block of a config in the documentation says of it, and that it is so.

The paragraph before the block says what to do with it, in one of these ways:

- "`spacy ssvm init-config --pipeline ner` writes": this is a part of what the command writes.
- "add this section", "add these sections": they can be pasted at the end of the config, "in place of `lookups = null`"
  after this line is removed.
- "add this setting": the section is there, and has no such setting yet.
- "replace this section", "replace these settings": the config has them already. A section with another function, such
  as another `@ssvm_features`, is replaced as a whole.

Overrides for the command line, in code spans or in the next block of bash, set and replace the same.

The config is that of `init-config` with the options that the paragraph names, or else with the components of the block.
"""

import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import srsly
from confection import Config
from spacy.cli._util import parse_config_overrides
from spacy.schemas import ConfigSchemaTraining
from spacy.training.initialize import init_nlp
from spacy.util import load_config, load_config_from_str, load_model_from_config, registry
from typer.testing import CliRunner

from spacy_ssvm.cli.app import ssvm

from .markdown import Block, code_spans

COMMAND = r"spacy ssvm init-config\b(.*)"
KINDS = {
    "writes": r"`spacy ssvm init-config[^`]*`\s+writes\b",
    "adds": r"(?i)\badd\s+(?:this|these)\s+sections?\b",
    "adds a setting": r"(?i)\badd\s+this\s+setting\b",
    "replaces": r"(?i)\breplace\s+(?:this|these)\s+(?:section|setting)s?\b",
}
PATHS = {"paths.train": "tiny.spacy", "paths.dev": "tiny.spacy"}
Sections = dict[str, list[str]]
"""Headers and the lines below them."""


def check(block: Block) -> None:
    """Do with a block what its text says, and initialise the pipeline of the config, in a folder with tiny.spacy."""
    kinds = [kind for kind, pattern in KINDS.items() if re.search(pattern, block.before)]
    assert len(kinds) == 1, f"the text before a block has to say one of {', '.join(KINDS)}, and says {kinds}: {block}"
    path = Path("written.cfg")
    init_config(path, options(block))
    text = path.read_text("utf8")
    if kinds == ["writes"]:
        written, shown = load_config(path), Config().from_str(with_sections_above(block.code), interpolate=False)
        assert is_part(shown, written), f"{shown} is no part of {written}"
    elif kinds == ["adds"]:
        text = pasted(text, block)
    else:
        if kinds == ["adds a setting"]:
            [(header, [line])] = sections_of(block.code).items()
            assert not [kept for kept in sections_of(text)[header] if key_of(kept) == key_of(line)], f"{line} is there"
        text = replaced(text, block)
        overridden = load_config(path, overrides=overrides(f"{block.before}\n{block.after}"))
        edited = load_config_from_str(text)
        assert overridden == edited, f"by overrides: {overridden}; by editing: {edited}"
    initialise(load_config_from_str(text, overrides=PATHS))


def options(block: Block) -> list[str]:
    """The options of `init-config` that the text names, or else the components in the block."""
    named = [match[1].split() for span in code_spans(block.before) if (match := re.fullmatch(COMMAND, span))]
    components = dict.fromkeys(re.findall(r"^\[(?:initialize\.)?components\.(\w+)", block.code, re.MULTILINE))
    return named[-1] if named else ["--pipeline", ",".join(components)]


def init_config(path: Path, arguments: list[str]) -> None:
    result = CliRunner().invoke(ssvm, ["init-config", str(path), "--force", *arguments])
    assert result.exit_code == 0, result.output


def pasted(text: str, block: Block) -> str:
    for setting in re.findall(r"in\s+place\s+of\s+`(\w+ = null)`", block.before):
        text, n_lines = re.subn(rf"^{setting}$\n", "", text, flags=re.MULTILINE)
        assert n_lines == 1, f"the config has {n_lines} lines {setting}"
    return f"{text}\n\n{block.code}"


def replaced(text: str, block: Block) -> str:
    config, shown = sections_of(text), sections_of(block.code)
    for header, lines in shown.items():
        assert header in config, f"there is no {header} to replace: {list(config)}"
        if any(line.startswith("@") and line not in config[header] for line in lines):
            inner = f"{header[:-1]}."
            config = {other: kept for other, kept in config.items() if not other.startswith(inner)}
            config[header] = lines
            continue
        for line in lines:
            config[header] = [kept for kept in config[header] if key_of(kept) != key_of(line)] + [line]
    return "\n\n".join("\n".join([header, *lines]) for header, lines in config.items())


def key_of(line: str) -> str:
    return line.partition(" = ")[0]


def sections_of(text: str) -> Sections:
    found: Sections = {}
    for line in filter(None, text.splitlines()):
        if line.startswith("["):
            lines = found.setdefault(line, [])
        else:
            lines.append(line)
    return found


def with_sections_above(code: str) -> str:
    """A part of a config with the headers of the sections that its own ones are in."""
    lines: list[str] = []
    for line in code.splitlines():
        if line.startswith("["):
            parts = line.strip("[]").split(".")
            above = [f"[{'.'.join(parts[:k])}]" for k in range(1, len(parts))]
            lines += [header for header in above if header not in lines]
        lines.append(line)
    return "\n".join(lines)


def is_part(part: object, whole: object) -> bool:
    """Whether each setting of a part of a config is there in the whole."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and is_part(part[key], whole[key]) for key in part)
    return part == whole


def override_spans(text: str) -> Iterator[str]:
    """Code spans with overrides of a config, and the overrides of our own settings in commands."""
    outside = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)
    spans = [span for span in code_spans(outside) if re.match(r"--[a-z_]+\.\S+\s+\S", span)]
    assert not any("\n" in span for span in spans), f"a span that goes over two lines cannot be pasted: {spans}"
    yield from spans
    for command in re.findall(r"^python -m spacy (?:ssvm )?train [^`]*", text, re.MULTILINE):
        words = shlex.split(command.replace("\\\n", " "))
        for word, value in pairwise(words):
            if re.match(r"--(?:components|corpora|initialize)\.", word):
                yield f"{word} {shlex.quote(' '.join(value.split()))}"


def overrides(text: str) -> dict[str, object]:
    return {
        key: value for span in override_spans(text) for key, value in parse_config_overrides(shlex.split(span)).items()
    }


def initialise(config: Config) -> None:
    """Resolve a config, and initialise its pipeline on its corpora."""
    filled = load_model_from_config(config, auto_fill=True).config
    assert not dropped(config, filled), "these are no settings of spaCy's"
    whole = filled.interpolate()
    registry.resolve(whole["training"], schema=ConfigSchemaTraining)
    nlp = init_nlp(config)
    corpora = registry.resolve(whole["corpora"])
    nlp.evaluate(list(corpora["dev"](nlp)))


def dropped(given: dict, filled: dict) -> list[str]:
    """The keys that spaCy has left out of a config, as it does with those that it does not know."""
    found = [key for key in given if key not in filled]
    for key in given:
        if isinstance(given[key], dict) and isinstance(filled.get(key), dict):
            found += [f"{key}.{inner}" for inner in dropped(given[key], filled[key])]
    return found


def english_clusters(folder: Path) -> None:
    """A stand-in for the clusters of `spacy-lookups-data`, where it is not installed."""
    if "en" not in registry.lookups:
        srsly.write_json(folder / "lexeme_cluster.json", {"in": 5, "the": 13, "Oslo": 6})
        registry.lookups.register("en", func={"lexeme_cluster": folder / "lexeme_cluster.json"})
