"""Every hook, driven with plain dictionaries: what is asked, what is shown, what comes of the replies."""

import shutil
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siming_tasks.benchmark.tasks import BENCHMARK_TASKS, STANDARD_TASKS, TASKS, UNALTERED_TASKS
from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset, gate, restate, withhold
from siming_tasks.data.consent import HERE
from siming_tasks.media import backends, read_timeline, store
from siming_tasks.options import Options
from siming_tasks.plugin import hooks
from siming_tasks.plugin.hooks import results as results_hook
from siming_tasks.plugin.reply import NOT_KNOWN, Reply
from siming_tasks.plugin.run_context import current_run, running
from tests.data.conftest import state
from tests.plugin.hooks.conftest import Doc, aggregated, build, docs, processed, record, reply

FRAMES = {"media": "frames"}


def media_of(doc: Doc) -> dict[str, Any]:
    build(hooks.doc_to_visual, doc, FRAMES)
    return dict(record(doc)["media"])


def test_documents_name_requests_and_nothing_else(run: Dataset) -> None:
    (first, *rest) = docs("full_timed_score")
    video = run.videos[0].video_id
    asked = {"id": f"full_timed_score/{video}", "setting": "full_timed_score", "video_id": video, "step_id": ""}
    assert first == asked
    assert len(rest) == 3
    clips = docs("clip_error")
    assert len(clips) == sum(step.span is not None for exam in run.videos for step in exam.applicable)
    assert clips[0]["id"] == f"clip_error/{video}/{clips[0]['step_id']}"


@pytest.mark.parametrize("name", ["full_score", "full_timed_error", "clip_score", "sound_video_transcript_clip_score"])
def test_simple_and_chat_models_get_the_same(name: str, run: Dataset) -> None:
    *_, doc = docs(name)  # a clip from the end of a video
    count = 3 if TASKS[name].scope == "clip" else 6
    images = hooks.doc_to_visual(doc, FRAMES)
    (turn,) = hooks.doc_to_messages(doc, FRAMES)
    assert turn["role"] == "user" and [part["type"] for part in turn["content"]] == [*["text", "image"] * count, "text"]
    sent = [part["url"] for part in turn["content"] if part["type"] == "image"]
    for image, sent_image in zip(images, sent, strict=True):
        assert np.array_equal(np.asarray(image), np.asarray(sent_image))
    note, prompt = hooks.doc_to_text(doc, FRAMES).split("\n\n", 1)
    assert note.startswith(f"The {count} images above are frames of the video in order")
    times = note.removesuffix(".").partition("seconds, is ")[2].split(", ")
    assert [part["text"] for part in turn["content"][:-1:2]] == [f"Frame at {time} s:" for time in times]
    assert times[0] == "0.0" and turn["content"][-1]["text"] == prompt
    for mode, frames in (("video", None), ("proxy", count)):
        (path,) = hooks.doc_to_visual(doc, {"media": mode})
        assert hooks.doc_to_text(doc, {"media": mode}) == prompt
        assert frames in (None, read_timeline(Path(path)).n_frames)
        film, text = hooks.doc_to_messages(doc, {"media": mode})[0]["content"]
        assert (film, text) == ({"type": "video", "url": path}, {"type": "text", "text": prompt})


def test_the_class_of_the_model_decides_while_it_is_asked(run: Dataset) -> None:
    (doc, *_) = docs("clip_score")
    with running(current_run().asking(backends()["simple.longva"], HERE)):
        (path,) = build(hooks.doc_to_visual, doc)
    shown = record(doc)["media"]
    assert path.endswith(".mp4") and shown["mode"] == "video"
    assert "n_frames" not in shown and "fps" not in shown and shown["file_frames"] > 3
    assert len(hooks.doc_to_visual(doc)) == 3


def test_a_service_is_sent_a_plain_copy_of_a_real_recording(
    short_demo: Path, run: Dataset, begin: Any, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(short_demo, tmp_path / "real"))
    state(root, simulated={}, simulation=None)
    restate(root)
    begin(root)
    (doc, *_) = docs("full_score")
    with pytest.raises(DataError, match="to an unstated recipient"):
        hooks.doc_to_visual(doc)
    for recipient, copied in ((HERE, False), ("http://127.0.0.1:9/v1", True)):
        with running(current_run().asking(backends()["simple.longva"], recipient)), gate.requests(recipient):
            (path,) = hooks.doc_to_visual(doc)
        assert Path(path).is_relative_to(root) is not copied


