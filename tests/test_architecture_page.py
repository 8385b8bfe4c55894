"""The pages about the house are true: every file, name and command of the architecture page, every term of a record."""

from __future__ import annotations

import re
from pathlib import Path

from siming_tasks.common.doc_pages import pages
from tests.test_architecture import LAYERS

ROOT = Path(__file__).parents[1]
PAGE = pages()["architecture"].read_text(encoding="utf-8")
PATH = re.compile(r"`((?:siming_tasks|yaml_tasks|utils|tests)/[\w./-]*)`")
ROWS = re.findall(r"^\| [^|]+ \| `([^`]+)` \| (?:`(\w+)`)? ?\|$", PAGE, re.MULTILINE)
MOST_FILES = 55


def test_every_file_and_name_of_the_architecture_page_exists() -> None:
    paths, files = PATH.findall(PAGE), [path for path, _ in ROWS]
    assert len(paths) > 30 and [path for path in paths if not (ROOT / path).exists()] == []
    assert 25 < len(files) <= MOST_FILES and len(set(files)) == len(files)
    for path, name in ROWS:  # defined or imported there
        text = (ROOT / path).read_text(encoding="utf-8")
        assert re.search(rf"^(?:def |class |from .* import .*\b)?{name}\b", text, re.MULTILINE), (path, name)


def test_the_layers_of_the_page_are_those_that_imports_are_held_to() -> None:
    drawn = PAGE.split("who may import whom", 1)[1].split("```", 1)[0]
    lines = [re.match(r"  ([a-z, ]+?)(?:   .*)?$", line) for line in drawn.splitlines()]
    rooms = [set(line[1].split(", ")) for line in lines if line]
    assert rooms == [layer - {"__init__"} for layer in reversed(LAYERS)]


def test_every_term_is_explained_once_in_one_sentence_and_keys_of_records_on_their_page_alone() -> None:
    text, glossary = (pages()[name].read_text(encoding="utf-8") for name in ("records", "glossary"))
    keys = {key for row in re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE) for key in re.findall(r"`(\w+)`", row)}
    rows = [row for row in re.findall(r"^\| (.*?) \| (.*) \|$", glossary, re.MULTILINE) if row[0] != "term"]
    terms = [term for names, _ in rows for term in names.split(", ")]
    assert len(keys) > 40 and keys & {term[1:-1] for term in terms if term[0] == "`"} == set()
    assert len(terms) > 45 and len(terms) == len(set(terms))
    assert [meaning for _, meaning in rows if not meaning.endswith(".") or ". " in meaning] == []


def test_every_file_that_contributors_are_told_of_exists() -> None:
    for page in ("SKILL.md", "CONTRIBUTING.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        paths = set(PATH.findall(text)) | set(re.findall(r"\b((?:utils|tests|docs)/[\w/.-]+\.(?:py|md))", text))
        short = set(re.findall(r"`((?:metrics|tasks|media|models|data|cli)/[\w/.-]+)`", text))
        paths |= {f"siming_tasks/{path}" for path in short}
        assert len(paths) > 10 and [path for path in paths if not (ROOT / path).exists()] == []
