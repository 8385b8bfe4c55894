"""One table in four forms: Markdown as a reader of Markdown sees it, TeX, CSV and a terminal."""

from __future__ import annotations

import csv
import io
import math

import pytest
from rich.console import Console

from siming_tasks.report.table import Column, Name, Number, Table, escape_tex, to_markdown


def cells(line: str) -> list[str]:
    """Split a row as GitHub does: a backslash takes the character after it along."""
    cells_, escaped = [""], False
    for character in line.strip().removeprefix("|").removesuffix("|"):
        if character == "|" and not escaped:
            cells_.append("")
        else:
            cells_[-1] += character
        escaped = character == "\\" and not escaped
    return [cell.strip() for cell in cells_]


@pytest.mark.parametrize("name", ["plain", "a|b", "a||b", r"a\|b", "|", r"a\\|b", "a" + "\\" * 3 + "|b"])
@pytest.mark.parametrize("kind", [str, Name])
def test_no_name_breaks_a_markdown_table(name: str, kind: type[str]) -> None:
    lines = Table.of(["run", "kappa"], [[kind(name), "0.5"]]).to_markdown().splitlines()
    assert [len(cells(line)) for line in lines] == [2, 2, 2]
    assert cells(lines[2])[1] == "0.5"


def test_columns_of_text_are_left_aligned_and_columns_of_numbers_right() -> None:
    table = Table.of(["rank", "judge", "x"], [], left=(1,))
    assert table.to_markdown().splitlines() == ["| rank | judge | x |", "| --: | :-- | --: |"]


def test_a_unit_stands_behind_the_heading_in_every_form() -> None:
    table = Table([Column("latency", unit="s")], [[1]])
    assert table.to_markdown().startswith("| latency (s) |") and table.to_csv() == "latency (s)\n1\n"
    assert r"latency (s) \\" in table.to_tex()


def test_a_number_is_rounded_alike_in_text_and_whole_in_csv() -> None:
    third = Number(1 / 3, 0.25, 0.4)
    table = Table.of(["run", "kappa"], [[Name("a"), third]])
    assert "| a | 0.333 [0.250, 0.400] |" in table.to_markdown()
    assert "a & $0.333$ $[0.250, 0.400]$ " in table.to_tex()
    (row,) = csv.DictReader(io.StringIO(table.to_csv()))
    assert math.isclose(float(row["kappa"]), 1 / 3, rel_tol=0, abs_tol=0)


@pytest.mark.parametrize(
    ("number", "text", "tex", "value"),
    [
        (Number(None), "-", "--", ""),
        (Number(0.474, comparable=False), "0.474‡", r"$0.474$\textsuperscript{\ddag}", "0.474"),
        (Number(0.25, 0.1, 0.4, signed=True), "+0.250 [+0.100, +0.400]", "$+0.250$ $[+0.100, +0.400]$", "0.25"),
        (Number(0.5, 0.4, 0.6, bold=True), "**0.500** [0.400, 0.600]", r"$\mathbf{0.500}$ $[0.400, 0.600]$", "0.5"),
        (Number(-0.5, bold=True), "**-0.500**", r"$\mathbf{-0.500}$", "-0.5"),
        (Number(-0.0001), "0.000", "$0.000$", "-0.0001"),
        (Number(0.9996, 0.999, 1.0), "0.9996 [0.999, 1.000]", "$0.9996$ $[0.999, 1.000]$", "0.9996"),
        (Number(0.1234, percent=True), "12.3 %", r"$12.3\,\%$", "0.1234"),
        (Number(2.5, digits=1), "2.5", "$2.5$", "2.5"),
    ],
)
def test_numbers_without_value_interval_or_meaning(number: Number, text: str, tex: str, value: str) -> None:
    table = Table.of(["x"], [[number]], left=())
    assert table.to_markdown().splitlines()[2] == f"| {text} |"
    assert f"{tex} \\\\" in table.to_tex() and table.to_csv().splitlines()[1].split(",")[0].strip('"') == value


def test_marks_are_explained_below_their_table_only() -> None:
    assert len(Table.of(["x"], [[Number(0.5, comparable=False)], [Number(None)]]).explained().notes) == 2
    assert not Table.of(["x"], [[Number(0.5)]]).explained().notes


def test_csv_has_the_ends_of_intervals_where_a_column_has_some() -> None:
    table = Table.of(["run", "a", "b"], [[Name("x"), Number(0.5, 0.25, 0.75), Number(0.125)], [Name("y"), None, 1]])
    assert table.to_csv() == "run,a,a low,a high,b\nx,0.5,0.25,0.75,0.125\ny,,,,1\n"


def test_caption_and_notes_are_paragraphs_below_the_table() -> None:
    table = Table.of(["a"], [["b"]], caption="Caption.", notes=["First.", "Second."])
    assert to_markdown(["Before.", table]) == "Before.\n\n| a |\n| :-- |\n| b |\n\nCaption.\n\nFirst.\n\nSecond.\n"


def test_a_group_stands_below_a_line_in_every_form_but_csv() -> None:
    table = Table([Column("n"), Column("a", "left")], [[1, "x"], [2, "y"]], groups={1: "not ranked"})
    assert table.to_tex().splitlines() == [
        r"\begin{tabular}{rl}", r"\toprule", r"n & a \\", r"\midrule", r"1 & x \\", r"\midrule",
        r"\multicolumn{2}{l}{\emph{not ranked}} \\", r"2 & y \\", r"\bottomrule", r"\end{tabular}",
    ]  # fmt: skip
    assert table.to_markdown().splitlines()[2:] == ["| 1 | x |", "|  | *not ranked* |", "| 2 | y |"]
    assert table.to_csv() == "n,a\n1,x\n2,y\n"
    stream = io.StringIO()
    Console(file=stream, width=60).print(table.to_rich())
    assert [line.split() for line in stream.getvalue().splitlines() if line.strip(" ─")][1:] == [
        ["1", "x"], ["not", "ranked"], ["2", "y"],
    ]  # fmt: skip


def test_a_label_makes_a_float() -> None:
    tex = Table([Column("a", "left")], [["x"]], caption="50 % of it.", label="tab:x").to_tex()
    assert r"\caption{50 \% of it.}" in tex and r"\label{tab:x}" in tex and r"{tabularx}{\linewidth}" in tex
    assert tex.startswith(r"\begin{table}") and tex.endswith(r"\end{table}")


def test_no_name_is_a_command_in_tex() -> None:
    assert escape_tex("[0pt] x") == "{[}0pt] x"
    assert escape_tex('a\\b{c}\n%|"') == r"a\textbackslash{}b\{c\} \%\textbar{}{\char34}"
    assert escape_tex("org/模型-7B", breakable=True) == r"org/\allowbreak{}\cjk{模型}-7B"


@pytest.mark.parametrize("name", ["=1+1", "+x", "-x", "@x"])
def test_no_name_is_a_formula_in_csv(name: str) -> None:
    assert Table.of(["run"], [[Name(name)]]).to_csv() == f"run\n'{name}\n"


def test_no_name_is_markup_on_a_terminal() -> None:
    stream = io.StringIO()
    Console(file=stream, width=60).print(Table.of(["run"], [[Name("[red]a[/red]")]]).to_rich())
    assert "[red]a[/red]" in stream.getvalue()