def test_step_times_are_those_of_the_asked_video(run: Dataset) -> None:
    """The same steps are asked of all videos; a prompt kept for one must not be given for another."""
    for name in ("full_timed_score", "full_timed_error"):
        hashes = set()
        for doc in docs(name):
            text = hooks.doc_to_text(doc, {"media": "video"})
            blocks = {block[1:].split("]")[0]: block for block in text.split("\n\n") if block.startswith("[")}
            for step in run.video(doc["video_id"]).applicable:
                said = "no part of the video is marked as showing this step."
                if step.span:
                    said = f"shown from {step.span[0]:.1f} s to {step.span[1]:.1f} s."
                assert blocks[step.step_id].splitlines()[1] == f"Time: {said}"
            hashes.add(hooks.process_results(doc, [""])["siming_stderr"]["prompt"])
        assert len(hashes) == 4
    assert "Time: " not in hooks.doc_to_text(docs("full_score")[0], {"media": "video"})


def test_the_oracle_is_perfect_in_every_task(run: Dataset) -> None:
    # These replies list no errors and name no seconds, and the demo's labels state no errors.
    known = {"abstained": 0, "accuracy": 1, "evidence": 0, "evidence_iou": None}
    known |= dict.fromkeys(("named_error_f1", "named_error_precision", "named_error_recall"))
    for name in UNALTERED_TASKS:
        results = aggregated(processed(name, "oracle"))
        details = results.pop("siming_stderr")
        added = {metric: results.pop(metric) for metric in TASKS[name].answer_format.metrics}
        assert all(value == known[key] for key, value in added.items() if key in known), name
        values = {metric: value for metric, value in results.items() if not metric.endswith("_stderr")}
        assert values == dict.fromkeys(values, 1.0), name
        assert details["setting"] == name and details["requests"]["answered"] == details["requests"]["expected"]
        assert details["prompt"]["template"] == "888bdb743a0b" or name not in BENCHMARK_TASKS


def test_aggregates_do_not_depend_on_order(run: Dataset) -> None:
    rows = processed("clip_score", "rater_a")
    assert aggregated(rows) == aggregated(rows[::-1])


def test_no_reply_is_bad_input(run: Dataset) -> None:
    (doc, *_) = docs("full_timed_error")
    failed = "[LMMS_EVAL_REQUEST_FAILED after 3 retries] x"
    for results, status in (
        ([], "empty"), ([""], "empty"), ([None], "empty"), (["I cannot help with that."], "refused"),
        ([failed], "request_failed"), ([["x"]], "unread"), ([b"\xff"], "unread"), ([7], "unread"),
    ):  # fmt: skip
        row = hooks.process_results(doc, results)
        record = row["siming_stderr"]
        assert record["status"] == status and record["answers"] == {}
        assert set(record["missing"]) == {s.id for s in run.rubric.steps}
        assert hooks.coverage([row["coverage"]]) == 0.0


def test_the_table_of_what_was_answered_says_the_ranked_values(run: Dataset, caplog: pytest.LogCaptureFixture) -> None:
    whole = [hooks.process_results(doc, [reply(doc)]) for doc in docs("full_score")]
    aggregated(whole)
    assert not caplog.text
    first = docs("full_score")[0]
    printed = aggregated([hooks.process_results(first, [""]), *whole[1:]])["qwk"]
    (said,) = caplog.messages
    full_points = aggregated([hooks.process_results(first, [reply(first, "all_correct")]), *whole[1:]])["qwk"]
    assert (
        "the table covers the 75.0 % of steps" in said and f"qwk {full_points:.4f}" in said and printed != full_points
    )


