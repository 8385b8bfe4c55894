"""Releases of foreign shapes: a build writes a draft of the mapping file, and with it the labels are those released."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
import yaml

from siming_tasks.common.errors import DataError
from siming_tasks.rubrics import default_rubric, rubric_from
from siming_tasks.tools.builder import build_dataset
from siming_tasks.tools.builder.build_plan import BuildOptions, Inputs, make_plan
from siming_tasks.tools.builder.release_tables import records_of
from siming_tasks.tools.builder.sheet_draft import likely_step
from tests.data.conftest import RUBRIC, STEPS, write_video

POINTS = {("a", "Li"): (2, 1, 5, 3), ("a", "Wu"): (2, 1, 5, 3), ("b", "Li"): (0, 2, 4, 0), ("b", "Wu"): (0, 2, 4, 0)}
IDS = [step for step, _ in STEPS]
WORDS = ["CPR 1", "CPR 2", "CPR 3", "AED 1"]


@pytest.fixture
def given(tmp_path: Path) -> dict[str, Path]:
    for number, name in enumerate("ab"):
        (tmp_path / "videos").mkdir(exist_ok=True)
        write_video(tmp_path / "videos" / f"{name}.mp4", seed=number)
    (tmp_path / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC))
    return {"rubric": tmp_path / "rubric.yaml", "videos": tmp_path / "videos", "labels": tmp_path / "release"}


def long_csv(folder: Path) -> None:
    lines = [f"{video}.mp4;{who};{word};{value}" for (video, who), values in POINTS.items()
             for word, value in zip(WORDS, values, strict=True)]  # fmt: skip
    (folder / "metadata.csv").write_text("\n".join(["Datei;Prüfer;Schritt;Punkte", *lines]))


def wide_csv(folder: Path) -> None:
    lines = [",".join([f"{video}.mp4", who, *map(str, values)]) for (video, who), values in POINTS.items()]
    (folder / "metadata.csv").write_text("\n".join([",".join(["录像编号", "考官", *WORDS]), *lines]))


def json_each(folder: Path) -> None:
    for video in "ab":
        scores = {who: dict(zip(WORDS, POINTS[video, who], strict=True)) for who in ("Li", "Wu")}
        (folder / f"{video}.json").write_text(json.dumps({"duration_seconds": 2, "scores": scores}))


def json_steps(folder: Path) -> None:
    def steps(video: str) -> list[Any]:
        return [{"action": word, "score": {"Li": POINTS[video, "Li"][at], "Wu": POINTS[video, "Wu"][at]}}
                for at, word in enumerate(WORDS)]  # fmt: skip

    (folder / "all.json").write_text(json.dumps({"videos": [{"clip": f"{v}.mp4", "steps": steps(v)} for v in "ab"]}))


def parquet(folder: Path) -> None:
    rows = [{"video": {"bytes": b"x" * 50, "path": f"{video}.mp4"}, "annotator": who,
             **dict(zip(WORDS, values, strict=True))} for (video, who), values in POINTS.items()]  # fmt: skip
    (folder / "data").mkdir()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), folder / "data" / "train-00000-of-00001.parquet")


def saved_dataset(folder: Path) -> None:
    import datasets

    rows = [{"video": f"{video}.mp4", "judge": who, "step": word, "score": value}
            for (video, who), values in POINTS.items() for word, value in zip(WORDS, values, strict=True)]  # fmt: skip
    datasets.DatasetDict({"test": datasets.Dataset.from_list(rows)}).save_to_disk(str(folder))


SHAPES = [long_csv, wide_csv, json_each, json_steps, parquet, saved_dataset]


@pytest.mark.parametrize("make", SHAPES, ids=lambda make: make.__name__)
def test_a_release_is_built_with_the_draft_that_the_first_attempt_wrote(
    given: dict[str, Path], tmp_path: Path, make: Callable[[Path], None]
) -> None:
    given["labels"].mkdir()
    make(given["labels"])
    with pytest.raises(DataError, match="Look at every line, then add --columns"):
        build_dataset(tmp_path / "out", **given)
    draft = tmp_path / "out.mapping.yaml"
    text = draft.read_text()
    text = text.replace('  # - "duration_seconds"', '  - "duration_seconds"')  # the one thing to decide
    draft.write_text(text)
    inputs = Inputs(given["rubric"], str(given["labels"]), given["videos"], mapping=draft)
    plan, problems = make_plan(inputs, BuildOptions())
    assert [str(each) for each in problems if each.severity == "error"] == [], text
    got = {(row.video.removesuffix(".mp4"), row.step_id): sorted(row.scores.values()) for row in plan.rows}
    assert got == {(video, step): [POINTS[video, "Li"][at], POINTS[video, "Wu"][at]]
                   for video in "ab" for at, step in enumerate(IDS)}  # fmt: skip
    assert len(plan.raters) == 2


def test_a_draft_is_written_once_and_for_foreign_words_alone(given: dict[str, Path], tmp_path: Path) -> None:
    given["labels"].mkdir()
    wide_csv(given["labels"])
    for _ in range(2):
        with pytest.raises(DataError):
            build_dataset(tmp_path / "out", **given)
    before = (tmp_path / "out.mapping.yaml").read_text()
    assert before == (tmp_path / "out.mapping.yaml").read_text()
    (tmp_path / "good.csv").write_text("video_id,step_id,consensus\na,cpr_01,7\n")
    with pytest.raises(DataError, match="off the step's scale"):
        build_dataset(tmp_path / "other", **{**given, "labels": tmp_path / "good.csv"})
    assert not (tmp_path / "other.mapping.yaml").exists()


@pytest.mark.parametrize(
    ("word", "step"),
    [
        ("cpr_03", "cpr_03"), ("CPR-03", "cpr_03"), ("cpr_03 (max. 2)", "cpr_03"), ("CPR 3", "cpr_03"),
        ("Step 3 of CPR", "cpr_03"), ("CPR step 99", ""), ("3", ""), ("Step 3", ""), ("total", ""), ("CPR 1-3", ""),
    ],
)  # fmt: skip
def test_a_word_names_a_step_by_id_name_or_number_within_its_skill(word: str, step: str) -> None:
    assert likely_step(word, default_rubric())[0] == step


def test_names_in_both_languages() -> None:
    for step in default_rubric().steps:
        for name in (step.name, step.name_zh, f"7. {step.name}"):
            if name and [each.name for each in default_rubric().steps].count(step.name) == 1:
                assert likely_step(name, default_rubric())[0] == step.id


@pytest.mark.parametrize(
    "word", ["呼救", "呼救（2分）", "3. Call for help", "call for help (max. 2)", "Call for help 呼救"]
)
def test_a_name_in_two_languages_is_known_by_each(word: str) -> None:
    """Physicians type the half that they read, and the points of the step behind it."""
    skill = {**RUBRIC["skills"][0]}
    skill["steps"] = [{**skill["steps"][0], "name": "Call for help 呼救"}, *skill["steps"][1:]]
    rubric = rubric_from({**RUBRIC, "skills": [skill, *RUBRIC["skills"][1:]]})
    assert likely_step(word, rubric)[0] == "cpr_01"


def test_rows_of_nested_objects() -> None:
    assert list(records_of([{"v": "a", "t": [{"s": 1}, {"s": 2}]}])) == [
        {("v",): "a", ("s",): 1}, {("v",): "a", ("s",): 2}]  # fmt: skip
    assert list(records_of({"v": "a", "deep": {"x": {"y": {"z": 1}}}})) == [{("v",): "a", ("y", "z"): 1}]
    assert rubric_from(RUBRIC).by_id
