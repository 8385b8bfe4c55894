"""One option: its names, its kind, its default, what it means and what it changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from siming_tasks.common.errors import OptionsError
from siming_tasks.options.values import Kind, Refused

__all__ = ["Changes", "Option", "Row"]

Changes = Literal["data", "place", "shown", "scored", "asking"]
"""Which exams; where files lie; what a model is shown of them; how its answers are scored; how lmms-eval asks for them.

Only a run of lmms-eval asks, so that no command of ``siming`` takes the last ones: they have no flag."""


class Row(NamedTuple):
    """What a table of options says about one; ``flag`` is empty where no command takes it."""

    variable: str
    flag: str
    default: str
    meaning: str


@dataclass(frozen=True)
class Option:
    """One field of :class:`siming_tasks.options.Options`.

    Attributes:
        name: of the field.
        default: its value when nothing is said.
        kind: what it accepts.
        help: what it means, without its default.
        changes: what depends on it.
        otherwise: the default in words, where an empty value means something.
    """

    name: str
    default: object
    kind: Kind
    help: str
    changes: Changes
    otherwise: str = ""

    @property
    def variable(self) -> str:
        """The environment variable."""
        return f"SIMING_{self.name.upper()}"

    @property
    def flag(self) -> str:
        """The flag of every command that takes this option."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def row(self) -> Row:
        """Variable, flag, default and meaning."""
        default = f"{self.default:g}" if isinstance(self.default, float) else str(self.default)
        flag = self.flag if self.changes != "asking" else ""
        return Row(self.variable, flag, self.otherwise or default, self.help)

    def check(self, value: object) -> object:
        """The value that the field holds.

        Raises:
            OptionsError: it cannot be used; names the field, the value and what is accepted.
        """
        try:
            return self.kind.check(value)
        except Refused as refused:
            raise OptionsError(f"{self.name}={value!r} {refused}") from None

    def read(self, text: str) -> object:
        """The value that the variable's text means.

        Raises:
            OptionsError: it means none; names the variable, the text and what is accepted.
        """
        try:
            return self.kind.read(text)
        except Refused as refused:
            raise OptionsError(f"{self.variable}={text!r} {refused}") from None
