"""Tasks with another form of the reply, from the document to the printed numbers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.benchmark.metrics import Rows
from siming_tasks.benchmark.metrics.catalogue import headline
from siming_tasks.benchmark.parsing import format_answers
from siming_tasks.benchmark.rubrics import RubricStep
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.data import Dataset, open_dataset
from siming_tasks.media import unobservable_reason
from siming_tasks.models.baselines import judge, pointer
from siming_tasks.plugin import hooks
from tests.plugin.hooks.conftest import Doc, aggregated, asked_steps, build, docs, record, relabelled
from tests.records import number_of


def numbers(name: str, dataset: Dataset, told: Callable[..., dict[str, Any]], kind: str = "oracle") -> dict[str, Any]:
    """The numbers of a reference judge that tells more: ``told(doc, steps)``, as :func:`format_answers` takes it."""
    results, answer, ask = [], TASKS[name].answer, judge(kind, dataset)
    for doc in docs(name):
        steps = asked_steps(doc, dataset)
        more = told(doc, steps)
        answers = ask(dataset.video(doc["video_id"]), steps, answer)
        said = {step: value for step, value in answers.items() if step not in more.get("abstained", ())}
        results.append(hooks.process_results(doc, [format_answers(said, steps, answer, **more)]))
    return aggregated(results)


@pytest.mark.parametrize("name", ["full_score_abstain", "full_error_abstain"])
def test_a_judge_that_abstains_where_the_frames_lack_the_evidence(name: str, run: Dataset, begin: Any) -> None:
    """It is right wherever it answers, and an abstention counts as full points in what is ranked."""
    begin(run.root, FRAMES="40")

    def blind(doc: Doc, steps: list[RubricStep]) -> dict[str, Any]:
        build(hooks.doc_to_messages, doc)
        rate = record(doc)["media"]["fps"]
        return {"abstained": [step.id for step in steps if unobservable_reason(step, rate)]}

    results = numbers(name, run, blind)
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


def test_named_spans_overlap_as_far_as_they_are_the_true_ones(run: Dataset) -> None:
    def named(kind: str) -> Callable[..., dict[str, Any]]:
        point = pointer(kind, run)
        return lambda doc, steps: {"details": {"evidence": point(run.video(doc["video_id"]), steps)}}

    for name in ("full_score_evidence", "full_error_evidence"):
        results = numbers(name, run, named("oracle"))
        assert results["evidence_iou"] == pytest.approx(1) and results["evidence"] == 1
        assert results[headline(TASKS[name].answer)] == 1
        middle = number_of(results["siming_stderr"], "iou_middle", "evidence", "evidence").value
        assert middle < 0.4, "as long, in the middle of the video"
    # a judge that names the middle is the row of chance
    whole = numbers("full_score_evidence", run, named("all_correct"), "all_correct")["siming_stderr"]
    iou, middle = (number_of(whole, key, "evidence", "evidence").value for key in ("iou", "iou_middle"))
    assert iou == pytest.approx(middle, abs=1e-3)


@pytest.fixture(scope="session")
def labelled_errors(short_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The short demo with labels that state the first error of every step without full points, and none of the rest."""

    def state(label: Doc, step: RubricStep) -> None:
        label["errors"] = [step.errors[0].id] if label["score"]["consensus"] < step.max_score else []

    return relabelled(short_demo, tmp_path_factory.mktemp("errors") / "demo", state)


@pytest.mark.parametrize("name", ["full_score_named_errors", "clip_error_named_errors"])
def test_named_errors_are_scored_from_the_document_to_the_printed_numbers(
    name: str, labelled_errors: Path, begin: Any
) -> None:
    begin(labelled_errors)
    dataset = open_dataset(labelled_errors)

    def naming(named: Callable[[Any, RubricStep], list[str]]) -> dict[str, Any]:
        """The numbers of a judge that names errors, and gives a reason where there are some."""

        def told(doc: Doc, steps: list[RubricStep]) -> dict[str, Any]:
            labels = {step.id: dataset.video(doc["video_id"]).step(step.id) for step in steps}
            reasons = {step.id: "Seen." for step in steps if labels[step.id].errors}
            return {"details": {"errors": {s.id: named(labels[s.id], s) for s in steps}, "reason": reasons}}

        return numbers(name, dataset, told)

    perfect = naming(lambda label, step: list(label.errors))
    assert [perfect[f"named_error_{key}"] for key in ("f1", "precision", "recall")] == [1, 1, 1]
    scope = TASKS[name].scope
    labels = [label for video in dataset.videos for label in video.applicable if scope == "full" or label.span]
    wrong = sum(bool(label.errors) for label in labels)
    assert 0 < wrong < len(labels)
    record = hooks.process_results(docs(name)[0], [""])["siming_stderr"]
    assert record["status"] == "empty" and "named_errors" not in record
    # One error too many of every step with an error: of two named ones is one right, and none is missed.
    excessive = naming(lambda label, step: [error.id for error in step.errors[: 2 * len(label.errors)]])
    twice = [len(dataset.rubric.by_id[label.step_id].errors) > 1 for label in labels if label.errors]
    assert excessive["named_error_recall"] == 1
    assert excessive["named_error_precision"] == pytest.approx(wrong / (wrong + sum(twice)))
    f1 = number_of(excessive["siming_stderr"], "f1", "named errors", "named errors")
    assert f1.value == excessive["named_error_f1"] == pytest.approx(2 * wrong / (2 * wrong + sum(twice)))
