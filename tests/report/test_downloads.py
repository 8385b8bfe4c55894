"""Downloads of a report: they hold the numbers of report.json and nothing that a reader's program would run."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from siming_tasks.cli import main
from siming_tasks.report.charts import Mark
from siming_tasks.report.forest_plot import Band, ForestPlot, ForestRow, Panel
from siming_tasks.report.paper_figure import WIDTH, write_forest_plot
from siming_tasks.report.tables.ranking import ranking_table
from siming_tasks.tasks import BENCHMARK_TASKS


def test_tables_hold_the_numbers_of_the_report(lab: Any) -> None:
    report = json.loads((lab.out / "report.json").read_text())
    for name in BENCHMARK_TASKS:
        board = report["standings"][name]
        with (lab.out / "tables" / f"{name}.csv").open(newline="") as stream:
            lines = list(csv.DictReader(stream))
        assert [line["kind"] for line in lines] == [row["role"] for row in board["rows"]]
        metric = board["metric"]
        for line, row in zip(lines, board["rows"], strict=True):
            assert line["data"] == "synthetic" and float(line["coverage"]) == row["metrics"]["coverage"]["value"]
            answered = row["metrics"][metric]
            shown = answered if answered["value"] is None else row["imputed"][metric]
            for column, estimate in ((metric, shown), (f"{metric}_answered", answered)):
                assert line[column] == (
                    "" if estimate["undefined"] or estimate["value"] is None else str(estimate["value"])
                )
            assert bool(line["not_ranked"]) == bool(row["unranked"] and row["slug"])
        for ending in ("tex", "md"):
            text = (lab.out / "tables" / f"{name}.{ending}").read_text()
            assert "SYNTHETIC data" in text and "example/Noisy-7B" in text.replace(r"\allowbreak{}", "")


def test_a_hostile_name_is_text_in_every_file(lab: Any) -> None:
    tex = (lab.out / "tables" / "full_score.tex").read_text()
    assert r"\textless{}img src=x onerror=alert(1)\textgreater{}{[}{[}U+202E]]gpj.\allowbreak{}7B" in tex
    assert tex.count("{") == tex.count("}")
    for path in (lab.out / "tables").iterdir():
        assert "\u202e" not in path.read_text(), path
    svg = (lab.out / "figures" / "full_score.svg").read_text()
    root = ElementTree.fromstring(svg)
    assert not [item for item in root.iter() if item.tag.endswith(("script", "img", "foreignObject"))]
    assert "SYNTHETIC data" in "".join(root.itertext()) and "\u202e" not in svg


LONG = "an-organisation-with-a-long-name/A-Vision-Language-Model-with-Many-Words-72B-Instruct-Preview-2026-11"


def a_figure(*names: str) -> ForestPlot:
    rows = [ForestRow(Mark(name, 0.4, 0.2, 0.6), "0.400 [0.200, 0.600]", "-0.1", (0.35, 0.45)) for name in names]
    band, zone = Band("physicians with each other", 0.5, 0.7, 0.6), Band("no-video baselines", 0.0, 0.1)
    consensus = [*rows, ForestRow(Mark("none", None), "no data")]
    panels = [Panel("agreement with each physician", rows, band, zone), Panel("with the consensus", consensus)]
    return ForestPlot("Full video", "kappa", panels)


def test_figures_are_the_same_each_time(tmp_path: Path) -> None:
    """Names with signs that TeX, XML or the font do not know; SVG keeps them as text, PDF embeds its fonts."""
    figure = a_figure("a $x_1$ & <b> 模型")
    first, again = ([path.read_bytes() for path in write_forest_plot(
        figure, [tmp_path / folder / f"x.{kind}" for kind in ("svg", "pdf")], synthetic=False
    )] for folder in "ab")  # fmt: skip
    assert first == again
    svg, pdf = first
    assert "a $x_1$ & <b> 模型" in "".join(ElementTree.fromstring(svg).itertext())
    assert pdf.startswith(b"%PDF-") and b"FontFile2" in pdf and b"SYNTHETIC" not in svg


def test_no_name_cuts_a_figure(tmp_path: Path) -> None:
    """Every text lies within the page; a name of a hundred letters is shortened, with a key, and cuts no other."""
    assert len(LONG) > 94
    (path,) = write_forest_plot(a_figure(LONG, "short"), [tmp_path / "x.svg"], synthetic=True)
    root = ElementTree.fromstring(path.read_text())
    assert float(root.attrib["width"].removesuffix("pt")) == pytest.approx(72 * WIDTH)
    texts = ["".join(item.itertext()).strip() for item in root.iter("{http://www.w3.org/2000/svg}text")]
    whole = " ".join(texts)
    assert "short" in texts and "Full video" not in whole and "SYNTHETIC" in whole
    assert "[1] an-organisation" in whole and LONG.replace("-", "") in "".join(texts).replace("-", "")
    assert sum("0.400" in text for text in texts) == 4
    (png,) = write_forest_plot(a_figure(LONG, "short"), [tmp_path / "x.png"], synthetic=True)
    with Image.open(png) as drawn:
        ink = np.asarray(drawn.convert("L")) < 128
    assert abs(drawn.width - 300 * WIDTH) <= 1
    for edge in (ink[:3], ink[-3:], ink[:, :3], ink[:, -3:]):
        assert not edge.any()


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="needs pdflatex with booktabs and tabularx")
def test_tables_compile_and_fit_the_line(lab: Any, tmp_path: Path) -> None:
    """A real LaTeX takes the files as they are, names of strangers in them, and finds no line too wide."""
    board = json.loads((lab.out / "report.json").read_text())["standings"]["full_score"]
    board["rows"][0]["name"] = LONG
    table = ranking_table(board, synthetic=True, intervals=False).to_tex()
    hostile = (lab.out / "tables" / "full_error.tex").read_text()
    text = (
        r"\documentclass{article}\usepackage[textwidth=5.5in]{geometry}\usepackage{booktabs,tabularx}"
        rf"\begin{{document}}{table}\input{{full_score.tex}}See~\ref{{tab:siming-full-score}}.\end{{document}}"
    )
    assert "SYNTHETIC" in hostile
    (tmp_path / "full_score.tex").write_text((lab.out / "tables" / "full_score.tex").read_text())
    (tmp_path / "paper.tex").write_text(text)
    run = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-2000:]
    assert "Overfull" not in run.stdout and "Output written on paper.pdf" in run.stdout


def test_a_spreadsheet_takes_no_name_for_a_formula(lab: Any, make_run: Any, tmp_path: Path) -> None:
    run = make_run(lab.dataset, tmp_path / "run", settings=("full_error",), model="=HYPERLINK(1)")
    words = [
        "report",
        str(run),
        "--data",
        str(lab.dataset.root),
        "--out",
        str(tmp_path / "out"),
        "--video-files",
        "none",
    ]
    assert main([*words, "--resamples", "20", "--jobs", "1", "--title", "Ward <7>"]) == 0
    with (tmp_path / "out" / "tables" / "full_error.csv").open(newline="") as stream:
        assert next(csv.DictReader(stream))["judge"] == "'=HYPERLINK(1)"
    page = (tmp_path / "out" / "index.html").read_text()
    assert ">Ward &lt;7&gt;</a>" in page and "· Ward &lt;7&gt;</title>" in page
    assert (tmp_path / "out" / "report.md").read_text().startswith("# Ward ")


@pytest.mark.parametrize("page", ["index.html", "models/org-img-src-x-onerror-alert-1-gpj.7b.html"])
def test_filled_values_stand_beside_what_was_answered(lab: Any, page: str) -> None:
    report = json.loads((lab.out / "report.json").read_text())
    row = next(row for row in report["standings"]["full_score"]["rows"] if row["name"].startswith("org/"))
    assert row["metrics"]["qwk"]["value"] != row["imputed"]["qwk"]["value"]
    assert f">answered {row['metrics']['qwk']['value']:.3f}".replace("-", "−") in (lab.out / page).read_text()


def test_no_estimate_of_few_videos_has_an_interval(lab: Any) -> None:
    """Four exams: nothing that rests on them is given an end; counted shares have Wilson's."""
    found = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if {"value", "low", "n_videos"} <= value.keys() and value["low"] is not None:
                found.append(value)
            for item in value.values():
                walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)

    report = json.loads((lab.out / "report.json").read_text())
    walk(report)
    assert found == []
    gains = [gain for run in report["runs"] for gain in run["gains"].values()]
    assert gains and all(gain["low"] in (None, gain["high"]) for gain in gains)  # equal runs differ by 0 for certain
