"""Replies about five steps of two skills (maxima 2, 3, 10, 5, 2.5), each with its reading written by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest

from siming_tasks.parsing import Parsed, parse_reply
from siming_tasks.rubrics import RubricStep, default_rubric

Read = Callable[..., Parsed]

IDS = ("cpr_01", "cpr_02", "cpr_03", "aed_01", "aed_02")
ALL = dict(zip(IDS, (2.0, 0.0, 10.0, 3.0, 1.0), strict=True))

COMPLETE = [
    '{"scores": {"cpr_01": 2, "cpr_02": 0, "cpr_03": 10, "aed_01": 3, "aed_02": 1}}',
    '{"cpr_01": 2, "cpr_02": 0, "cpr_03": 10, "aed_01": 3, "aed_02": 1}',
    '{"CPR-01": "2", "Cpr 2": "0/3", "cpr3": "10 points", "AED_1": 3.0, "aed-02": "1 of 2.5"}',
    '{"scores": [2, 0, 10, 3, 1]}',
    "[2, 0, 10, 3, 1]",
    "Scores:\n[2, 0, 10, 3, 1]\n",
    "```json\n[2, 0, 10, 3, 1]\n```",
    '{"1": 2, "2": 0, "3": 10, "4": 3, "5": 1}',
    '{"Step 1": 2, "Step 2": 0, "Step 3": 10, "Step 4": 3, "Step 5": 1}',
    '{"Step 1: Scene safety": 2, "Step 2: Check responsiveness": 0, "3. Compression depth": 10, "4": 3, "5": 1}',
    '{"Scene safety": 2, "Check responsiveness": 0, "Compression depth": 10, "Power on": 3, "Pad placement": 1}',
    '{"scores": {"1": 2, "2": 0, "3": 10, "4": 3, "5": 1}}',
    '{"cpr": {"cpr_01": 2, "cpr_02": 0, "cpr_03": 10}, "aed": {"aed_01": 3, "aed_02": 1}}',
    '{"CPR": {"1": 2, "2": 0, "Step 3": 10}, "AED": {"01": 3, "02": 1}}',
    '{"scores": {"cpr": [2, 0, 10], "aed": [3, 1]}}',
    '{"Resuscitation": {"cpr_01": 2, "cpr_02": 0, "cpr_03": 10}, "Defibrillator": {"aed_01": 3, "aed_02": 1}}',
    '{"cpr_01": {"score": 2, "reason": "ok"}, "cpr_02": {"score": 0}, "cpr_03": {"points": 10},'
    ' "aed_01": {"score": 3, "max_score": 5}, "aed_02": {"reason": "cpr_01: 1", "score": 1}}',
    '[{"step": "cpr_01", "score": 2}, {"id": "cpr_02", "score": 0}, {"step_id": "CPR-3", "score": 10, "reason": "x"},'
    ' {"step": 4, "score": 3}, {"name": "Pad placement", "score": 1}]',
    '{"steps": [{"step": 1, "score": 2}, {"step": 2, "score": 0}, {"step": "3", "score": 10},'
    ' {"step": "Step 4", "score": 3}, {"step": "5. Pad placement", "score": 1}]}',
    '[{"skill": "CPR", "step": 1, "score": 2}, {"skill": "CPR", "step": 2, "score": 0},'
    ' {"skill": "cpr", "step": 3, "score": 10}, {"skill": "AED", "step": 1, "score": 3},'
    ' {"skill": "AED", "step": 2, "score": 1}]',
    '{"skills": [{"skill": "cpr", "steps": [{"step": 1, "score": 2}, {"step": 2, "score": 0},'
    ' {"step": 3, "score": 10}]}, {"skill": "aed", "scores": {"1": 3, "2": 1}}]}',
    '{"cpr": [{"step": 1, "score": 2}, {"step": 2, "score": 0}, {"step": 3, "score": 10}],'
    ' "aed": {"scores": {"1": 3, "Step 2": 1}}}',
    '{"cpr_01_score": 2, "cpr_02_score": 0, "cpr_03_score": 10, "aed_01_score": 3, "aed_02_score": 1}',
    '[{"score": 2}, {"score": 0}, {"score": 10}, {"score": 3}, {"score": 1}]',
    '{"step": "cpr_01", "score": 2}\n{"step": "cpr_02", "score": 0}\n{"step": "cpr_03", "score": 10}\n'
    '{"step": "aed_01", "score": 3}\n{"step": "aed_02", "score": 1}',
    'CPR:\n{"cpr_01": 2, "cpr_02": 0, "cpr_03": 10}\nAED:\n{"aed_01": 3, "aed_02": 1}',
    '{"cpr_01": 1, "cpr_02": 1, "cpr_03": 1, "aed_01": 1, "aed_02": 1}\nCorrected:\n'
    '{"cpr_01": 2, "cpr_02": 0, "cpr_03": 10, "aed_01": 3, "aed_02": 1}',
    '{"scores": {"cpr_01": 2, "cpr_02": 0, "cpr_03": 10, "aed_01": 3, "aed_02": 1},'
    ' "reasons": {"cpr_01": "1 of 2 looks", "cpr_02": "never"}, "total": 16}',
    '{"cpr_01": 2, "cpr_02": 0, "cpr_03": 10, "aed_01": 3, "aed_02": 1, "total": 16, "comment": {"cpr_01": 1}}',
    '{"max_scores": {"cpr_01": 9}, "max_score": {"cpr_01": 9}, "scores": '
    '{"cpr_01": 2, "cpr_02": 0, "cpr_03": 10, "aed_01": 3, "aed_02": 1}}',
    '{"cpr_01": 2, "cpr_01": 2.0, "cpr_02": 0, "cpr_03": 10, "aed_01": 3, "aed_02": 1}',
    '{"scores": {"cpr_01": 2, "cpr_02": 0, "cpr_03": 10, "aed_01": 3, "aed_02": 1}',
    '{"scores": {"cpr_01": 2, "cpr_02": 0, "cpr_03": 10, "aed_01": 3, "aed_02": 1},',
    "｛“cpr_01”：２，“cpr_02”：０，“cpr_03”：１０，“aed_01”：３，“aed_02”：１｝",
    "{'scores': {\n  'cpr_01': 2,  # safe\n  'cpr_02': 0,  # no\n  'cpr_03': 10,\n  'aed_01': 3,\n  'aed_02': 1,\n}}",
    '{"第1步：环境安全": 2, "第2步": 0, "步骤3": 10, "4": 3, "5": 1}',
    'As in {format}, {"scores": {"cpr_01": 2, "cpr_02": 0, "cpr_03": 10, "aed_01": 3, "aed_02": 1}}',
    'As in {format: below\n{"scores": {"cpr_01": 2, "cpr_02": 0, "cpr_03": 10, "aed_01": 3, "aed_02": 1}}',
    '{"data": {"result": {"scores": {"cpr_01": 2, "cpr_02": 0, "cpr_03": 10, "aed_01": 3, "aed_02": 1}}}}',
]


@pytest.mark.parametrize("reply", COMPLETE)
def test_every_way_to_write_five_scores(full: Read, reply: str) -> None:
    assert full(reply) == Parsed("ok", ALL, {})


def partial(**said: float | str) -> Parsed:
    """Hand-written reading: a number is an answer, a text the reason why not, and what is not named is absent."""
    status = str(said.pop("status"))
    readings = {step_id: said.get(step_id, "absent") for step_id in IDS}
    answers = {step_id: reading for step_id, reading in readings.items() if not isinstance(reading, str)}
    return Parsed(status, answers, {key: str(value) for key, value in readings.items() if key not in answers})


PARTIAL = [
    # cut off: complete entries are kept, the last number may have been longer
    (
        '{"scores": {"cpr_01": 2, "cpr_02": 0, "cpr_03": 1',
        {"status": "truncated", "cpr_01": 2, "cpr_02": 0, "cpr_03": "cut_off"},
    ),
    (
        '{"scores": {"cpr_01": 2, "cpr_02": 0, "cpr_03": 1\n',
        {"status": "truncated", "cpr_01": 2, "cpr_02": 0, "cpr_03": "cut_off"},
    ),
    (
        '{"scores": {"cpr_01": 2, "cpr_02": 0, "cpr_03": 1,',
        {"status": "truncated", "cpr_01": 2, "cpr_02": 0, "cpr_03": 1},
    ),
    ('{"cpr_01": {"score": 2, "reason": "Looks ar', {"status": "truncated", "cpr_01": 2}),
    ('{"cpr_01": {"reason": "Looks around", "score": 2', {"status": "truncated", "cpr_01": "cut_off"}),
    ('{"cpr_01": {"reason": "Looks ar', {"status": "truncated", "cpr_01": "cut_off"}),
    ('[{"step": "cpr_01", "score": 2}, {"step": "cpr_02", "sc', {"status": "truncated", "cpr_01": 2}),
    (
        '{"step": "cpr_01", "score": 2}\n{"step": "cpr_02", "score": 1',
        {"status": "truncated", "cpr_01": 2, "cpr_02": "cut_off"},
    ),
    ('{"cpr_01": 0}\nNow all: {"cpr_01": 2, "cpr_02": 3, "cp', {"status": "truncated", "cpr_01": 2, "cpr_02": 3}),
    (
        '{"cpr_01": 0, "cpr_02": 1}\nAgain: {"cpr_01": 2, "cp',
        {"status": "truncated", "cpr_01": "ambiguous", "cpr_02": 1},
    ),
    ('{"cpr_01": 9}\n[2, 0, 10, 3, 1]', {"status": "off_scale", "cpr_01": "off_scale"}),
    ("[2, 0, 10, 3, 1", {"status": "truncated"}),
    ("[2, 0, 10,", {"status": "truncated"}),
    # two answers
    ('{"cpr_01": 2, "cpr_02": 1, "cpr_01": 1}', {"status": "bad_json", "cpr_01": "conflict", "cpr_02": 1}),
    ('{"cpr_01": 2, "cpr_02": 1, "CPR-1": 1}', {"status": "bad_json", "cpr_01": "conflict", "cpr_02": 1}),
    ('{"cpr_01": 2, "cpr_01": null}', {"status": "bad_json", "cpr_01": "conflict"}),
    ('{"cpr_03": 2, "3": 1}', {"status": "bad_json", "cpr_03": "conflict"}),
    ('{"cpr": {"cpr_01": 2}, "overview": {"cpr_01": 1}}', {"status": "bad_json", "cpr_01": "conflict"}),
    ('{"cpr": {"cpr_01": 2}, "overview": {"cpr_01": "safe"}}', {"status": "wrong_keys", "cpr_01": 2}),
    ('[{"step": "cpr_01", "score": 2}, {"step": "cpr_01", "score": 1}]', {"status": "bad_json", "cpr_01": "conflict"}),
    # off the scale
    (
        '{"cpr_01": 3, "cpr_02": -1, "cpr_03": 10.5, "aed_01": "3/4", "aed_02": 2.5}',
        {
            "status": "off_scale",
            "cpr_01": "off_scale",
            "cpr_02": "off_scale",
            "cpr_03": "off_scale",
            "aed_01": "off_scale",
            "aed_02": 2.5,
        },
    ),
    # unreadable
    ('{"cpr_01": "good", "cpr_02": 1}', {"status": "bad_json", "cpr_01": "unreadable", "cpr_02": 1}),
    (
        '{"cpr_01": true, "cpr_02": {"reason": "x"}}',
        {"status": "bad_json", "cpr_01": "unreadable", "cpr_02": "unreadable"},
    ),
    # lists and numbers that may mean something else
    ("[2, 0, 10, 3]", {"status": "no_json"}),
    ("[2, 0, 10, 3, 1, 0]", {"status": "no_json"}),
    ("Scores lie in [2, 0, 10, 3, 1] or so", {"status": "no_json"}),
    ('{"scores": [2, 0, 10, 3]}', {"status": "wrong_keys"}),
    ('{"frames": [2, 0, 10, 3, 1]}', {"status": "wrong_keys"}),
    ('{"scores": {"cpr": [2, 0], "aed": [3, 1]}}', {"status": "wrong_keys", "aed_01": 3, "aed_02": 1}),
    ('{"0": 2, "1": 0, "2": 10, "3": 3, "4": 1}', {"status": "wrong_keys"}),
    ('[{"step": 0, "score": 2}, {"step": 1, "score": 0}]', {"status": "wrong_keys"}),
    ('{"Defibrillator": {"1": 2, "2": 1}}', {"status": "wrong_keys"}),
    ('{"Defibrillator": {"3": 2}}', {"status": "wrong_keys"}),
    ('CPR: {"1": 2, "2": 0, "3": 10}\nAED: {"1": 3, "2": 1}', {"status": "wrong_keys", "cpr_03": 10}),
    ('[{"skill": "Defibrillator", "step": 1, "score": 2}]', {"status": "wrong_keys"}),
    ('{"Step 1": 2, "Step 2": 0, "Step 3": 10, "Step 4": 3, "St', {"status": "truncated", "cpr_03": 10, "aed_01": 3}),
    ('{"cpr_04": 2, "aed_1x": 2}', {"status": "wrong_keys"}),
    ('{"score": 2}', {"status": "wrong_keys"}),
    ('{"errors": {"cpr_01": 1}}', {"status": "wrong_keys"}),
    ('{"verdicts": {"cpr_01": 1}}', {"status": "wrong_keys"}),
    ('{"scores": {}}', {"status": "wrong_keys"}),
    ('{"cpr_01": 2, "cpr_02": null}', {"status": "wrong_keys", "cpr_01": 2}),
    ("2", {"status": "no_json"}),
    ("cpr_01: 2, cpr_02: 0", {"status": "wrong_keys", "cpr_01": 2, "cpr_02": 0}),
    # precedence
    (
        '{"cpr_01": 9, "cpr_02": "x", "cpr_03": ',
        {"status": "truncated", "cpr_01": "off_scale", "cpr_02": "unreadable", "cpr_03": "cut_off"},
    ),
    ('{"cpr_01": 9, "cpr_02": "x"}', {"status": "off_scale", "cpr_01": "off_scale", "cpr_02": "unreadable"}),
    ('{"cpr_01": 2, "note": "I cannot see the rest"}', {"status": "wrong_keys", "cpr_01": 2}),
    ('{"note": "I cannot see the video"}', {"status": "refused"}),
]


@pytest.mark.parametrize(("reply", "expected"), PARTIAL)
def test_partial_scores(full: Read, reply: str, expected: dict[str, float | str]) -> None:
    assert full(reply) == partial(**expected)


WRONG = dict(zip(IDS, (0.0, 1.0, 0.0, 1.0, 1.0), strict=True))


@pytest.mark.parametrize(
    "reply",
    [
        '{"verdicts": {"cpr_01": "correct", "cpr_02": "incorrect", "cpr_03": "correct", "aed_01": "incorrect",'
        ' "aed_02": "incorrect"}}',
        '{"cpr_01": "Right", "cpr_02": "WRONG", "cpr_03": "no error", "aed_01": "error", "aed_02": "not correct"}',
        '{"errors": {"cpr_01": false, "cpr_02": true, "cpr_03": 0, "aed_01": 1, "aed_02": "yes"}}',
        '{"is_correct": {"cpr_01": "yes", "cpr_02": "no", "cpr_03": true, "aed_01": 0, "aed_02": false}}',
        '["correct", "incorrect", "correct", "incorrect", "incorrect"]',
        '{"correct": ["cpr_01", "cpr_03"], "incorrect": ["cpr_02", "aed_01", "aed_02"]}',
        '[{"step": 1, "error": false}, {"step": 2, "error": true, "reason": "x"}, {"step": 3, "verdict": "correct"},'
        ' {"step": 4, "correct": false}, {"step": 5, "label": "Incorrect"}]',
        '{"cpr": {"1": "正确", "2": "错误", "3": "正确"}, "aed": {"1": "错误", "2": "错误"}}',
        '{"scores": {"cpr_01": "correct", "cpr_02": "incorrect", "cpr_03": "correct", "aed_01": "wrong",'
        ' "aed_02": "incorrect"}}',
        '{"verdicts": {"cpr_01": "correct", "cpr_02": "incorrect", "cpr_03": "correct", "aed_01": "incorrect",'
        ' "aed_02": "incorrect"}, "scores": {"cpr_01": 2, "cpr_02": 0}}',
    ],
)
def test_every_way_to_write_five_verdicts(full: Read, reply: str) -> None:
    assert full(reply, "error") == Parsed("ok", WRONG, {})


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (
            '{"verdicts": {"cpr_01": "correct", "cpr_02": "inc',
            {"status": "truncated", "cpr_01": 0, "cpr_02": "cut_off"},
        ),
        (
            '{"verdicts": {"cpr_01": "correct", "cpr_02": incorrect',
            {"status": "truncated", "cpr_01": 0, "cpr_02": "cut_off"},
        ),
        ('{"verdicts": {"cpr_01": "correct", "cpr_01": "incorrect"}}', {"status": "bad_json", "cpr_01": "conflict"}),
        ('{"errors": ["cpr_02"]}', {"status": "wrong_keys", "cpr_02": 1}),
        ('{"errors": []}', {"status": "wrong_keys"}),
        ('{"errors": ["cpr_02", "none other"]}', {"status": "wrong_keys"}),
        ('{"correct": ["cpr_01"], "incorrect": ["cpr_01"]}', {"status": "bad_json", "cpr_01": "conflict"}),
        ('{"cpr_01": 1, "cpr_02": "yes"}', {"status": "bad_json", "cpr_01": "ambiguous", "cpr_02": "ambiguous"}),
        ('{"cpr_01": true, "cpr_02": False}', {"status": "bad_json", "cpr_01": "ambiguous", "cpr_02": "ambiguous"}),
        ("correct", {"status": "no_json"}),
    ],
)
def test_partial_verdicts(full: Read, reply: str, expected: dict[str, float | str]) -> None:
    assert full(reply, "error") == partial(**expected)


def test_steps_that_do_not_apply_leave_no_doubt_about_the_others(steps: Sequence[RubricStep]) -> None:
    asked = [steps[0], steps[2]]  # cpr_01, cpr_03
    assert parse_reply('{"scores": {"cpr_01": 2, "cpr_02": 3, "cpr_03": 7}}', asked, "score").answers == {
        "cpr_01": 2,
        "cpr_03": 7,
    }
    assert parse_reply('{"1": 2, "3": 7}', asked, "score").answers == {"cpr_01": 2, "cpr_03": 7}
    assert parse_reply('{"1": 2, "2": 7}', asked, "score").answers == {"cpr_01": 2, "cpr_03": 7}


def test_the_whole_default_rubric() -> None:
    steps = default_rubric().steps
    truth = {step.id: float(round(step.max_score * (place % 3) / 2 - 0.01)) for place, step in enumerate(steps)}
    reply = json.dumps({"scores": truth}, indent=1)
    assert parse_reply(f"<think>{reply}</think>Here:\n```json\n{reply}\n```", steps, "score") == Parsed("ok", truth, {})
    assert list(parse_reply(reply, steps, "score").answers) == [step.id for step in steps]


def test_nothing_asked() -> None:
    assert parse_reply('{"score": 1}', [], "score") == Parsed("ok", {}, {})
    assert parse_reply("", [], "score") == Parsed("empty", {}, {})
