"""Pages of the documentation: they are installed with the package, and messages name the command that prints one."""

from __future__ import annotations

import re
from pathlib import Path

KINDS = ("tutorials", "howto", "explanation", "reference")
"""The folders of pages, in the order of reading."""

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:)[^)]*?([\w-]+)\.(\w+)(?:#[\w-]*)?\)")
_MARK = re.compile(r"^<!-- .* -->\n", re.MULTILINE)


def see(name: str) -> str:
    """Name the command that prints a page, for a message: it works offline wherever the package is installed."""
    return f"`siming docs {name}`"


def folder() -> Path:
    """Find the folder of the pages: inside an installed package, or next to the package in a checkout."""
    package = Path(__file__).parents[1]
    inside = package / "docs"
    return inside if inside.is_dir() else package.parent / "docs"


def pages() -> dict[str, Path]:
    """List every page by its name (the file's, which is unique), in the order of reading."""
    return {path.stem: path for kind in KINDS for path in sorted((folder() / kind).glob("*.md"))}


def read_page(name: str) -> str:
    """Read the text of a page (KeyError: none) for a terminal, without pictures; links name their command."""

    def link(match: re.Match[str]) -> str:
        picture, text, target, kind = match.groups()
        if picture:
            return ""
        return f"{text} ({see(target)})" if kind == "md" else text

    return _LINK.sub(link, _MARK.sub("", pages()[name].read_text(encoding="utf-8")))
