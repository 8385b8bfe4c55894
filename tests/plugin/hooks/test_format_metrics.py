"""Tasks with another form of the reply, from the document to the printed numbers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from siming_tasks.metrics.no_video_baselines import step_prior

from siming_tasks.data import Dataset, open_dataset
from siming_tasks.media import unobservable_reason
from siming_tasks.metrics import evaluate
from siming_tasks.metrics.catalogue import headline
from siming_tasks.models.baselines import judge, pointer
from siming_tasks.parsing import format_answers
from siming_tasks.plugin import hooks
from siming_tasks.results.evaluate_records import build_reference_matrix, claimed_spans
from siming_tasks.results.record import Record
from siming_tasks.tasks import TASKS
from tests.plugin.hooks.conftest import aggregated, docs


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
def test_a_judge_that_abstains_where_the_frames_lack_the_evidence_is_fully_justified(
    name: str, run: Dataset, begin: Any
) -> None:
    """It abstains exactly where the rubric's table says that the frames lack the evidence."""
    begin(run.root, FRAMES="40")
    results = answered(name, run, lambda step, rate: unobservable_reason(step, rate) is not None)
    whole = results["siming_stderr"]
    facts = whole["abstention"]
    assert facts["precision"]["value"] == facts["recall"]["value"] == 1
    assert facts["accuracy"]["value"] == 1 and 0 < facts["abstained"]["value"] < 1
    assert results["abstained"] == facts["abstained"]["value"] == pytest.approx(1 - results["coverage"])
    assert results["aurc"] == pytest.approx(facts["area"]["value"])
    key = headline(TASKS[name].answer)
    assert results["headline_full"] == pytest.approx(facts["headline"]["value"]) and results["headline_full"] < 1
    assert whole["imputed"][key]["value"] < 1, "an abstention ranks as any missing answer, not as the step prior"
    assert whole["missing"] == {} and whole["statuses"]["abstained"] > 0
    assert sum(whole["statuses"].values()) == whole["requests"]["answered"] == whole["requests"]["expected"]


@pytest.mark.parametrize("name", ["full_score_abstain", "clip_error_abstain"])
def test_a_judge_that_abstains_from_everything_has_the_value_of_the_step_prior(name: str, run: Dataset) -> None:
    results = answered(name, run, lambda step, rate: True)
    key = headline(TASKS[name].answer)
    blind = evaluate(step_prior(build_reference_matrix(run, name))).metrics[key].value
    assert results["headline_full"] == pytest.approx(blind) and results["headline_gain"] == 0
    assert results["abstained"] == 1 and results["coverage"] == 0 and results[key] is None


def test_the_benchmark_reads_no_abstention(run: Dataset) -> None:
    """The same words there are no answer, and the results have no such status."""
    (doc, *_) = docs("clip_score")
    values = hooks.process_results(doc, ['{"score": "not visible"}'])
    assert values["siming_stderr"]["status"] == "unread" and "abstained" not in values["siming_stderr"]
    result = hooks.evaluation([values["siming_stderr"]])
    assert "abstained" not in result["statuses"] and "abstention" not in result


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
    facts = results["siming_stderr"]["evidence"]
    spans = [label.span for video in run.videos for label in video.applicable if label.span]
    assert results["evidence_iou"] == pytest.approx(1) and results["evidence_hit"] == 1 and results["wrong_reason"] == 0
    assert results["evidence"] == facts["claimed"]["value"] == 1 and facts["claimed"]["n_items"] == len(spans)
    assert results[headline(TASKS[name].answer)] == 1
    assert all(facts["chance"][row]["iou"]["value"] < 0.4 for row in ("random", "middle"))


@pytest.mark.parametrize(("kind", "row"), [("all_correct", "middle"), ("step_prior", "prior"), ("random", "random")])
def test_judges_without_the_video_are_the_chance_rows(kind: str, row: str, run: Dataset) -> None:
    """They name what the row is computed of; the one that draws is near its expectation."""
    metrics = pointing("full_score_evidence", run, kind)["siming_stderr"]["evidence"]
    for value in ("iou", "hit"):
        near = 0.08 if row == "random" else 1e-3
        assert metrics[value]["value"] == pytest.approx(metrics["chance"][row][value]["value"], abs=near)


def test_a_clip_is_asked_which_seconds_but_not_where(run: Dataset) -> None:
    results = pointing("clip_error_evidence", run, "oracle")
    assert results["evidence"] == 1 and results["mcc"] == 1 and results["evidence_iou"] is None
    assert "A clip shows nothing but the step" in results["siming_stderr"]["evidence"]["iou"]["reason"]


def test_the_claimed_spans_of_a_run_are_in_seconds_of_the_video(run: Dataset) -> None:
    (doc, *_), (clip, *_) = docs("full_score_evidence"), docs("clip_score_evidence")
    reply = '{"scores": {"cpr_01": {"score": 1, "evidence": [[2, 3.5]]}, "cpr_02": {"score": 1, "evidence": []}}}'
    full = hooks.process_results(doc, [reply])["siming_stderr"]
    assert claimed_spans([Record.from_json(full)], run, doc["setting"]) == {
        (doc["video_id"], "cpr_01"): ((2.0, 3.5),),
        (doc["video_id"], "cpr_02"): (),
    }
    record = hooks.process_results(clip, ['{"score": 1, "evidence": [[0.5, 1]]}'])["siming_stderr"]
    start = run.video(clip["video_id"]).step(clip["step_id"]).start
    key = clip["video_id"], clip["step_id"]
    spans = claimed_spans([Record.from_json(record)], run, clip["setting"])
    assert spans[key][0] == pytest.approx((start + 0.5, start + 1))


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
    assert perfect["reason_given"] == pytest.approx(wrong / len(labels)) and 0 < wrong < len(labels)
    record = hooks.process_results(docs(name)[0], [""])["siming_stderr"]
    assert record["status"] == "empty" and "named_errors" not in record
    # One error too many of every step with an error: of two named ones is one right, and none is missed.
    excessive = naming(name, dataset, lambda label, step: [error.id for error in step.errors[: 2 * len(label.errors)]])
    twice = [len(dataset.rubric.by_id[label.step_id].errors) > 1 for label in labels if label.errors]
    assert excessive["named_error_recall"] == 1
    assert excessive["named_error_precision"] == pytest.approx(wrong / (wrong + sum(twice)))
    facts = excessive["siming_stderr"]["named_errors"]
    assert facts["listed"]["value"] == 1 and facts["f1"]["value"] == excessive["named_error_f1"]
    assert facts["exact"]["value"] == pytest.approx((len(labels) - sum(twice)) / len(labels))


def test_without_errors_in_the_labels_their_agreement_has_no_value(run: Dataset) -> None:
    results = naming("full_error_named_errors", run, lambda label, step: [])
    assert results["named_error_f1"] is None and results["named_error_recall"] is None and results["reason_given"] == 0
    reason = results["siming_stderr"]["named_errors"]["f1"]["reason"]
    assert reason == "The labels state the errors of no answered step (`errors` of a step in videos.jsonl)."
