"""The station's one table of words: whole in every language, and every word of it is used."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import siming_tasks.tools.station as station
from siming_tasks.tools.station.words import LANGUAGES, Sentence, language_of, say, words

FOLDER = Path(station.__file__).parent
TEXT = "".join(
    path.read_text(encoding="utf-8") for path in sorted(FOLDER.rglob("*")) if path.suffix in (".js", ".html")
)
CODE = "".join(
    path.read_text(encoding="utf-8") for path in (*FOLDER.glob("*.py"), FOLDER.parents[1] / "cli" / "rate.py")
)
MADE = ("key_", "kind_", "nothing_")
"""Beginnings of keys whose rest is the name of a thing."""


def test_every_sentence_stands_in_every_language_with_the_same_values() -> None:
    for key, texts in words().items():
        assert set(texts) == set(LANGUAGES) and all(texts.values()), key
        names = [sorted(set(re.findall(r"\{(\w+)\}", texts[language]))) for language in LANGUAGES]
        assert names[0] == names[1], key


def test_every_word_is_used_and_every_used_word_is_there() -> None:
    asked = set(re.findall(r'\bsay\(\s*\[?"(\w+)"', TEXT)) | set(re.findall(r'data-say(?:-label)?="(\w+)"', TEXT))
    asked |= set(re.findall(r"""\b(?:say|Sentence|Refusal)\(\s*["'](\w+)["']""", CODE))
    assert asked <= set(words()), asked - set(words())
    unused = [key for key in words() if key not in asked and not key.startswith(MADE)]
    unused = [key for key in unused if not re.search(rf"""["']{key}["']""", TEXT + CODE)]
    assert unused == []


def test_every_key_of_the_keyboard_is_described() -> None:
    table = re.search(
        r"export const KEYS = \[(.*?)\n\];", (FOLDER / "static" / "keys.js").read_text(encoding="utf-8"), re.S
    )
    assert table
    actions = re.findall(r'\], "(\w+)"', table[1])
    assert len(actions) == 25 and {f"key_{action}" for action in actions} == {
        key for key in words() if key.startswith("key_")
    }


@pytest.mark.parametrize(
    ("header", "language"), [("zh-CN,zh;q=0.9", "zh"), ("zh", "zh"), ("en-GB", "en"), ("fr", "en"), ("", "en")]
)
def test_the_language_that_is_asked_for(header: str, language: str) -> None:
    assert language_of(header) == language


def test_values_stay_what_they_are() -> None:
    """A name with braces is no format."""
    assert Sentence("changed", {"name": "{0} {name}"}).within("zh").startswith("{0} {name} 在评分期间")
    assert say("no_event", kind="x") == "There is no event x." and str(Sentence("no_event", {"kind": "x"}))[0] == "t"
