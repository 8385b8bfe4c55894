"""The wording of the documentation and of the product's texts: the usual words, in the usual order."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "siming_tasks"
PAGES = [ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "CHANGELOG")]
PAGES += sorted((ROOT / "docs").rglob("*.md"))
SCENES = {"steps.py", "cpr.py", "people.py"}  # of the simulator: there bodies do stand, lie and hold things
SOURCES = sorted(path for path in PACKAGE.rglob("*.*") if path.suffix in {".py", ".html", ".js", ".json"})
SOURCES = [path for path in SOURCES if path.parent.name != "simulator" or path.name not in SCENES]
MOST = 120  # characters of a line of Markdown, outside tables, code and the targets of links

_UNITS = "answer|attempt|call|class|clip|cluster|core|exam|file|image|judge?ment|judge|line|model|option|pair|physician"
_UNITS += "|question|rater|recording|request|row|run|sender|setting|skill|step|task|video|word"
_OTHER = "about|and|as|at|becomes|begins|by|end|for|from|has|have|if|in|into|is|of|on|or|over|than|that|to|with|without"
_SHARES = "all any both each half many most none one out part rest some two three ahead because copy copies instead"
_NO_SHARE = "".join(rf"(?<!\b{word} )" for word in _SHARES.split())
PATTERNS: dict[str, tuple[str, str]] = {
    r"\bst(?:ands?|ood)\b(?! (?:for|in for|still|up|back|clear)\b|-)": ("is, appears", "It stands in a row."),
    r"\b(?:holds?|held|holding)\b(?! o(?:n|ut)\b| it against|-| (?:the |a )?lock)": ("contains, has", "It holds."),
    r"\bthe truth\b": ("the true value, the correct label", "Intervals that hold the truth"),
    r"\bbeside\b": ("next to, with, compared with", "It is listed beside the physicians."),
    r"\bnever looks?\b": ("no-video baseline", "a judge that never looks"),
    r"(?<!\bthere )\b(?:is|are|was|were) no\b(?! (?:longer|more|less|better|worse|other|one)\b|-)": (
        "is not a", "This is no archive."),
    r"\b(?:go|goes|went|going) on\b": ("continues", "The run goes on."),
    r"(?<!\bthere )\b(?:is|are|was) (?-i:none)\b": ("is missing, is not one", "A line that is none"),
    r"(?:^|(?<=[.:;!?] ))(?-i:[A-Z])(?!ndef)\w+(?:ed|en) (?:is|are|was|were)\b": (
        "subject first: 'X are refused'", "Refused are two answers of one rater."),
    r"\b(?:not|was|were) looked at\b": ("not checked", "Not looked at: faces"),
    rf"{_NO_SHARE}\bof (?:it|them)(?=[.,;:)]|$)|(?:^|, |\band |\bor )of which\b": (
        "use a verb, or 'whose'", "what it made of it."),
    rf"\b(?:an?|one|two|three|four|(?<![.\d])\d+) (?:\w+ )?(?!(?:{_OTHER})\b)\w+ an? (?:{_UNITS})\b": (
        "per, for each", "a row a judgment"),
    r"\bopens? from disk\b|\bfrom disk:": ("opens without a server", "The page opens from disk."),
    r"\bin words\b": ("as text", "the verdict in words"),
    r"\b(?:bear|borne) (?:it |them )?in mind\b": ("warning, note", "Bear in mind that there are six."),
    r"\bwhose the\b": ("the source of", "whose the label is"),
    r"\b(?:some|any|every)body's\b": ("another person's, another tool's", "somebody's labels"),
    r"\bwhat came back\b": ("the reply", "What came back"),
    r"\bwhat was (?:shown|answered|said|told)\b": ("the input, the answers", "It says what was shown."),
    r"\b(?:said|told|known|heard) of\b": ("said about, known about", "what else is known of it"),
    r"\b(?:tells?|told) (?:of )?(?:the |its )?labels?\b": ("leaks labels", "Times tell labels."),
    r"(?<!default: )\bqwk\b|(?<!uadratic )weighted kappa\b": ("kappa (quadratic)", "in kappa (qwk)"),
    r"\bphysicians with each other\b": ("inter-physician agreement", "physicians with each other"),
    r"\banew\b": ("again", "It writes the digests anew."),
    r"\bmend(?:s|ed|ing)?\b": ("fix", "Mend the rows first."),
    r"\bwithout a word\b": ("silently", "Servers drop sound without a word."),
    r"\b(?:is|are) wanted\b": ("is expected, is needed", "a run is wanted."),
    r"\bfit to be\b": ("valid, ready", "It is not fit to be sent."),
    r"\bso (?:many|few) \w+s\b(?! that\b)|\bof so few\b": ("this many, N", "what so many videos would show"),
    r"\bthere already\b|\balready there\b": ("already exists", "The archive is there already."),
    r"\bwhom?ever\b": ("anyone who, if you", "Whoever answers writes a line."),
    r"\bone and the same\b": ("the same", "It is one and the same label."),
    r"\b(?:he|him|his)\b": ("they, their", "the consensus that he made"),
    r"; else\b": ("; otherwise", "the new folder; else a table"),
    r"\b(?:lies|lie|lay|lain)\b": ("is", "where the folder lies"),
    r"\b(?:comes?|came) of\b": ("comes from, is based on", "every interval comes of it"),
    r"\bof (?:yours|ours)\b": ("your own", "exams of yours"),
    r"\bwith a chance of\b": ("with 80 % power", "found with a chance of 80 %"),
    r"\bhow far (?:the )?physicians\b": ("how well physicians", "how far physicians agree"),
    r"\b(?:the|an) own\b": ("its own", "frames at the own times"),
}  # fmt: skip
"""Stilted wording: the better wording, and a sentence in which the pattern is found."""

_PATTERNS = {re.compile(pattern.replace(" ", r"\s"), re.M | re.I): words for pattern, (words, _) in PATTERNS.items()}
_END = re.compile(r"\.\s|\n\n|\|")
_BLOCK = re.compile(r"^ *(`{3,}).*?^ *\1", re.M | re.S)
_CODE = re.compile(r"<!--.*?-->|``.+?``|`[^`]+`|^ *(?:>>>|\.\.\. ).*?$", re.M | re.S)
_TARGET = re.compile(
    r"(?s)(?<!\*)\*(?![*\s])[^*]+\*(?!\*)|(?<=\])\([^)]*\)|https?://\S+|\{[{%#].*?[}%#]\}|<[/!\w][^>]*>"
)
"""What is quoted in italics (a prompt), where a link leads, what a template fills in, and tags."""


def findings(text: str) -> Iterator[tuple[int, str]]:
    """Line and message for each piece of stilted wording, code left out."""
    for hidden in (_BLOCK, _CODE, _TARGET):
        text = hidden.sub(lambda found: re.sub(r"[^\n]", "_", found[0]), text)
    text = re.sub(r"(?<=\S)\n +(?=\S)", "\n", text)  # so that one space or line break is between two words
    for pattern, better in _PATTERNS.items():
        for found in pattern.finditer(text):
            sentence = _END.split(text[: found.start()])[-1] + found[0] + _END.split(text[found.end() :])[0]
            yield text.count("\n", 0, found.start()) + 1, " ".join(f"{found[0]}: {sentence} -> {better}".split())


def long_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines of Markdown with more than :data:`MOST` characters that are neither table, code nor link."""
    for number, line in enumerate(_BLOCK.sub(lambda code: "\n" * code[0].count("\n"), text).split("\n"), 1):
        if not line.lstrip().startswith("|") and len(re.sub(r"(?<=\])\([^)]*\)|https?://\S+", "", line)) > MOST:
            yield number, f"longer than {MOST} characters: {line} -> break the line"


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of each piece of prose of a file: strings of several words, docstrings of what is public."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in (".html", ".md"):
        yield 1, text
    elif path.suffix in (".js", ".json"):
        for found in re.finditer(r'"([^"\n]*)"|`([^`]*)`', text):
            yield text.count("\n", 0, found.start()) + 1, found[1] or found[2] or ""
    else:
        nodes = list(ast.walk(ast.parse(text)))
        defined = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name[0] == "_"]
        hidden = {id(node.body[0].value) for node in defined if isinstance(node.body[0], ast.Expr)}
        hidden |= {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in nodes:
            if isinstance(node, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
                yield node.lineno, "".join(map(str, parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in hidden:
                yield node.lineno, node.value


def report(path: Path) -> list[str]:
    """Findings in a file as ``file:line: wording: sentence -> better``."""
    pieces = [(line, piece) for line, piece in prose(path) if " " in piece]
    found = {(first + line - 1, what) for first, piece in pieces for line, what in findings(piece)}
    found |= set(long_lines(pieces[0][1])) if path.suffix == ".md" else set()
    return [f"{path}:{line}: {what}" for line, what in sorted(found)]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_each_pattern_finds_what_it_is_for(pattern: str) -> None:
    better, planted = PATTERNS[pattern]
    assert any(line == 3 and what.endswith(better) for line, what in findings(f"A line.\n\n{planted}\n")) and better
    assert any(what.endswith(better) for _, what in findings(planted.replace(" ", "\n    ")))
    assert not list(findings(f"`{planted}`"))  # as code it may be named


def test_a_long_line_is_found_outside_tables_code_and_links() -> None:
    line, link = "word " * 30, f"[word](https://example.org/{'x' * 120})"
    assert [number for number, *_ in long_lines(f"{line}\n|{line}|\n```\n{line}\n```\n{link}\n{line}")] == [1, 7]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_are_in_plain_words(path: Path) -> None:
    assert report(path) == []


@pytest.mark.parametrize("room", sorted({path.relative_to(PACKAGE).parent.as_posix() for path in SOURCES}))
def test_texts_of_the_product_are_in_plain_words(room: str) -> None:
    assert [line for path in SOURCES if path.parent == PACKAGE / room for line in report(path)] == []
