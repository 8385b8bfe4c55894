"""Lines and writing of the pages of documentation that scripts make."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"


def wrapped(text: str) -> str:
    """Text in lines of 120 characters; an entry of a list is indented."""
    indent = "  " * text.startswith("* ")
    return textwrap.fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def write(pages: dict[str, str]) -> None:
    """Write pages of the reference by their names; with ``--check`` end with exit code 1 if one is not current."""
    for name, text in pages.items():
        path = REFERENCE / name
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            sys.exit(f"docs/reference/{name} is not current: run {sys.argv[0]}")
