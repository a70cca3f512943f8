"""Grids of values to tune: parameters of a solver, and other settings of a component."""

import copy
import difflib
from collections.abc import Sequence
from typing import Any

import srsly
from spacy import util
from thinc.api import Config

from ..training.tuning import GRID, Values
from .settings import SECTIONS


def parsed_grid(grid: Sequence[str], block: dict[str, Any]) -> dict[str, list[Any]]:
    """The values of --grid by parameter of the solver, or setting of the component, or the default values of C.

    Args:
        block: of the component, with all defaults.

    Raises:
        ValueError: an option is not NAME=VALUES, there is nothing of this name, or a parameter's value is no number.
    """
    solver = block["solver"]
    solver_name = solver["@ssvm_solvers"]
    tunable = [key for key, value in solver.items() if key[0] != "@" and key != "seed" and not isinstance(value, bool)]
    if not grid and "C" not in tunable:
        remedy = f"name one of {', '.join(tunable)} with --grid" if tunable else "there is nothing to tune"
        raise ValueError(f"{solver_name} has no C: {remedy}")
    values: dict[str, list[Any]] = {}
    for option in grid:
        name, equals, texts = option.partition("=")
        if not equals:
            raise ValueError(f"--grid {option}: expected NAME=VALUES, such as C=0.1,1")
        if _is_setting(name, block):
            values.setdefault(name, []).extend(map(_value, texts.split(",")))
            continue
        if name not in tunable:
            if "." in name:
                raise ValueError(f"--grid {option}: the component has no such setting; names are those of its sections")
            raise ValueError(f"--grid {option}: {solver_name} has no parameter {name}{_suggestion(name, tunable)}")
        values.setdefault(name, []).extend(_number(name, text) for text in texts.split(","))
    return values or {"C": [*GRID]}


def _is_setting(name: str, block: dict[str, Any]) -> bool:
    """Whether a setting of a component has this name, such as "model.order", or can have it: "label_costs.O"."""
    *path, last = name.split(".")
    found: Any = block
    for part in path:
        found = found.get(part) if isinstance(found, dict) else None
    if found is None and path and path[-1] in SECTIONS:
        found = {}
    if not isinstance(found, dict) or last[:1] == "@" or name.split(".")[0] in ("factory", "solver"):
        return False
    has_keys_of_its_own = bool(path) and path[-1] in SECTIONS
    return last in found or has_keys_of_its_own


def _value(text: str) -> Any:
    """A value of a setting: in JSON, or a text."""
    try:
        return srsly.json_loads(text.strip())
    except ValueError:
        return text.strip()


def with_settings(config: Config, component: str, values: Values) -> Config:
    """The config with these settings of a component; "off" removes the entry of this name, "on" leaves it."""
    changed = config.copy()
    if not values:
        return changed
    filled = util.load_model_from_config(config, auto_fill=True).config["components"][component]
    for name, value in values.items():
        block, defaults = changed["components"][component], filled
        *path, last = name.split(".")
        for part in path:
            defaults = defaults.get(part) or {}
            if not isinstance(block.get(part), dict):
                block[part] = copy.deepcopy(defaults)
            block = block[part]
        if value == "off":
            block.pop(last, None)
        elif value != "on":
            block[last] = value
    return changed


def _suggestion(name: str, tunable: Sequence[str]) -> str:
    by_lower = {known.lower(): known for known in tunable}
    close = difflib.get_close_matches(name.lower(), by_lower, 1)
    return f"; did you mean {by_lower[close[0]]}?" if close else f" to tune, only {', '.join(tunable)}"


def _number(name: str, text: str) -> int | float | str:
    text = text.strip()
    for kind in (int, float):
        try:
            return kind(text) if text != "inf" else text
        except ValueError:
            continue
    raise ValueError(f"--grid {name}: {text!r} is not a number; expected values such as {name}=0.1,1")
