"""Replies that could not be read whole: which, how many, and what helps."""

from __future__ import annotations

import pytest

from siming_tasks.benchmark.parsing import parse_reply
from siming_tasks.benchmark.record import Record
from siming_tasks.data import Dataset
from siming_tasks.study.results.unread_replies import ENDS, UnreadNote, UnreadReplies
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


@pytest.mark.parametrize(
    ("note", "expected", "many"),
    [
        (UnreadNote({"full_score": {"ok": 9, "abstained": 1, "request_failed": 3}}), "", False),
        (
            UnreadNote({"clip_score": {"ok": 98, "unread": 1, "refused": 1}}, ["one", "two"]),
            "Replies that could not be read whole: clip_score 2 of 100 (2.0%: 1 unread, 1 refused). "
            "SIMING_SCHEMA=json holds a model to the form where its class takes a schema; SIMING_ASK=step asks about "
            "one step at a time.\n  one\n  two",
            False,
        ),
        (  # 3 of 203 together, and three of four exams
            UnreadNote({"full_score": {"ok": 1, "truncated": 3}, "clip_score": {"ok": 199}}),
            "Replies that could not be read whole: full_score 3 of 4 (75.0%: 3 truncated). "
            "Give truncated replies more new tokens (--gen_kwargs max_new_tokens=...).",
            True,
        ),
    ],
)
def test_the_note_counts_by_setting_and_says_what_helps(note: UnreadNote, expected: str, many: bool) -> None:
    assert (str(note), note.is_many) == (expected, many)


def test_a_run_that_was_asked_with_a_schema_is_not_told_of_it() -> None:
    note = UnreadNote({"full_score": {"unread": 1, "truncated": 0}}, schema=True)
    assert str(note).endswith("1 unread). SIMING_ASK=step asks about one step at a time.")
