"""Public objects at a prompt and in a notebook: short reprs, cards without markup of strangers, one sentence."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import siming_tasks as st

QUICK = st.Options(resamples=50)


@pytest.fixture(scope="module")
def runs(short_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> list[st.Run]:
    """What the two simulated physicians say, as runs."""
    folder, dataset, found = tmp_path_factory.mktemp("runs"), st.open_dataset(short_demo), []
    for who in ("rater_a", "rater_b"):
        rows = [{"setting": "full_score", "video_id": video.video_id,
                 "scores": {step.step_id: step.scores[who] for step in video.applicable}}
                for video in dataset.videos]  # fmt: skip
        (folder / f"{who}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        found.append(st.load(folder / f"{who}.jsonl", dataset))
    return found


@pytest.fixture(scope="module")
def objects(runs: list[st.Run], short_demo: Path) -> dict[str, Any]:
    """One of every public kind, and what they hold."""
    run, matrix = runs[0], runs[0].score_matrix("full_score")
    return {
        "Dataset": run.dataset,
        "Estimate": st.Estimate(0.5),
        "Options": QUICK,
        "Run": run,
        "ScoreMatrix": matrix,
        "check_dataset": st.check_dataset(short_demo, quick=True),
        "compare": st.compare(*runs, options=QUICK),
        "default_rubric": st.default_rubric(),
        "diagnose": st.diagnose(run, "full_score", QUICK),
        "evaluate": st.evaluate(matrix, resamples=50),
        "list_tasks": st.list_tasks(),
        "task": st.list_tasks()[0],
        "parse_reply": run.records["full_score"][0].parsed,
        "score_run": st.score_run(run, QUICK),
        "source": run.source,
        "record": run.records["full_score"][0],
        "video": run.dataset.videos[0],
        "step": st.default_rubric().steps[0],
    }


def test_every_public_name_is_looked_at(objects: dict[str, Any]) -> None:
    """``build_dataset`` returns a data set and a file, ``write_report`` a path, ``build_prompt`` a text."""
    aliases = {"Panel", "load", "open_dataset", "read_run", "score_predictions"}
    assert set(st.__all__) - aliases - {"build_dataset", "build_prompt", "write_report"} <= set(objects)


def test_reprs_are_short_and_on_one_line(objects: dict[str, Any]) -> None:
    """83,222 characters were a run of four exams, 125,886 the list of tasks."""
    long = {name: text for name, each in objects.items() if len(text := repr(each)) >= 500 or "\n" in text}
    assert not long
    run = repr(objects["Run"])
    assert run.startswith("Run(") and "'rater_a'" in run and "siming-demo" in run


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen |= {tag, *(name for name, _ in attrs)}


def test_cards_hold_no_markup_of_strangers(runs: list[st.Run], objects: dict[str, Any]) -> None:
    evil = "<img src=x onerror=alert(1)>\u202e"
    source = replace(runs[0].source, name=evil)
    dataset = replace(runs[0].dataset, name=evil)
    named = replace(runs[0], source=source, dataset=dataset)
    shown = [named, dataset, st.score_run(named, QUICK), st.compare(named, runs[1], options=QUICK)]
    for each in shown:
        html, tags = each._repr_html_(), Tags()
        tags.feed(html)
        assert tags.seen <= {"div", "style", "strong", "p", "small", "table", "tr", "th", "td"}
        assert "<img" not in html and "&lt;img" in html and "\u202e" not in html


def test_show_prints_the_card_where_there_is_no_notebook(
    objects: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    objects["Run"].show()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("rater_a on siming-demo ") and lines[0].endswith(" SYNTHETIC")
    assert re.split(r"  +", lines[-1]) == ["full_score", "4 of 4", "100 %", "ok 4"]
    objects["score_run"].show()
    kappa = objects["score_run"].settings["full_score"]["metrics"]["qwk"]["value"]
    assert re.search(rf"^full_score  qwk +{kappa:.3f} ", capsys.readouterr().out, re.MULTILINE)


def test_a_comparison_is_a_sentence(runs: list[st.Run], objects: dict[str, Any]) -> None:
    found = objects["compare"]
    values = {run: row["qwk"].value for run, row in found.comparison.imputed.items()}
    first, second = sorted(values, key=lambda run: -values[run])
    difference = abs(values["rater_a"] - values["rater_b"])
    text = str(found)
    assert text.startswith(f"full_score: {first} ({values[first]:.3f}) ")
    assert f"{second} ({values[second]:.3f})" in text and f"a difference of {difference:.3f}" in text
    assert text.endswith("over 4 SYNTHETIC exams.")
    verb = "agrees better" if found.comparison.differences[0].better else "cannot be told apart"
    assert verb in text and repr(found) == f"RunComparison({text!r})"


def test_runs_are_compared_by_their_paths(
    runs: list[st.Run], short_demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIMING_DATA", str(short_demo))
    assert str(st.compare(*(run.source.path for run in runs), options=QUICK)) == str(st.compare(*runs, options=QUICK))
