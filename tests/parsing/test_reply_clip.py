"""Replies about one step (cpr_02, out of 3), each with its reading written by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from siming_tasks.parsing import Parsed

Read = Callable[..., Parsed]

SCORES = [
    # the form that is asked for, and its decoration
    ('{"score": 2}', 2),
    (' \n{"score":2}\n', 2),
    ('\ufeff{"score": 2}', 2),
    ('```json\n{"score": 2}\n```', 2),
    ('```\n{\n  "score": 2\n}\n```', 2),
    ('~~~json\n{"score": 2}\n~~~', 2),
    ('The trainee taps the shoulders.\n\n{"score": 2}\n\nI hope this helps!', 2),
    ('**Answer:** {"score": 2}', 2),
    ("$\\boxed{2}$", 2),
    ("\\boxed{\\text{2/3}}", 2),
    ('"{\\"score\\": 2}"', 2),
    # almost JSON
    ("{'score': 2}", 2),
    ("{score: 2}", 2),
    ('{"score": 2,}', 2),
    ('{"score": 2 // shallow\n}', 2),
    ('{"score": 2 /* of 3 */}', 2),
    ('{"score": 2 # shallow\n}', 2),
    ("{'score': 2, 'reason': None}", 2),
    ('{"score": 2, "reason": "says "are you ok?", then waits"}', 2),
    ('{"score": 2, "reason": "line\nbreak"}', 2),
    ('{"reason": "it is 1, no: "score": 1, hm", "score": 2}', 2),
    ('{"score"：２，"理由"：“按压“过浅””}', 2),
    ("｛“得分”：“２分”｝", 2),
    # ways to write the value
    ('{"score": "2"}', 2),
    ('{"score": 2.0}', 2),
    ('{"score": "2/3"}', 2),
    ('{"score": 2/3}', 2),
    ('{"score": "2 points"}', 2),
    ('{"score": "2 out of 3"}', 2),
    ('{"score": [2]}', 2),
    ('{"score": {"value": 2, "max": 3}}', 2),
    ('{"score": 2, "max_score": 3, "reason": "slow"}', 2),
    ('{"score": 0}', 0),
    # ways to say which step
    ('{"cpr_02": 2}', 2),
    ('{"CPR-02": {"score": 2, "reason": "x"}}', 2),
    ('{"scores": {"cpr_02": 2}}', 2),
    ('{"scores": [2]}', 2),
    ('{"step": "cpr_02", "score": 2}', 2),
    ('{"step_id": 2, "score": 2}', 2),
    ('{"skill": "CPR", "step": 2, "score": 2}', 2),
    ('{"skill": "CPR", "score": 2}', 2),
    ('{"cpr_02_score": 2}', 2),
    ('{"step": "Check responsiveness", "points": 2}', 2),
    ('{"step": "Checks whether the patient responds", "score": 2}', 2),
    ('[{"step": "cpr_02", "score": 2}]', 2),
    ('Here it is: [{"score": 2}] as asked.', 2),
    ('{"result": {"score": 2}}', 2),
    ('{"evaluation": {"step": "cpr_02", "result": {"points": "2/3"}}}', 2),
    ('{"cpr": {"cpr_02": 2}}', 2),
    ('{"cpr": {"2": 2}}', 2),
    # several values
    ('First {"score": 1}, but on reflection {"score": 2}.', 2),
    ('{"score": 2}\n{"note": "done"}', 2),
    ('{"score": 2, "final_score": 2}', 2),
    ('{"score": 2, "score": 2.0}', 2),
    # thinking
    ('<think>{"score": 1}</think>{"score": 2}', 2),
    ('so {"score": 1}</think>\n{"score": 2}', 2),
    ('{"reason": "writes </think> itself", "score": 2}', 2),
    ('analysisWe need {"score": 1}assistantfinal{"score": 2}', 2),
    # a bare value
    ("2", 2),
    ("2.", 2),
    ("2/3", 2),
    ("**2**", 2),
    ("Score: 2", 2),
    ("The final score is 2 points.", 2),
    ("得分：2分", 2),
    ("```\n2\n```", 2),
    # not text
    (b'{"score": 2}', 2),
    ({"score": 2}, 2),
    (['{"score": 2}'], 2),
    ([{"score": 2}], 2),
    (2, 2),
    (2.0, 2),
]


@pytest.mark.parametrize(("reply", "points"), SCORES)
def test_scores(clip: Read, reply: object, points: float) -> None:
    assert clip(reply) == Parsed("ok", {"cpr_02": points}, {})


NO_SCORE = [
    # status, reason, replies
    ("empty", "absent", ["", " \n\t", None, b"", [], [""], [None], "\u3000"]),
    (
        "request_failed",
        "absent",
        [
            "[LMMS_EVAL_REQUEST_FAILED after 5 retries] Error code: 429",
            '[LMMS_EVAL_REQUEST_FAILED after 3 retries] {"score": 2}',
            "[LMMS_EVAL_BUDGET_EXCEEDED]",
            'Error: can only concatenate str (not "NoneType") to str',
            'Let me look.Error: can only concatenate str (not "NoneType") to str',
            "Error: Connection reset by peer",
            "Video /data/clips/000002-000030.mp4 can not load, check the source",  # llava_vid, oryx
            "Video /data/clips/000002-000030.mp4\n/data/b.mp4 generate failed, check the source",
            "Can not infer the answer.",
        ],
    ),
    (
        "truncated",
        "cut_off",
        [
            '{"score": 2}\nfinal: {"score": ',
            '{"score": 2',
            '{"score": "2',
            '{"score": ',
            '{"cpr_02": {"reason": "too slo',
        ],
    ),
    (
        "truncated",
        "absent",
        ['{"sco', "{", '{"reason": "The trainee', '```json\n{"reason": "x",', '[{"step": "cpr_02", "sco'],
    ),
    (
        "truncated",
        "absent",
        ['<think>{"score": 2}', "<Thinking>hm", "[THINK]hm", '<think>a</think><think>{"score": 2}', "◁think▷2"],
    ),
    (
        "off_scale",
        "off_scale",
        [
            '{"score": 4}',
            '{"score": -1}',
            '{"score": 1.5}',
            '{"score": "2/5"}',
            '{"score": "2/10"}',
            '{"score": NaN}',
            '{"score": Infinity}',
            '{"score": 1e400}',
            '{"score": 2, "max_score": 5}',
            "7",
            "Score: 2/5",
            float("nan"),
            float("inf"),
        ],
    ),
    ("bad_json", "conflict", ['{"score": 1, "score": 2}', '{"cpr_02": 1, "CPR 2": 2}', '{"score": 1, "points": 2}']),
    (
        "bad_json",
        "unreadable",
        [
            '{"score": true}',
            '{"score": "two"}',
            '{"score": "1-2"}',
            '{"score": 1 2}',
            '{"score": 1,5}',
            '{"score": }',
            '{"score": []}',
            '{"score": [1, 2]}',
            '{"score": {}}',
            '{"score": "correct"}',
            '{"score": 10 20}',
        ],
    ),
    (
        "wrong_keys",
        "absent",
        [
            "{}",
            '{"total": 2}',
            '{"cpr_01": 2}',
            '{"cpr_01": {"score": 2}}',
            '{"scores": {"cpr_01": 2}}',
            '{"step": "cpr_01", "score": 2}',
            '{"step": 3, "score": 2}',
            '{"score": null}',
            '{"score": "N/A"}',
            '{"verdict": "correct"}',
            '{"errors": 2}',
            '{"max_score": 3}',
            '{"unknown": {"score": 2}}',
            {"score": None},
        ],
    ),
    (
        "refused",
        "absent",
        [
            "I'm sorry, but I can't help with that.",
            "As an AI, I do not watch videos.",
            "抱歉，我无法评估该视频。",
            "[SAFETY_BLOCKED:category=HARM_CATEGORY_2]",  # gemini
        ],
    ),
    ("refused", "unreadable", ['{"score": "I cannot view the video"}']),
    (
        "no_json",
        "absent",
        [
            "The trainee did well.",
            "In [1] and [2] the hands",
            "Between 1 and 2",
            "I'd say 2 or 3",
            "2 3",
            "true",
            True,
            object(),
            "\x00\ud800",
            "score",
            "cpr_02",
            "Frames 1, 2 and 3 show it",
        ],
    ),
]


@pytest.mark.parametrize(
    ("status", "reason", "reply"),
    [(status, reason, reply) for status, reason, replies in NO_SCORE for reply in replies],
)
def test_no_score(clip: Read, status: str, reason: str, reply: object) -> None:
    assert clip(reply) == Parsed(status, {}, {"cpr_02": reason})


VERDICTS = [
    ('{"verdict": "incorrect"}', 1),
    ('{"verdict": "correct"}', 0),
    ('{"verdict": "Correct."}', 0),
    ('{"Verdict": "WRONG"}', 1),
    ("{'verdict': 'right'}", 0),
    ('{"verdict": "no error"}', 0),
    ('{"verdict": "error"}', 1),
    ('{"error": true}', 1),
    ('{"error": false}', 0),
    ('{"error": "yes"}', 1),
    ('{"error": "none"}', 0),
    ('{"error": 0}', 0),
    ('{"has_error": "no"}', 0),
    ('{"incorrect": true}', 1),
    ('{"correct": true}', 0),
    ('{"is_correct": 0}', 1),
    ('{"cpr_02": "incorrect"}', 1),
    ('{"cpr_02": {"error": true, "reason": "x"}}', 1),
    ('{"verdicts": {"cpr_02": "incorrect"}}', 1),
    ('{"errors": {"cpr_02": true}}', 1),
    ('{"errors": {"cpr_02": "correct"}}', 0),
    ('{"errors": ["cpr_02"]}', 1),
    ('{"step": "cpr_02", "verdict": "incorrect", "reason": "correct place, but too shallow"}', 1),
    ('{"verdict": "incorrect", "error": "too shallow"}', 1),
    ('{"verdict": "incorrect", "score": 1}', 1),
    ('{"verdict": "incorrect: not deep enough"}', 1),
    ('{"判断": "错误"}', 1),
    ('{"是否正确": "是"}', 0),
    ('{"是否有错误": "是"}', 1),
    ("｛“结论”：“正确”｝", 0),
    (r'{"verdict": "\u9519\u8bef"}', 1),
    ("Incorrect.", 1),
    ("**Correct**", 0),
    ("Verdict: incorrect", 1),
    ("The verdict is: error", 1),
    ("判断：错误", 1),
    ("正确", 0),
    ("Incorrect - too shallow", 1),
]


@pytest.mark.parametrize(("reply", "wrong"), VERDICTS)
def test_verdicts(clip: Read, reply: object, wrong: float) -> None:
    assert clip(reply, "error") == Parsed("ok", {"cpr_02": wrong}, {})


@pytest.mark.parametrize(
    ("status", "reason", "reply"),
    [
        ("bad_json", "unreadable", '{"verdict": "correct/incorrect"}'),
        ("bad_json", "unreadable", '{"verdict": "partially correct"}'),
        ("bad_json", "ambiguous", '{"verdict": 1}'),
        ("bad_json", "ambiguous", '{"verdict": "yes"}'),
        ("bad_json", "ambiguous", '{"verdict": true}'),
        ("bad_json", "ambiguous", '{"verdict": False}'),
        ("bad_json", "ambiguous", '{"cpr_02": true}'),
        ("bad_json", "unreadable", '{"cpr_02": 2}'),
        ("bad_json", "unreadable", '{"error": "too shallow"}'),
        ("bad_json", "conflict", '{"verdict": "correct", "verdict": "incorrect"}'),
        ("bad_json", "conflict", '{"verdict": "correct", "error": true}'),
        ("refused", "unreadable", '{"error": "I cannot view the video."}'),
        ("wrong_keys", "absent", '{"verdict": null}'),
        ("wrong_keys", "absent", '{"score": 2}'),
        ("truncated", "cut_off", '{"verdict": "incor'),
        ("truncated", "cut_off", '{"verdict": incorrect'),
        ("no_json", "absent", "true"),
        ("no_json", "absent", "Error"),
        ("no_json", "absent", "false."),
        ("no_json", "absent", "2"),
        ("no_json", "absent", "The step is correct in part and wrong in part."),
        ("request_failed", "absent", "Error: the server is gone"),
    ],
)
def test_no_verdict(clip: Read, status: str, reason: str, reply: object) -> None:
    assert clip(reply, "error") == Parsed(status, {}, {"cpr_02": reason})


def test_objects_that_are_no_text(clip: Read) -> None:
    circle: list[object] = [1, 2]
    circle.append(circle)
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep, 1]
    for reply in (10**9999, circle, deep, {1: {2}}, {"score": {(1, 2): 3}}, 1j, Exception("x"), float, b"\xff\xfe{"):
        parsed = clip(reply)
        assert parsed.answers == {} and parsed.status in ("no_json", "bad_json", "truncated")
