"""The station's one table of words: whole in every language, and every word of it is used."""

import re
from pathlib import Path

import siming_tasks.tools.station as station
from siming_tasks.tools.station.words import LANGUAGES, Sentence, language_of, words

FOLDER = Path(station.__file__).parent
TEXT = "".join(path.read_text() for path in sorted(FOLDER.rglob("*")) if path.suffix in (".js", ".html"))
CODE = "".join(path.read_text() for path in (*FOLDER.glob("*.py"), FOLDER.parents[1] / "cli" / "rate.py"))
MADE = ("key_", "kind_", "nothing_")
"""Beginnings of keys whose rest is the name of a thing."""


def test_every_word_stands_in_every_language_and_is_used() -> None:
    for key, texts in words().items():
        assert set(texts) == set(LANGUAGES) and all(texts.values()), key
        names = [sorted(set(re.findall(r"\{(\w+)\}", texts[language]))) for language in LANGUAGES]
        assert names[0] == names[1], key
    asked = set(re.findall(r'\bsay\(\s*\[?"(\w+)"', TEXT)) | set(re.findall(r'data-say(?:-label)?="(\w+)"', TEXT))
    asked |= set(re.findall(r"""\b(?:say|Sentence|Refusal)\(\s*["'](\w+)["']""", CODE))
    assert asked <= set(words()), asked - set(words())
    unused = [key for key in words() if key not in asked and not key.startswith(MADE)]
    assert [key for key in unused if not re.search(rf"""["']{key}["']""", TEXT + CODE)] == []
    keyboard = re.search(r"export const KEYS = \[(.*?)\n\];", (FOLDER / "static" / "keys.js").read_text(), re.S)
    assert keyboard
    actions = {f"key_{action}" for action in re.findall(r'\], "(\w+)"', keyboard[1])}
    assert actions == {key for key in words() if key.startswith("key_")}


def test_the_language_that_is_asked_for_and_values_that_stay() -> None:
    """A name with braces is no format."""
    for header, language in {"zh-CN,zh;q=0.9": "zh", "en-GB": "en", "fr": "en", "": "en"}.items():
        assert language_of(header) == language
    assert Sentence("changed", {"name": "{0} {name}"}).within("zh").startswith("{0} {name} 在评分期间")
