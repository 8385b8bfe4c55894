"""The reference model as lmms-eval calls it, with plain objects in place of lmms-eval's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from siming_tasks.data import Dataset, withhold
from siming_tasks.plugin import hooks
from siming_tasks.tasks import STANDARD_TASKS
from tests.plugin.hooks.conftest import Doc, aggregated, docs, reply

pytestmark = pytest.mark.filterwarnings("ignore")  # warnings of the host's own imports


def model(kind: str, asked: list[Doc], **arguments: Any) -> tuple[Any, list[Any]]:
    """A model with the documents of one task, and a request for each."""
    from siming_tasks.plugin.reference_model import SimingReference

    reference = SimingReference(kind=kind, **arguments)
    reference.task_dict = {"task": {"test": asked}}
    ask = lambda doc: hooks.doc_to_messages(doc, {"media": "frames"})  # noqa: E731
    return reference, [SimpleNamespace(args=("", ask, {}, number, "task", "test")) for number in range(len(asked))]


@pytest.mark.parametrize("name", STANDARD_TASKS)
def test_every_setting_is_answered_in_order(name: str, run: Dataset) -> None:
    asked = docs(name)
    judge, requests = model("rater_a", asked, media=False)
    replies = judge.generate_until(requests)
    assert replies == [reply(doc, "rater_a") for doc in asked]
    rows = [hooks.process_results(doc, [text]) for doc, text in zip(asked, replies, strict=True)]
    metrics = aggregated(rows)["siming_stderr"]
    assert metrics["statuses"]["ok"] == len(asked) and metrics["media"]["modes"] == {"unknown": len(asked)}


def test_the_whole_message_is_built_by_default(run: Dataset) -> None:
    asked = docs("full_timed_score")
    judge, requests = model("oracle", asked)
    rows = zip(asked, judge.generate_until(requests), strict=True)
    media = [hooks.process_results(doc, [text])["siming_stderr"]["media"] for doc, text in rows]
    assert [(item["mode"], item["n_frames"]) for item in media] == [("frames", 6)] * 4


def test_documents_of_two_data_sets_get_their_own_labels(run: Dataset, other_demo: Any) -> None:
    mine = docs("full_score")[:1]
    theirs = [{**doc, "root": str(other_demo)} for doc in mine]
    judge, requests = model("oracle", [*mine, *theirs], media=False)
    assert judge.generate_until(requests) == [reply(mine[0]), reply(theirs[0])]
    assert reply(mine[0]) != reply(theirs[0])


@pytest.mark.parametrize("kind", ["oracle", "rater_b", "step_prior"])
def test_a_judge_that_needs_labels_is_refused_before_anything_is_asked(
    run: Dataset, begin: Callable[..., None], tmp_path: Path, kind: str
) -> None:
    withhold(run.root, tmp_path / "public", tmp_path / "key.json")
    begin(tmp_path / "public")
    message = rf"^siming-tasks: kind={kind} needs the labels of '\w+'; siming-demo has none\.$"
    with pytest.raises(SystemExit, match=message):
        model(kind, [])


def test_random_replies_depend_on_the_seed_only(run: Dataset) -> None:
    asked = docs("clip_error")
    judge, requests = model("random", asked, media=False, seed="3")
    again, _ = model("random", asked, media="false", seed=3)
    other, _ = model("random", asked, media=False, seed=4)
    assert judge.generate_until(requests) == again.generate_until(requests[::-1])[::-1]
    assert judge.generate_until(requests) != other.generate_until(requests)
