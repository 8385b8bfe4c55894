import csv
import io
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siming_tasks.common.errors import Problem
from siming_tasks.common.sanitize import cell, cell_text, literal, one_line, shown_name, visible
from siming_tasks.data.row_schema import check_name

HOSTILE = "\x1b[2J\x1b]0;title\x07\x9b31m\r\x08\u202e\u2066\u200b\ufeff\u2028\ud800\x00"


@given(st.text())
def test_invisible_characters_are_spelled_out(text: str) -> None:
    """Unicode's own classes: no control, format or surrogate character but newline and tab."""
    shown = visible(text)
    left = {character for character in shown if unicodedata.category(character) in ("Cc", "Cf", "Cs")} - {"\n", "\t"}
    # format characters that are drawn: Arabic number signs and the like
    assert all(re.match("ARABIC|SYRIAC|KAITHI|EGYPTIAN|END OF AYAH", unicodedata.name(char, "?")) for char in left)


NAMES = {
    "acme": "acme", "  Li  Wei ": "Li Wei", "Zoe\u0308": "Zoë", "Việt": "Việt", "ทิพย์": "ทิพย์",
    "O’Brien (2)": "O’Brien (2)",
    "ac\u200bme": "ac⟦U+200B⟧me", "acme\u00a0": "acme", "ac\u2800me": "ac⟦U+2800⟧me", "\u0301acme": "⟦U+0301⟧acme",
    "a" + "\u0316" * 9: "a" + "\u0316" * 2 + "⟦U+0316⟧" * 7, "x\u202ey": "x⟦U+202E⟧y", "a\U000e0041": "a⟦U+E0041⟧",
    "a\nb": "a b", "a\ud800": "a\ufffd", "a\ufe0f": "a⟦U+FE0F⟧", "\u3164": "⟦U+3164⟧",
    "Li\U000e0100": "Li⟦U+E0100⟧", "Li\u180b": "Li⟦U+180B⟧", "Li\u180f": "Li⟦U+180F⟧", "Li\U0001d159": "Li⟦U+1D159⟧",
    "Li\u0e34": "Li⟦U+0E34⟧", "हिन्दी": "हिन्दी",
}  # fmt: skip


def test_names_that_look_alike_are_equal_and_break_no_row() -> None:
    assert {name: shown_name(name) for name in NAMES} == NAMES
    assert all(shown_name(shown) == shown for shown in NAMES.values())
    for name, shown in NAMES.items():
        if name == shown:
            assert check_name(name) == name
        else:
            with pytest.raises(ValueError, match="the name '"):
                check_name(name)


@given(st.text())
def test_a_shown_name_is_one_line_that_stays(text: str) -> None:
    shown = shown_name(text)
    assert shown_name(shown) == shown and shown.isprintable()


def test_a_message_is_one_bounded_line() -> None:
    problem = Problem("x", f"step '{HOSTILE}\nsiming: all well' is unknown.", "Mend it." + "y" * 10_000, "f\n.jsonl", 3)
    message = str(problem)
    assert len(message) <= 2_000 and message.isprintable()
    assert "\n" not in one_line("a\nb\x0bc\u2028d\x85e")


def test_formulas_are_text_in_a_spreadsheet_and_other_cells_unchanged() -> None:
    for text in ("=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "=cmd|' /C calc'!A0", "＝1", "''=1"):
        assert cell(text).startswith("'") and cell_text(cell(text)) == text
    for text in ("0", "-1", "+2.5", "v001", "张三", "O'Brien", "'quoted'", ""):
        assert cell(text) == text


@given(st.text())
def test_every_cell_comes_back(text: str) -> None:
    assert cell_text(cell(text)) == text
    stream = io.StringIO(newline="")
    csv.writer(stream).writerow([cell(text)])
    assert not re.match('"?[=@+\t\r]', stream.getvalue()) or re.fullmatch(r"[+-]?\d+(\.\d+)?", text)


def test_markdown_takes_names_literally() -> None:
    assert literal("a|b") == r"a\|b" and literal("`x`") == r"\`x\`" and literal("<img>&lt;") == r"\<img\>\&lt;"
    assert literal("rater_a") == "rater_a" and literal("_x_") == r"\_x\_" and literal("1. x") == r"1\. x"
    assert literal("# x") == r"\# x" and literal("- x") == r"\- x" and literal("a\n\nb") == "a  b"
    assert literal("[a](http://b)") == r"\[a\](http://b)"