def test_a_request_answered_twice_and_differently_is_missing(run: Dataset, caplog: pytest.LogCaptureFixture) -> None:
    asked = docs("full_error")
    rows = [hooks.process_results(doc, [reply(doc)]) for doc in asked]
    again = hooks.process_results(asked[0], [reply(asked[0])])
    assert aggregated([*rows, again])["coverage"] == 1.0
    other = hooks.process_results(asked[0], [reply(asked[0], "all_failed")])
    results = aggregated([*rows, other])
    assert results["coverage"] == 0.75
    assert results["siming_stderr"]["requests"]["conflicts"] == [asked[0]["id"]]
    assert "answered twice and differently" in caplog.text


def test_a_judge_that_needs_labels_is_refused_before_anything_is_asked(
    short_demo: Path, begin: Any, run: Dataset, tmp_path: Path
) -> None:
    from siming_tasks.plugin.reference_model import SimingReference

    withhold(short_demo, tmp_path / "public", tmp_path / "key.json")
    begin(tmp_path / "public")
    for kind in ("oracle", "rater_b", "step_prior"):
        message = rf"^kind={kind} needs the labels of '\w+'; siming-demo has none\.$"
        with pytest.raises(DataError, match=message):
            SimingReference(kind=kind)


def test_after_prepare_no_hook_decodes_anything(
    run: Dataset, begin: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Prepare, hooks and plan show the same frames of the real files."""
    begin(run.root, CLIP_DENSITY="matched")
    assert main(["run", "prepare"]) == 0
    monkeypatch.setattr(store, "decode", None)
    asked: dict[str, list[Doc]] = {name: docs(name) for name in STANDARD_TASKS}
    shown = {name: [media_of(doc) for doc in mine] for name, mine in asked.items()}
    stored = {
        (doc["video_id"], index)
        for name, mine in asked.items()
        for doc, media in zip(mine, shown[name], strict=True)
        for index in media.get("indices") or range(media["range"][0], media["range"][1] + 1)
    }
    assert len(list(Options.from_env().cache_dir.rglob("*.jpg"))) == len(stored)
    capsys.readouterr()
    assert main(["run", "plan"]) == 0
    out = capsys.readouterr().out
    assert f"frame store: {len(stored):,} frames" in out
    cells = [line.replace(",", "").replace("|", " ").split() for line in out.splitlines()]
    rows = {row[0]: row for row in cells if row}
    for name in STANDARD_TASKS:
        counts = [item["n_frames"] for item in shown[name]]
        assert rows[name][1:4] == [str(len(counts)), str(sum(counts)), str(max(counts))]


def test_a_run_notes_the_replies_that_it_could_not_read(run: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results_hook, "_RECORDS", {})
    monkeypatch.setattr(results_hook, "_UNREAD", {})
    asked = docs("clip_score")
    rows = [hooks.process_results(doc, ['{"score": 0}' if doc is not asked[0] else "No \x1b[2Jidea."]) for doc in asked]
    hooks.evaluation([row["siming_stderr"] for row in rows])
    note = str(results_hook.note_of_replies())
    assert f"clip_score 1 of {len(asked)} (" in note and asked[0]["id"] in note and "\x1b" not in note


def test_a_run_whose_service_answers_errors_ends_with_their_names(
    run: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results_hook, "_RECORDS", {})
    asked, failed = docs("clip_score"), "[LMMS_EVAL_REQUEST_FAILED] x"
    again = "run the same command again"
    for errors, words, stored in (
        ((), "", None),
        (("HTTP 404", "HTTP 404", "no JSON"), "3 of {} requests failed (2 HTTP 404, 1 no JSON). "
         f"To ask them, {again}: it sends only the requests without a stored reply.", None),
        (("HTTP 502",), "1 of {} requests failed (1 HTTP 502). "
         f"To ask them, {again}; SIMING_REPLIES=off sends all requests again.", False),
        (("HTTP 404",) * len(asked), "{0} of {0} requests failed ({0} HTTP 404). Correct what the log names "
         f"(of a service: its address, key and model in --model_args), and {again}.", None),
    ):  # fmt: skip
        rows = []
        for doc, error in zip_longest(asked, errors):
            text = failed if error else '{"score": 0}'
            reply = Reply.of(text, NOT_KNOWN, {"error": error, "stored": stored}, current_run().parse(doc, text))
            rows.append(hooks.process_results(doc, [reply])["siming_stderr"])
        hooks.evaluation(rows)
        assert results_hook.failed_requests() == words.format(len(asked))
