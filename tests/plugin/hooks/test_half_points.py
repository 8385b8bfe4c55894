"""Half points all the way: rubric, prompt, reply, labels, prediction files, numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset, check_dataset, with_labels, withhold
from siming_tasks.models.baselines import KINDS
from siming_tasks.plugin import hooks
from siming_tasks.plugin.hooks.run_context import RUN
from siming_tasks.results.read_predictions import load_predictions
from siming_tasks.results.run import read_run, score_run
from siming_tasks.tasks import BENCHMARK_TASKS, STANDARD_TASKS
from tests.plugin.hooks.conftest import aggregated, docs, reply
from tests.plugin.hooks.half_points import RUBRIC, build
from tests.records import number_of, write_predictions


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return build(tmp_path_factory.mktemp("halves"))


@pytest.fixture
def halves(made: Dataset, begin: Callable[..., None]) -> Iterator[Dataset]:
    begin(made.root)
    yield made
    RUN.__init__()  # type: ignore[misc]


def processed(name: str, kind: str) -> list[dict[str, Any]]:
    return [hooks.process_results(doc, [reply(doc, kind)]) for doc in docs(name)]


@pytest.mark.parametrize("name", STANDARD_TASKS)
def test_the_oracle_is_perfect_and_complete(name: str, halves: Dataset) -> None:
    results = aggregated(processed(name, "oracle"))
    details = results.pop("siming_stderr")
    values = {metric: value for metric, value in results.items() if not metric.endswith("_stderr")}
    assert values == pytest.approx(dict.fromkeys(values, 1.0), abs=1e-12) and values["coverage"] == 1.0
    assert details["missing"] == {} and details["statuses"]["ok"] == details["requests"]["expected"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_judge_answers_points_that_there_are(kind: str, halves: Dataset) -> None:
    for name in BENCHMARK_TASKS:
        assert aggregated(processed(name, kind))["coverage"] == 1.0
    assert {step.id: step.score_increment for step in halves.rubric.steps} == {"cut": 0.5, "knot": 0.5, "gloves": 1.0}


@pytest.mark.parametrize("name", ["full_score", "clip_score"])
def test_kappa_of_half_points_worked_by_hand(name: str, halves: Dataset, begin: Callable[..., None]) -> None:
    """Labels of the consensus, absolute: 333 222 113 020; of rater_b: 333 212 113 120.

    Both sum to 22, their squares to 54 and 52, their products to 52: 2 cov / (var + var) = 70 / (41 + 35) = 35/38.
    Proportional: 333 211 113 020 and 333 211 113 120, sums 20 and 21, squares 48 and 49, products 48:
    (13/6) / (176/144 + 147/144 + 1/144) = 26/27. 2 of 3 points are just two thirds.
    """
    results = aggregated(processed(name, "rater_b"))
    assert results["qwk"] == pytest.approx(35 / 38, abs=1e-12)
    begin(halves.root, MAPPING="proportional")
    results = aggregated(processed(name, "rater_b"))
    assert results["qwk"] == pytest.approx(26 / 27, abs=1e-12)
    # totals 7.5 5 4 2 and 7.5 4 4 2.5: deviations 23 3 -5 -21 and 24 -4 -4 -16 (eighths), so
    # plcc = (552 - 12 + 20 + 336) / sqrt(1004 * 864)
    assert results["plcc"] == pytest.approx(896 / (1004 * 864) ** 0.5, abs=1e-9)  # totals are rounded to nine digits


def test_scores_between_half_points_are_off_the_scale_and_counted(halves: Dataset) -> None:
    (doc, *_) = docs("full_score")
    record = hooks.process_results(doc, ['{"scores": {"cut": 1.25, "knot": "1.5/2.5", "gloves": 1.5}}'])[
        "siming_stderr"
    ]
    assert record["status"] == "partial"
    assert record["answers"] == {"knot": 1.5} and record["missing"] == {"cut": "off_scale", "gloves": "off_scale"}


def test_headings_of_the_prompt_are_read_as_names(halves: Dataset) -> None:
    doc = docs("full_score")[0]
    blocks = hooks.doc_to_text(doc, {"media": "video"}).split("\n\n")
    headings = [block.splitlines()[0] for block in blocks if block.startswith("[")]
    points = dict(zip(headings, (1.5, 0.5, 2), strict=True))
    record = hooks.process_results(doc, [json.dumps({"scores": points})])["siming_stderr"]
    assert record["answers"] == {"cut": 1.5, "knot": 0.5, "gloves": 2}
    others = {
        "knot (max 2.5)": 0.5,
        "knot (out of 2.5 points)": 0.5,
        "knot (maximum 5 points)": None,
        "knot (2 points)": None,
    }
    for key, expected in {**others, "knot (max 1.5)": None}.items():
        record = hooks.process_results(doc, [json.dumps({"scores": {key: 0.5}})])["siming_stderr"]
        assert record["answers"].get("knot") == expected, key


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('{"score": 1.5, "max_score": 2.5}', 1.5),
        ('{"score": "1.5/2.5"}', 1.5),
        ('{"score": "1.5分（满分2.5分）"}', 1.5),
        ('{"score": 1.5, "scale": "0-2.5"}', 1.5),
        ('{"score": 1.5, "percent": 60}', 1.5),
        ("Score: 2.5", 2.5),
        ("**0.5**", 0.5),
        ('{"score": "1,5"}', "unreadable"),
        ('{"score": 1.5, "max_score": 3}', "off_scale"),
        ('{"score": 0.25}', "off_scale"),
        ('{"score": "1½"}', "unreadable"),
        ('{"score": "1 or 1.5"}', "unreadable"),
    ],
)
def test_half_points_as_models_write_them(reply: str, expected: float | str, halves: Dataset) -> None:
    doc = next(doc for doc in docs("clip_score") if doc["step_id"] == "knot")
    record = hooks.process_results(doc, [reply])["siming_stderr"]
    assert {**record["answers"], **record["missing"]} == {"knot": expected}


def test_prompts_say_where_half_points_are_allowed(halves: Dataset) -> None:
    prompt = hooks.doc_to_text(docs("full_score")[0], {"media": "video"})
    assert (
        prompt
        == """\
