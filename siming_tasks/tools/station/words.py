"""Words of the station in every language that it speaks: one table, for the page, its errors and the terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

LANGUAGES = ("en", "zh")
"""The first is spoken where nobody says otherwise."""


@cache
def words() -> Mapping[str, Mapping[str, str]]:
    """Sentences by key and language, with ``{names}`` for what differs (``static/words.json``)."""
    text = (resources.files("siming_tasks.tools.station") / "static" / "words.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


class Sentence(NamedTuple):
    """A sentence of the table, in no language yet; as text it is English.

    Attributes:
        key: of the table.
        values: what stands for its ``{names}``.
    """

    key: str
    values: Mapping[str, Any] = {}

    def within(self, language: str) -> str:
        """The sentence in a language, begun with a capital letter; a value that begins it stays as it is."""
        text = words()[self.key].get(language, words()[self.key][LANGUAGES[0]])
        return (text[:1].upper() + text[1:]).format_map(self.values)

    def __str__(self) -> str:
        return words()[self.key][LANGUAGES[0]].format_map(self.values)


def say(key: str, language: str = LANGUAGES[0], **values: Any) -> str:
    """A sentence of the table in a language."""
    return Sentence(key, values).within(language)


def language_of(accepted: str) -> str:
    """The station's language for an ``Accept-Language`` header: the first one named, if it is spoken."""
    asked = accepted.strip()[:2].lower()
    return asked if asked in LANGUAGES else LANGUAGES[0]
