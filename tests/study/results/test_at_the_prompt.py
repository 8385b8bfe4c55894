"""Public objects at a prompt and in a notebook: short reprs, cards without markup of strangers, one sentence."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import siming_tasks as st
from siming_tasks.common.errors import SimingError
from tests.records import write_rater


@pytest.fixture(scope="module")
def runs(short_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> list[st.Run]:
    """What the two simulated physicians say, as runs."""
    folder, dataset, found = tmp_path_factory.mktemp("runs"), st.open_dataset(short_demo), []
    for who in ("rater_a", "rater_b"):
        found.append(st.load(write_rater(dataset, folder / f"{who}.jsonl", who), dataset))
    return found


@pytest.fixture(scope="module")
def objects(runs: list[st.Run], short_demo: Path) -> dict[str, Any]:
    """One of every public kind, and what they hold."""
    run, matrix = runs[0], runs[0].score_matrix("full_score")

    def right(part: st.ScoreMatrix) -> float:
        return float((part.predicted == part.reference)[part.counted].mean())

    return {
        "Dataset": run.dataset,
        "Estimate": st.Estimate(0.5),
        "Options": st.Options(),
        "Run": run,
        "ScoreMatrix": matrix,
        "check_dataset": st.check_dataset(short_demo, quick=True),
        "compare": st.compare(*runs),
        "default_rubric": st.default_rubric(),
        "diagnose": st.diagnose(run, "full_score"),
        "difference": st.difference(right, matrix, matrix),
        "estimate": st.estimate(right, matrix),
        "evaluate": st.evaluate(matrix),
        "list_tasks": st.list_tasks("siming_full")[:1],
        "task": st.list_tasks()[0],
        "parse_reply": run.records["full_score"][0].parsed,
        "score_run": st.score_run(run),
        "source": run.source,
        "Record": run.records["full_score"][0],
        "Exams": st.Exams(run.dataset.rubric, run.dataset.videos),
        "score": st.score(run.records["full_score"], run.dataset, "full_score"),
        "video": run.dataset.videos[0],
        "step": st.default_rubric().steps[0],
    }


def test_reprs_are_short_and_on_one_line(objects: dict[str, Any]) -> None:
    """83,222 characters were a run of four exams."""
    makers_of_files_and_texts = {"build_dataset", "build_prompt", "write_report"}
    assert set(st.__all__) - {"Rows", "load", "open_dataset", "read_run"} - makers_of_files_and_texts <= set(objects)
    long = {name: text for name, each in objects.items() if len(text := repr(each)) >= 500 or "\n" in text}
    assert not long
    assert repr(objects["Run"]).startswith("Run(") and "'rater_a'" in repr(objects["Run"])


def wrong_arguments(run: Any, exams: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """By the sentence that it must get, a call with something that its function does not take."""
    data, file, archive = run.dataset, str(run.source.path), run.source.path.with_name("run.zip")
    archive.touch()
    yield f"{archive}: this is an archive; a run is expected here. Unpack it", lambda: st.load(archive, data)
    yield f"{exams}: this is a data set; a run is expected here. Give it as --data", lambda: st.load(str(exams), file)
    yield f"{file}: this is a run; a data set is expected here.", lambda: st.load(file, file)
    yield "No run was given.", lambda: st.load([], data)
    yield "data: expected the path of a data set, not an empty text.", lambda: st.load(file, "")
    yield "run: expected the path of a run, not a Dataset.", lambda: st.score_run(data)
    yield "options: expected an Options, not a dict.", lambda: st.score_run(run, {"rater": "x"})
    yield "setting='full_scor' is not a setting; 'full_score' is near. Those of", lambda: run.score_matrix("full_scor")
    yield "rater_a has no record of clip_score; it has full_score.", lambda: st.diagnose(run, "clip_score")
    yield "runs: give them one by one", lambda: st.compare([run, run])
    yield "no rater 'nobody'; there are consensus, rater_a", lambda: run.score_matrix("full_score", "nobody")
    yield "no video 'sim01'; there is sim001.", lambda: data.video("sim01")
    yield "matrix: expected a ScoreMatrix, not a Run.", lambda: st.evaluate(run)
    yield "--allow 'x' is not one of dataset", lambda: st.write_report([run], data, exams / "report", allow="x")


def test_a_wrong_argument_gets_one_sentence_with_the_way_out(runs: list[st.Run], short_demo: Path) -> None:
    for said, call in wrong_arguments(runs[0], short_demo):
        with pytest.raises(SimingError) as caught:
            call()
        assert said in str(caught.value) and "\n" not in str(caught.value)
    assert not (short_demo / "report").exists()


def test_runs_and_data_sets_are_taken_by_their_paths(runs: list[st.Run], short_demo: Path) -> None:
    a, b = runs
    loaded = st.compare(a, b)
    assert str(st.compare(a.source.path, b.source.path, data=short_demo)) == str(loaded)
    assert str(st.compare(a, b.source.path, setting="siming_full_score")) == str(loaded)
    assert st.load(a) is a
    assert st.read_run(str(a.source.path), str(short_demo)).records == a.records


def test_cards_hold_no_markup_of_strangers(runs: list[st.Run]) -> None:
    evil = "<img src=x onerror=alert(1)>\u202e"
    dataset = replace(runs[0].dataset, name=evil)
    named = replace(runs[0], source=replace(runs[0].source, name=evil), dataset=dataset)
    shown = [named, dataset, st.score_run(named), st.compare(named, runs[1])]
    for each in shown:
        html = each._repr_html_()
        tags = set(re.findall(r"<([a-z]+)", html))
        assert tags <= {"div", "style", "strong", "p", "small", "table", "tr", "th", "td"}
        assert "&lt;img" in html and "\u202e" not in html
