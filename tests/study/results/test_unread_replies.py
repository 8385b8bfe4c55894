"""Replies that could not be read in full: which, how many, and what helps."""

import pytest

from siming_tasks.benchmark.parsing import Parsed, parse_reply
from siming_tasks.benchmark.record import Record
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.benchmark.tasks.expected_requests import asked_steps
from siming_tasks.data import Dataset
from siming_tasks.study.results.unread_replies import ENDS, UnreadNote, UnreadReplies, signs, unread_note
from tests.records import record_json


def collected(exams: Dataset, replies: list[str | None]) -> UnreadReplies:
    kept = UnreadReplies(exams)
    step = exams.videos[0].applicable[0].step_id
    for reply in replies:
        parsed = parse_reply(reply or "", [exams.rubric.by_id[step]], "score")
        kept.put(Record.from_json(record_json("clip_score", exams.videos[0].video_id, step, parsed)), reply)
    return kept


def test_only_replies_that_lack_an_answer_are_listed(exams: Dataset) -> None:
    assert collected(exams, ['{"score": 1}']).all() == ()
    assert collected(exams, ["[LMMS_EVAL_REQUEST_FAILED after 3 retries] timeout"]).all() == ()
    (refused,) = collected(exams, ["I cannot help with \x1b[2Jthat."]).all()
    assert (refused.status, refused.missing, refused.asked) == ("refused", {"cpr_01": "absent"}, 1)
    assert refused.line().startswith(f"{refused.id}  refused (1 absent of 1): “I cannot help")
    assert "\x1b" not in refused.line()
    # the last reply to a request counts
    assert collected(exams, ["I cannot help with that.", '{"score": 1}']).all() == ()
    assert len(collected(exams, ['{"score": 1}', "No idea."]).all()) == 1


def test_a_long_reply_keeps_its_ends(exams: Dataset) -> None:
    (cut,) = collected(exams, ["start " + "x" * 80_000 + " end"]).all()
    assert len(cut.reply) < 2 * ENDS + 50 and cut.reply.startswith("start ") and cut.reply.endswith(" end")
    assert "⟦77,010 characters left out⟧" in cut.reply


SCHEMA = "SIMING_SCHEMA=json enforces the JSON format where the service supports it"
STEP = "SIMING_ASK=step asks one question per step"


@pytest.mark.parametrize(
    ("note", "expected", "many"),
    [
        (UnreadNote({"full_score": {"ok": 9, "abstained": 1, "request_failed": 3}}), "", False),
        (
            UnreadNote({"clip_score": {"ok": 98, "unread": 1, "refused": 1}}, ["one", "two"]),
            "Replies that could not be read in full: clip_score 2 of 100 (2.0%: 1 unread, 1 refused). "
            f"{SCHEMA}.\n  one\n  two",
            False,
        ),
        (  # a schema would make a model that saw no video invent an answer
            UnreadNote({"full_score": {"ok": 98, "refused": 2}}),
            "Replies that could not be read in full: full_score 2 of 100 (2.0%: 2 refused).",
            False,
        ),
        (
            UnreadNote({"full_score": {"ok": 98, "unread": 2}}),
            f"Replies that could not be read in full: full_score 2 of 100 (2.0%: 2 unread). {SCHEMA}; {STEP}.",
            False,
        ),
        (  # 3 of 203 together, and three of four exams
            UnreadNote({"full_score": {"ok": 1, "truncated": 3}, "clip_score": {"ok": 199}}),
            "Replies that could not be read in full: full_score 3 of 4 (75.0%: 3 truncated). "
            "Give truncated replies more new tokens (--gen_kwargs max_new_tokens=...).",
            True,
        ),
        (  # more tokens do not end a loop
            UnreadNote({"clip_score": {"truncated": 2}}, signs={"clip_score": {"loop": 2}}),
            "Replies that could not be read in full: clip_score 2 of 2 (100.0%: 2 truncated). "
            f"clip_score: 2 replies end in a loop. {SCHEMA}.",
            True,
        ),
        (
            UnreadNote({"full_score": {"ok": 16}}, signs={"full_score": {"several": 16, "alike": 12}}),
            "full_score: one answer for every step in 12 of 16 replies; read some of them.",
            False,
        ),
    ],
)
def test_the_note_counts_by_setting_and_says_what_helps(note: UnreadNote, expected: str, many: bool) -> None:
    assert (str(note), note.is_many) == (expected, many)


def test_a_run_that_was_asked_with_a_schema_is_not_told_of_it() -> None:
    note = UnreadNote({"full_score": {"unread": 1, "truncated": 0}}, schema=True)
    assert str(note).endswith(f"1 unread). {STEP}.")


@pytest.mark.parametrize(
    ("answers", "reply", "expected"),
    [
        ({"a": 0, "b": 0}, "", {"several", "alike"}), ({"a": 2, "b": 3}, "", {"several", "alike"}),
        ({"a": 0, "b": 3}, "", {"several"}), ({"a": 2}, "", set()), ({}, "", set()),
        ({"a": 1, "b": 1}, "", {"several"}),  # of two and of three points
        ({}, '{"score": 3}\n' * 20 + '{"sc', {"loop"}), ({}, '{"score": 3}', set()), ({}, "x" * 100, set()),
        ({}, "x" * 101, {"loop"}),
        ({}, "".join(map(str, range(200))), set()),
    ],
)  # fmt: skip
def test_the_signs_that_no_list_of_words_can_see(answers: dict[str, float], reply: str, expected: set[str]) -> None:
    assert signs(answers, {"a": 2.0, "b": 3.0}, reply) == expected


def test_one_verdict_for_every_step_is_counted(exams: Dataset) -> None:
    kept = UnreadReplies(exams)
    steps = asked_steps(TASKS["full_error"], exams.videos[0])
    for verdict in (0.0, 1.0):
        record = record_json("full_error", exams.videos[0].video_id, None, Parsed("ok", dict.fromkeys(steps, verdict)))
        kept.put(Record.from_json(record), "{}")
        assert kept.signs() == {"full_error": {"several": 1, "alike": 1}}, "the last reply to a request counts"


@pytest.mark.parametrize(
    ("ended", "more"), [("length", True), (None, True), ("stop", False), ("content_filter", False)]
)
def test_more_tokens_are_proposed_only_where_the_limit_may_have_cut(
    exams: Dataset, ended: str | None, more: bool
) -> None:
    step = exams.videos[0].applicable[0].step_id
    parsed = Parsed("truncated", {}, {step: "absent"})
    row = record_json("clip_score", exams.videos[0].video_id, step, parsed, usage={"finish_reason": ended})
    record = Record.from_json(row)
    kept = UnreadReplies(exams)
    kept.put(record, '{"sc')
    note = str(unread_note(kept, {"clip_score": [record]}))
    assert "1 truncated" in note and ("more new tokens" in note) is more


def test_examples_come_from_every_setting(exams: Dataset) -> None:
    kept, records = UnreadReplies(exams), dict[str, list[Record]]()
    step = exams.videos[0].applicable[0].step_id
    for setting in ("clip_score", "clip_error"):
        for video in exams.videos[:4]:
            row = record_json(setting, video.video_id, step, Parsed("unread", {}, {step: "absent"}))
            records.setdefault(setting, []).append(Record.from_json(row))
            kept.put(records[setting][-1], "No idea.")
    note = unread_note(kept, records)
    assert [line.split("/")[0] for line in note.examples] == ["clip_score", "clip_error", "clip_score"]
