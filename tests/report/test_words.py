"""The words of the pages: all in one file, few, one idea each, and none beside them."""

from __future__ import annotations

import ast
import re
from importlib import resources
from pathlib import Path

import pytest

from siming_tasks.common.words import WORDS, say
from siming_tasks.report.pages.site import SCRIPT_WORDS

REPORT = Path(str(resources.files("siming_tasks.report")))
PACKAGE = REPORT.parent
OTHER_TEXTS = ("model_card.py", "rubric_sheet.py", "rubric_sheet.html")
"""A card and a sheet to print are no pages of a report."""


def is_sentence(text: str) -> bool:
    """A sentence of some length: at least five words, with a full stop (``%`` begins a comment in TeX)."""
    words, ended = re.findall(r"[A-Za-z’']+", text), re.search(r"[a-z)%]\.(\s|$)", text)
    return len(words) > 4 and ended is not None and not text.startswith("%")


def test_there_are_at_most_sixty_sentences_of_one_idea() -> None:
    assert len(WORDS) <= 60 and len(set(WORDS.values())) == len(WORDS)
    for key, text in WORDS.items():
        bare = re.sub(r"\{[^}]*\}", "", text)
        assert not re.search(r"[.!?] [A-Z]", text) and bare.count(";") + bare.count(":") < 3, key
        assert len(text.split()) <= 27 and (text.endswith(".") or key in ("band", "zone")), key


def test_every_sentence_is_said_somewhere() -> None:
    files = [path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".html") and path.name != "words.py"]
    texts = "\n".join(path.read_text(encoding="utf-8") for path in files)
    scripts = "\n".join(path.read_text() for path in (REPORT / "static").glob("*.js"))
    verdicts = {"equivalent", "not inferior", "not shown", "not tested"}  # said by the verdict of a test
    for key in WORDS.keys() - verdicts:
        named = re.search(rf"""(?:say\(|WORDS\[)\s*["']{key}["']""", scripts if key in SCRIPT_WORDS else texts)
        assert named, key


def literals(path: Path) -> list[str]:
    """The texts of a module but its docstrings and its errors."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    apart = [node for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    apart += [node for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)]
    skipped = {id(part) for node in apart for part in ast.walk(node)}
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in skipped]
    return [node.value for node in found if isinstance(node.value, str)]


def texts_of(path: Path) -> list[str]:
    """Everything that a template, script or module may say."""
    if path.suffix == ".py":
        return literals(path)
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".js":
        text = re.sub(r"^\s*//.*$|\s// .*$", "", text, flags=re.MULTILINE)
        return [plain or filled for plain, filled in re.findall(r'"([^"\n]*)"|`([^`]*)`', text)]
    text = re.sub(r"\{#.*?#\}|\{\{.*?\}\}|\{%.*?%\}", " ", text, flags=re.DOTALL)
    return [*re.findall(r'(?:title|aria-label)="([^"]*)"', text), *re.sub(r"<[^>]*>", "\n", text).split("\n")]


SOURCES = [path for path in sorted(REPORT.rglob("*")) if path.suffix in (".py", ".html", ".js")]


@pytest.mark.parametrize("path", [path for path in SOURCES if path.name not in OTHER_TEXTS], ids=lambda path: path.name)
def test_no_template_script_or_module_holds_another_sentence(path: Path) -> None:
    assert [text for text in texts_of(path) if is_sentence(text)] == []


def test_what_is_no_sentence_of_ours_would_be_found() -> None:
    texts = [text for path in SOURCES if path.name in OTHER_TEXTS for text in texts_of(path)]
    assert any(map(is_sentence, texts)) and not is_sentence("Steps without an answer, by reason")


def test_a_sentence_is_filled_in_and_names_who_scored() -> None:
    assert say("reference", rater="{x}") == "The reference is {x}."
    assert say("band", "raters") == "green: raters with each other"
