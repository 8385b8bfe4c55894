"""Tasks with another form of the reply, from the document to the printed numbers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.data import Dataset, open_dataset
from siming_tasks.media import unobservable_reason
from siming_tasks.metrics import Rows
from siming_tasks.metrics.catalogue import headline
from siming_tasks.models.baselines import judge, pointer
from siming_tasks.parsing import format_answers
from siming_tasks.plugin import hooks
from siming_tasks.tasks import TASKS
from tests.plugin.hooks.conftest import aggregated, docs
from tests.records import number_of


def asked(doc: dict[str, Any], run: Dataset) -> list[Any]:
    video = run.video(doc["video_id"])
    return [run.rubric.by_id[name] for name in ([doc["step_id"]] if doc["step_id"] else video.applicable_ids)]


def answered(name: str, run: Dataset, away: Any) -> dict[str, Any]:
    """The numbers of a judge that answers the consensus, and abstains from the steps in ``away(doc, steps, rate)``."""
    results = []
    for doc in docs(name):
        hooks.doc_to_messages(doc)
        steps, video = asked(doc, run), run.video(doc["video_id"])
        rate = hooks.process_results(doc, [""])["siming_stderr"]["media"]["fps"]
        gone = [step.id for step in steps if away(step, rate)]
        answer = TASKS[name].answer
        best = {step.id: video.step(step.id).consensus for step in steps if step.id not in gone}
        answers = best if answer == "score" else {s: float(v < run.rubric.by_id[s].max_score) for s, v in best.items()}
        results.append(hooks.process_results(doc, [format_answers(answers, steps, answer, abstained=gone)]))
    return aggregated(results)


@pytest.mark.parametrize("name", ["full_score_abstain", "full_error_abstain", "clip_score_abstain"])
def test_a_judge_that_abstains_where_the_frames_lack_the_evidence(name: str, run: Dataset, begin: Any) -> None:
    """It is right wherever it answers, and an abstention counts as full points in what is ranked."""
    begin(run.root, FRAMES="40")
    results = answered(name, run, lambda step, rate: unobservable_reason(step, rate) is not None)
    whole = results["siming_stderr"]
    assert 0 < results["abstained"] < 1 and results["accuracy"] == 1
    assert results["abstained"] == number_of(whole, "abstained", "abstention", "abstention").value
    assert results["abstained"] == pytest.approx(1 - results["coverage"])
    full = number_of(whole, "accuracy_full", "abstention", "abstention")
    assert 1 - results["abstained"] < full.value < 1, "some steps that it left out have full points"
    assert number_of(whole, headline(TASKS[name].answer), "ranked").value < 1
    assert whole["missing"] == {} and whole["statuses"]["abstained"] > 0
    assert sum(whole["statuses"].values()) == whole["requests"]["answered"] == whole["requests"]["expected"]


def test_the_benchmark_reads_no_abstention(run: Dataset) -> None:
    """The same words there are no answer, and the results have no such status."""
    (doc, *_) = docs("clip_score")
    values = hooks.process_results(doc, ['{"score": "not visible"}'])
    assert values["siming_stderr"]["status"] == "unread" and "abstained" not in values["siming_stderr"]
    result = hooks.evaluation([values["siming_stderr"]])
    assert "abstained" not in result["statuses"]
    assert not Rows.from_json(result["rows"]).of("abstention")


def pointing(name: str, run: Dataset, kind: str) -> dict[str, Any]:
    """The numbers of a reference judge that says what its answers rest on."""
    ask, point, results = judge(kind, run), pointer(kind, run), []
    for doc in docs(name):
        steps, video, answer = asked(doc, run), run.video(doc["video_id"]), TASKS[name].answer
        span = video.step(doc["step_id"]).span if doc["step_id"] else None
        parts = {doc["step_id"]: [(0.0, span[1] - span[0])]} if span else point(video, steps)
        reply = format_answers(ask(video, steps, answer), steps, answer, details={"evidence": parts})
        results.append(hooks.process_results(doc, [reply]))
    return aggregated(results)


@pytest.mark.parametrize("name", ["full_score_evidence", "full_error_evidence"])
def test_a_judge_that_names_the_spans_has_perfect_overlap(name: str, run: Dataset) -> None:
    results = pointing(name, run, "oracle")
    whole = results["siming_stderr"]
    spans = [label.span for video in run.videos for label in video.applicable if label.span]
    assert results["evidence_iou"] == pytest.approx(1) and results["evidence"] == 1 and len(spans) > 100
    assert results[headline(TASKS[name].answer)] == 1
    assert number_of(whole, "iou_middle", "evidence", "evidence").value < 0.4, "as long, in the middle of the video"


def test_a_judge_that_names_the_middle_is_the_row_of_chance(run: Dataset) -> None:
    whole = pointing("full_score_evidence", run, "all_correct")["siming_stderr"]
    iou, middle = (number_of(whole, key, "evidence", "evidence").value for key in ("iou", "iou_middle"))
    assert iou == pytest.approx(middle, abs=1e-3)


@pytest.fixture(scope="session")
def labelled_errors(short_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The short demo with labels that state the first error of every step without full points, and none of the rest."""
    root = tmp_path_factory.mktemp("errors") / "demo"
    shutil.copytree(short_demo, root)
    steps = open_dataset(short_demo).rubric.by_id
    rows = [json.loads(line) for line in (root / "videos.jsonl").read_text().splitlines()]
    for row in rows:
        for step in row["steps"]:
            rubric_step = steps[step["step_id"]]
            lost = step["score"]["consensus"] < rubric_step.max_score
            step["errors"] = [rubric_step.errors[0].id] if lost else []
    (root / "videos.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    info = [line for line in (root / "dataset.yaml").read_text().splitlines() if not line.startswith("digest:")]
    (root / "dataset.yaml").write_text("\n".join(info) + "\n")
    return root


def naming(name: str, dataset: Dataset, named: Any) -> dict[str, Any]:
    """The numbers of a judge that answers the consensus, names ``named(label, step)`` and gives a reason of errors."""
    results, answer = [], TASKS[name].answer
    for doc in docs(name):
        steps, video = asked(doc, dataset), dataset.video(doc["video_id"])
        labels = {step.id: video.step(step.id) for step in steps}
        details = {
            "errors": {step.id: named(labels[step.id], step) for step in steps},
            "reason": {step.id: "Seen." for step in steps if labels[step.id].errors},
        }
        reply = format_answers(judge("oracle", dataset)(video, steps, answer), steps, answer, details=details)
        results.append(hooks.process_results(doc, [reply]))
    return aggregated(results)


@pytest.mark.parametrize("name", ["full_score_named_errors", "full_error_named_errors", "clip_error_named_errors"])
def test_named_errors_are_scored_from_the_document_to_the_printed_numbers(
    name: str, labelled_errors: Path, begin: Any
) -> None:
    begin(labelled_errors)
    dataset = open_dataset(labelled_errors)
    perfect = naming(name, dataset, lambda label, step: list(label.errors))
    assert [perfect[f"named_error_{key}"] for key in ("f1", "precision", "recall")] == [1, 1, 1]
    scope = TASKS[name].scope
    labels = [label for video in dataset.videos for label in video.applicable if scope == "full" or label.span]
    wrong = sum(bool(label.errors) for label in labels)
    assert 0 < wrong < len(labels)
    record = hooks.process_results(docs(name)[0], [""])["siming_stderr"]
    assert record["status"] == "empty" and "named_errors" not in record
    # One error too many of every step with an error: of two named ones is one right, and none is missed.
    excessive = naming(name, dataset, lambda label, step: [error.id for error in step.errors[: 2 * len(label.errors)]])
    twice = [len(dataset.rubric.by_id[label.step_id].errors) > 1 for label in labels if label.errors]
    assert excessive["named_error_recall"] == 1
    assert excessive["named_error_precision"] == pytest.approx(wrong / (wrong + sum(twice)))
    f1 = number_of(excessive["siming_stderr"], "f1", "named errors", "named errors")
    assert f1.value == excessive["named_error_f1"] == pytest.approx(2 * wrong / (2 * wrong + sum(twice)))
