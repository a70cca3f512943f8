"""The bars: what is asked for, and whether it is met."""

from dataclasses import dataclass
from typing import Any

HEADER = ["bar", "ours", "peer", "value", "wanted", "met"]


@dataclass(frozen=True)
class Bar:
    """One row of the table. `value` is what is judged, in `unit`: a ratio unless that says otherwise.

    at_least, at_most: what is wanted; where neither is given, the row is for information. ours, peer: figures that the
    value was made of. A bar whose value is None was not measured; `peer` then says why.
    """

    name: str
    value: float | None
    at_least: float | None = None
    at_most: float | None = None
    unit: str = "×"
    ours: str | None = None
    peer: str | None = None

    @property
    def met(self) -> bool | None:
        """None where it was not measured, or nothing is wanted."""
        if self.value is None or self.wanted is None:
            return None
        return (self.at_least is None or self.value >= self.at_least) and (
            self.at_most is None or self.value <= self.at_most
        )

    @property
    def wanted(self) -> str | None:
        if self.at_least is not None:
            return f"≥ {self.at_least:g} {self.unit}"
        return None if self.at_most is None else f"≤ {self.at_most:g} {self.unit}"

    def row(self) -> list[Any]:
        value = None if self.value is None else f"{figure(self.value)} {self.unit}"
        return [self.name, self.ours, self.peer, value, self.wanted, verdict(self.met)]


def missing(name: str, reason: str, **wanted: Any) -> Bar:
    """A bar that could not be measured."""
    return Bar(name, None, peer=f"not measured: {reason}", **wanted)


def verdict(met: bool | None) -> str | None:
    return {True: "yes", False: "**no**", None: None}[met]


def figure(value: float) -> str:
    """Three digits, or all before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
