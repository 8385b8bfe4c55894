"""One table in four forms: Markdown as a reader of Markdown sees it, TeX, CSV and a terminal; rows as such tables."""

import io
import re

import pytest
from rich.console import Console

from siming_tasks.benchmark.metrics import Estimate, Rows
from siming_tasks.study.analysis.tables import TableText, table_texts
from siming_tasks.study.report.row_tables import number, row_section
from siming_tasks.study.report.table import Name, Number, Table, escape_tex, to_markdown


def cells(line: str) -> list[str]:
    """Split a row as GitHub does: a backslash takes the character after it along."""
    return [cell.strip() for cell in re.findall(r"(?:\\.|[^|\\])+", line.strip().removeprefix("|"))]


def test_no_name_is_a_command_in_any_form() -> None:
    for name in ("plain", "a|b", "a||b", r"a\|b", "|", r"a\\|b", "a" + "\\" * 3 + "|b"):
        for kind in (str, Name):
            lines = Table(["run", "kappa"], [[kind(name), "0.5"]]).to_markdown().splitlines()
            assert [len(cells(line)) for line in lines] == [2, 2, 2] and cells(lines[2])[1] == "0.5", name
    for name in ("=1+1", "+x", "-x", "@x"):
        assert Table(["run"], [[Name(name)]]).to_csv() == f"run\n'{name}\n"
    Console(file=(stream := io.StringIO()), width=60).print(Table(["run"], [[Name("[red]a[/red]")]]).to_rich())
    assert "[red]a[/red]" in stream.getvalue()
    assert escape_tex("[0pt] x") == "{[}0pt] x"
    assert escape_tex('a\\b{c}\n%|"') == r"a\textbackslash{}b\{c\} \%\textbar{}{\char34}"
    assert escape_tex("org/模型-7B", breakable=True) == r"org/\allowbreak{}\cjk{模型}-7B"


def test_ends_of_intervals_have_columns_in_csv() -> None:
    table = Table(["run", "a", "b"], [[Name("x"), Number(0.5, 0.25, 0.75), Number(0.125)], [Name("y"), None, 1]])
    assert table.to_csv() == "run,a,a low,a high,b\nx,0.5,0.25,0.75,0.125\ny,,,,1\n"


@pytest.mark.parametrize(
    ("number", "text", "tex", "value"),
    [
        (Number(None), "-", "--", ""),
        (Number(1 / 3, 0.25, 0.4), "0.333 [0.250, 0.400]", "$0.333$ $[0.250, 0.400]$", repr(1 / 3)),
        (Number(0.474, comparable=False), "0.474‡", r"$0.474$\textsuperscript{\ddag}", "0.474"),
        (Number(0.25, 0.1, 0.4, signed=True), "+0.250 [+0.100, +0.400]", "$+0.250$ $[+0.100, +0.400]$", "0.25"),
        (Number(-0.0001), "0.000", "$0.000$", "-0.0001"),
        (Number(0.9996, 0.999, 1.0), "0.9996 [0.999, 1.000]", "$0.9996$ $[0.999, 1.000]$", "0.9996"),
        (Number(0.1234, percent=True), "12.3 %", r"$12.3\,\%$", "0.1234"),
    ],
)
def test_numbers_without_value_interval_or_meaning(number: Number, text: str, tex: str, value: str) -> None:
    table = Table(["x"], [[number]], left=())
    assert table.to_markdown().splitlines()[2] == f"| {text} |"
    assert f"{tex} \\\\" in table.to_tex() and table.to_csv().splitlines()[1].split(",")[0].strip('"') == value


def test_marks_captions_and_notes_stand_below() -> None:
    assert len(Table(["x"], [[Number(0.5, comparable=False)], [Number(None)]]).explained().notes) == 2
    assert not Table(["x"], [[Number(0.5)]]).explained().notes
    table = Table(["a", "n"], [["b", 1]], caption="50 %.", notes=["First.", "Second."])
    assert to_markdown(["Before.", table]) == (
        "Before.\n\n| a | n |\n| :-- | --: |\n| b | 1 |\n\n50 %.\n\nFirst.\n\nSecond.\n"
    )
    assert table.to_tex().splitlines() == [
        r"\begin{tabular}{lr}", r"\toprule", r"a & n \\", r"\midrule", r"b & 1 \\", r"\bottomrule", r"\end{tabular}",
        r"\par\smallskip\parbox{\linewidth}{\raggedright 50 \%. First. Second.}",
    ]  # fmt: skip


ROWS = Rows((
    Estimate(0.5, stderr=0.1, low=0.3, high=0.7, p=0.0004, n=30, clusters=30).at("differences", "a minus b", "qwk"),
    Estimate(None, why="0/0.", n=30).at("differences", "a minus b", "plcc"),
    Estimate(0.25, p=0.04, p_holm=0.08, n=30, flags=("not-comparable",)).at("differences", "<img> minus c", "qwk"),
    Estimate(0.9, low=0.5, high=1.0, n=7, flags=("few-videos",)).at("something new", "judge", "share"),
))  # fmt: skip


def test_rows_are_a_table_with_reasons_p_values_and_flags_below() -> None:
    """A line a row, a column a metric; every caption names its reference."""

    def shown(rows: Rows = ROWS, **how: object) -> str:
        section = row_section(rows, **how)  # type: ignore[arg-type]
        return "\n".join(part.to_markdown() if isinstance(part, Table) else str(part) for part in section)

    text = shown()
    assert text.startswith("### Differences\n") and "### Something new\n" in text
    head, _, first, second = [line for line in text.splitlines() if line.startswith("|")][:4]
    assert [cell.strip() for cell in head.strip("|").split("|")] == ["", "PLCC", "kappa (quadratic)"]
    assert [cell.strip() for cell in first.strip("|").split("|")] == ["a minus b", "-", "0.500 [0.300, 0.700]"]
    assert second.endswith("| 0.250‡ |") and "<img>" not in second, "names of strangers are no markup"
    differences, _, new = text.replace("\\", "").partition("### Something new")
    assert "a minus b, kappa (quadratic): p < 0.001" in differences and "p = 0.040 (Holm 0.080)" in differences
    assert "0/0. (a minus b)" in differences
    assert "Fewer than 20 videos" in new and "Fewer than 20 videos" not in differences
    assert number(ROWS[0]).comparable and not number(ROWS[2]).comparable
    assert shown(only=["ranked", "something new"]).startswith("### Something new") and shown(Rows()) == ""
    assert "both against rater_a" in shown(reference="rater_a")
    assert TableText("", "Against {reference}.", {}).sentence("consensus") == "Against the consensus."
    assert all("{" not in text.sentence("x") for text in table_texts().values())


@pytest.mark.parametrize(("judges", "columns"), [(3, 2), (3, 3), (3, 9), (1, 7)])
def test_no_number_is_broken_on_a_terminal(judges: int, columns: int) -> None:
    """In 80 columns; of many columns each row is a block. Every name is whole as well, if folded."""
    value = Number(-0.5, -0.046, 0.026, signed=True)
    rows = [[Name(f"organization/a-long-name-of-a-model-{k}"), *[value] * columns] for k in range(judges)]
    table = Table(["run", *(f"kappa (quadratic) {k}" for k in range(columns))], rows)
    Console(file=(stream := io.StringIO()), width=80).print(table.to_rich(80))
    drawn = stream.getvalue()
    assert drawn.count("-0.500") == drawn.count("[-0.046, +0.026]") == judges * columns
    assert max(map(len, drawn.splitlines())) <= 80
    assert ("kappa (quadratic) 1: " in drawn) == (columns > 3)
