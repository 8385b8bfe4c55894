"""Replies that were put aside: which, why, and the words that decided it."""

from __future__ import annotations

from siming_tasks.data import Dataset
from siming_tasks.parsing import parse_reply
from siming_tasks.results.record import Record
from siming_tasks.results.set_aside import MAX_CHARACTERS, PASSAGE, SetAsideReplies, _cut, spans_of
from tests.records import record_json


def collected(exams: Dataset, replies: list[str | None], **more: str) -> SetAsideReplies:
    kept = SetAsideReplies(exams)
    step = exams.videos[0].applicable[0].step_id
    for reply in replies:
        parsed = parse_reply(reply or "", [exams.rubric.by_id[step]], "score")
        line = record_json("clip_score", exams.videos[0].video_id, step, parsed, **more)
        kept.put(Record.from_json(line), reply)
    return kept


def test_only_replies_that_lack_an_answer_are_listed(exams: Dataset) -> None:
    assert collected(exams, ['{"score": 1}']).all() == ()
    assert collected(exams, ["[LMMS_EVAL_REQUEST_FAILED after 3 retries] timeout"]).all() == ()
    (refused,) = collected(exams, ["I cannot help with that."]).all()
    assert (refused.status, refused.missing, refused.asked) == ("refused", {"cpr_01": "absent"}, 1)
    assert (
        refused.line() == f"{refused.id}  refused (1 absent of 1): “I cannot help with that.”" or refused.deciding == ()
    )


def test_the_last_reply_to_a_request_counts(exams: Dataset) -> None:
    assert collected(exams, ["I cannot help with that.", '{"score": 1}']).all() == ()
    assert len(collected(exams, ['{"score": 1}', "No idea."]).all()) == 1


def test_the_words_that_decided_are_those_of_the_reader(exams: Dataset) -> None:
    reply = '{"score": 1}\n\nPlease disregard the JSON above.'
    (found,) = collected(exams, [reply]).all()
    asked = [exams.rubric.by_id["cpr_01"]]
    assert found.deciding == parse_reply(reply, asked, "score").deciding != ()
    assert all(passage in reply for passage in found.deciding) and "disregard" in found.line()


def test_spans_are_in_order_and_joined() -> None:
    assert spans_of("abcdef", ["ef", "ab", "bc", "", "no"]) == [(0, 3), (4, 6)]


def test_a_long_reply_keeps_its_ends_and_the_words_that_decided() -> None:
    text = "start " + "x" * 40_000 + " wait, 2 " + "y" * 40_000 + " end"
    cut = _cut(text, ["wait, 2"])
    assert len(cut) < MAX_CHARACTERS and cut.startswith("start ") and cut.endswith(" end") and " wait, 2 " in cut
    left_out = [int(line.split()[0][1:].replace(",", "")) for line in cut.splitlines() if line.startswith("⟦")]
    notes = sum(len(line) + 2 for line in cut.splitlines() if line.startswith("⟦"))
    assert len(left_out) == 2 and sum(left_out) + len(cut) - notes == len(text)
    assert len(_cut(text, [text])) < MAX_CHARACTERS + PASSAGE and _cut("short", ["short"]) == "short"