You are a physician examiner. The video shows one complete examination ("Suturing of a skin wound"), in which a \
trainee performs the procedure below on a suture pad. Judge the trainee by the rubric, step by step. What was done or \
left out earlier can decide whether a later step is correct.

Rubric:

[cut] cut (maximum 3 points, half points allowed)
Requirement: Does it.
Full points: all
Partial points: some
No points: none

[knot] knot (maximum 2.5 points, half points allowed)
Requirement: Does it.
Full points: all
Partial points: some
No points: none

[gloves] gloves (maximum 2 points)
Requirement: Does it.
Full points: all
Partial points: some
No points: none

Task: score every step of the rubric. For each step give a number of points from 0 (failed) to the maximum of that \
step (fully correct): whole points, or half points where the step allows them.

Answer with one JSON object and nothing else. It has the single key "scores", an object that maps each of the 3 step \
ids in square brackets to your points, as a number. Only the JSON counts, and of several answers to a step the last."""
    )
    clips = {doc["step_id"]: hooks.doc_to_text(doc, {"media": "video"}) for doc in docs("clip_score")}
    assert clips["cut"].endswith("""\
Task: score this step. Give a number of points from 0 (failed) to the maximum of the step (fully correct), in whole or \
half points.

Answer with one JSON object and nothing else. It has the single key "score", whose value is your points, as a number \
from 0 to 3. Only the JSON counts, and of several answers to a step the last.""")
    assert clips["gloves"].endswith("""\
Task: score this step. Give a whole number of points from 0 (failed) to the maximum of the step (fully correct).

Answer with one JSON object and nothing else. It has the single key "score", whose value is your points, as an integer \
from 0 to 2. Only the JSON counts, and of several answers to a step the last.""")


def test_files_carry_half_points_and_nothing_between(halves: Dataset, tmp_path: Path) -> None:
    records = [row["siming_stderr"] for row in processed("full_score", "rater_b")]
    path = write_predictions(records, tmp_path / "p.jsonl")
    read = load_predictions(path, halves)
    assert read.problems == ()
    assert [dict(record["answers"]) for record in read.records["full_score"]] == [r["answers"] for r in records]
    for odd in (1.25, -0.5, 3.5, True, "1.25"):
        line = {"setting": "clip_score", "video_id": "a1", "step_id": "cut", "score": odd}
        path.write_text(json.dumps(line) + "\n")
        (problem, *_) = load_predictions(path, halves).problems
        assert problem.code == "answer-missing", odd
    path.write_text(json.dumps({**records[1], "answers": {"cut": 1.25, "knot": 1, "gloves": 1}}) + "\n")
    (problem, *_) = load_predictions(path, halves).problems
    assert (problem.code, problem.what[:23]) == ("record-invalid", "answer 1.25 to 'cut' is")


def test_labels_that_are_kept_apart_score_the_same(halves: Dataset, tmp_path: Path) -> None:
    path = write_predictions([row["siming_stderr"] for row in processed("full_score", "rater_b")], tmp_path / "p.jsonl")
    public = withhold(halves.root, tmp_path / "public", tmp_path / "key.json")
    path.write_text(path.read_text().replace(halves.digest, public.digest))
    setting = score_run(read_run(path, with_labels(public, tmp_path / "key.json"))).settings["full_score"]
    assert number_of(setting, "qwk").value == pytest.approx(35 / 38, abs=1e-12)


def test_the_folder_is_sound(halves: Dataset) -> None:
    assert [str(problem) for problem in check_dataset(halves.root).problems] == []


WHOLE = (
    "1.5 points, but gloves has whole points only. Correct them. If half points are meant, write "
    "`score_increment: 0.5` in"
)
HALVES = "1.25 points, but cut has whole and half points only. Correct them."


@pytest.mark.parametrize(
    ("cell", "value", "message"),
    [
        ("b2_gloves_rater_b", 1.5, f"labels.csv:18: points: {WHOLE}"),
        ("b2_gloves_consensus", 1.5, f"labels.csv:19: points: {WHOLE}"),
        ("b2_cut_rater_b", 1.25, f"labels.csv:12: points: {HALVES}"),
    ],
)
def test_labels_between_the_points_are_refused_by_row(tmp_path: Path, cell: str, value: float, message: str) -> None:
    with pytest.raises(DataError) as caught:
        build(tmp_path, **{cell: value})
    assert message in str(caught.value)
    assert {problem.code for problem in caught.value.problems} == {"score-off-increment"}


def test_one_line_in_the_rubric_makes_half_points_of_all(tmp_path: Path) -> None:
    made = build(tmp_path, {**RUBRIC, "score_increment": 0.5}, b2_gloves_rater_b=1.5)
    assert made.video("b2").step("gloves").scores["rater_b"] == 1.5
