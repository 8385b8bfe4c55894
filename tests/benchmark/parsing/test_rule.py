"""The rule of docs/reference/parsing.md: its examples, its two lists, thinking, turns, and what a reply may be."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.benchmark.parsing import Parsed, parse_reply
from siming_tasks.benchmark.parsing.reply import MAX_REPLY
from siming_tasks.benchmark.rubrics import default_rubric
from siming_tasks.common.errors import OptionsError

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "parsing.md"
BY_ID = default_rubric().by_id
FULL = [BY_ID[name] for name in ("cpr_01", "cpr_02", "cpr_03")]
CLIP = [BY_ID["cpr_11"]]
ROWS = re.findall(r"^\| (points|verdicts|clip \w+) \| `(.+)` \| (\w+): (.+) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
MORE = [
    ("points", '{"scores":[2,3,1]}', "unread", "absent absent absent"),
    ("verdicts", "cpr_01 and cpr_02 were done correctly, cpr_03 was not.", "unread", "absent absent absent"),
    ("points", '{"confidence":{"cpr_01":2,"cpr_02":3,"cpr_03":1}}', "unread", "absent absent absent"),
    ("verdicts", "### cpr_01⏎Verdict: correct⏎### cpr_02⏎Verdict: incorrect⏎### cpr_03⏎Verdict: correct", "ok",
     "correct incorrect correct"),
    ("clip points", '{"step_id":"cpr_12","score":4}', "unread", "absent"),
    ("clip verdict", "Incorrect. The strokes are shallow.", "ok", "incorrect"),
]  # fmt: skip
KEPT = '{"scores": {"cpr_01": 2, "cpr_02": 3, "cpr_03": 3}}'


def read(reply: Any, steps: Any = FULL, answer: Any = "score") -> Parsed:
    return parse_reply(reply, steps, answer)


@pytest.mark.parametrize(("asked", "reply", "status", "readings"), [*ROWS, *MORE])
def test_the_examples_of_the_page(asked: str, reply: str, status: str, readings: str) -> None:
    steps, answer = CLIP if "clip" in asked else FULL, "error" if "verdict" in asked else "score"
    parsed = read(reply.replace("⏎", "\n"), steps, answer)
    words = {0.0: "correct", 1.0: "incorrect"} if answer == "error" else {}
    found = [words.get(parsed.answers[s.id], f"{parsed.answers[s.id]:g}") if s.id in parsed.answers
             else parsed.missing[s.id] for s in steps]  # fmt: skip
    assert (parsed.status, " ".join(found)) == (status, readings)
    assert len(ROWS) == 12


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("<think>", "</think>"), ("<THINKING>", "</Thinking>"), ("<reasoning>", "</reasoning>"),
        ("<seed:think>", "</seed:think>"), ("<|thinking|>", "<|/thinking|>"), ("[THINK]", "[/THINK]"),
        ("<|begin_of_thought|>", "<|end_of_thought|>"), ("◁think▷", "◁/think▷"), ("<unused94>thought", "<unused95>"),
        ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ],
)  # fmt: skip
def test_thinking(opening: str, closing: str) -> None:
    thoughts = ' User: maybe {"scores": {"cpr_01": 0}}, or "{ no\nUser: wants JSON '
    for reply in (f"{opening}{thoughts}{closing}{KEPT}", f"{thoughts}{closing}\n{KEPT}",
                  f"{opening}a{closing}{opening}b{closing}{KEPT}"):  # fmt: skip
        assert read(reply).answers == {"cpr_01": 2, "cpr_02": 3, "cpr_03": 3}
    assert read(f"{opening}{thoughts}{KEPT}") == Parsed(
        "truncated", {}, dict.fromkeys(("cpr_01", "cpr_02", "cpr_03"), "absent")
    )
    assert read(f"{KEPT}\n{opening}or rather").status == "ok"


@pytest.mark.parametrize(
    "turn",
    ["<|im_end|>\n<|im_start|>assistant\n", "\nUSER: again\nASSISTANT: ", "</s>[INST] again [/INST] ", "<|eot_id|>",
     "\n### Instruction:\nagain\n### Response:\n", "\n### Question\nagain\n", "\nuser\nagain\nassistant\n",
     "\nassistant: ",
     "<|im_end|><|im_start|>assistant\n<think>no</think>"],
)  # fmt: skip
def test_only_the_first_turn_counts(turn: str) -> None:
    for own in ("", "<s>", "<|im_start|>assistant\n", "ASSISTANT: ", "assistant\n"):
        reply = f'{own}{KEPT}{turn}{{"scores": {{"cpr_01": 0, "cpr_02": 0, "cpr_03": 0}}}}'
        assert read(reply).answers == {"cpr_01": 2, "cpr_02": 3, "cpr_03": 3}


REFUSALS = [
    "I cannot view the video.", "I'm sorry, but I'm unable to watch videos", "I do not have access to the clip.",
    "No video frames were provided.", "There was no clip attached", "The video could not be loaded.",
    "Since the video did not load, I assume the worst.", "As an AI, I have no eyes.", "These values are placeholders.",
    "Unfortunately, I can't access the recording.", "我无法观看视频。", "抱歉，没有收到视频。", "I don't see a video.",
    "作为AI，我无法观看视频。", "I do not have the ability to watch videos.", "It seems that no video was attached.",
    "Please upload the video.",
]  # fmt: skip
NO_REFUSALS = [
    "The trainee did not wait for the AED analysis.", "The trainee cannot see the monitor.", "No step was left out.",
    "No error is visible.", "I do not see any hesitation.", "I could not hear the call, but the gesture is clear.",
    "I cannot see the clip's last stroke well.", "The video did not show any error.", "No frame shows an error.",
    "The frames were not evenly spaced.", "Sorry for the brevity.", "As the clip shows, the depth is right.",
    "没有看到其他错误。", "学员没有等待分析。", "I do not see any frame with an error.",
    "Some frames could not be clearer.",
    "The scores are given by the rubric.",
]  # fmt: skip


@pytest.mark.parametrize("words", REFUSALS)
def test_a_refusal_beside_a_placeholder(words: str) -> None:
    for values in ((0, 0, 0), (2, 3, 3)):
        kept = json.dumps({"scores": dict(zip([step.id for step in FULL], values, strict=True))})
        assert [read(reply).status for reply in (f"{words}\n\n{kept}", f"{kept}\n{words}")] == ["refused", "refused"]
    assert read(f'{words}\n{{"scores": {{"cpr_01": 1, "cpr_02": 2, "cpr_03": 0}}}}').status == "ok"
    assert read(f'{{"verdict": "incorrect", "note": "{words}"}}', CLIP, "error").status == "refused"
    assert read(words).status == "refused"


@pytest.mark.parametrize("words", NO_REFUSALS)
def test_sentences_that_are_no_refusals(words: str) -> None:
    assert [read(reply).status for reply in (f"{words}\n\n{KEPT}", f"{KEPT}\n{words}")] == ["ok", "ok"]
    assert read(f'{words} {{"verdict": "incorrect"}}', CLIP, "error").status == "ok"


CORRECTIONS = [
    "Correction: cpr_03 should be 1.", "**Correction:** CPR-03 is 1", "Wait, cpr_03 was late.", "I retract cpr_03.",
    "Hmm, cpr_03 was late.", "On reflection, cpr_03 deserves less.", "更正：cpr_03应为1。", "Actually, cpr_03 is 2.",
    "Corrected score: cpr_03 1", "Edit: please ignore this verdict on cpr_03.", "Correction:\n- cpr_03: 2",
]  # fmt: skip
OF_ALL = [
    "Correction: this should be 1.", "Wait, the score should be 2/3.", "I retract this.", "更正：应为 1 分。",
    "Wait, 2.", "Edit: please ignore this verdict.", "Actually, the verdict is incorrect.",
    "Hmm, late. I change it to \"incorrect\".",
]  # fmt: skip
NO_CORRECTIONS = [
    "The trainee corrected the grip.", "Wait for the analysis was observed.", "Corrections of posture are visible.",
    "Correction of the hand position: good.", "Actually, a solid performance.", "The depth should be 5 to 6 cm.",
    "Ignoring the noise, the call is loud.", "Changes in rhythm are small.", "Sorry if this is strict.",
    "Scratches on the manikin do not matter.", "动作修正及时。", "Editing of the clip is tight.", "Correction: none.",
    "Correction: none of the 33 steps.",
    "On reflection, the trainee did well.", "Edit: format\n\ncpr_01 is fine.", "Actually, all strokes are 5 cm deep.",
]  # fmt: skip


@pytest.mark.parametrize("words", CORRECTIONS)
def test_a_correction_behind_the_answer(words: str) -> None:
    assert read(f"{KEPT}\n\n{words}") == Parsed("partial", {"cpr_01": 2.0, "cpr_02": 3.0}, {"cpr_03": "corrected"})
    assert read(f"{words}\n\n{KEPT}").status == "ok", "before the answer it corrects nothing of it"


@pytest.mark.parametrize("words", OF_ALL)
def test_a_correction_that_names_no_step_is_of_all(words: str) -> None:
    assert {*read(f"{KEPT}\n{words}").missing.values()} == {"corrected"} == {*read(f"{KEPT} {words}").missing.values()}
    assert read(f'{{"score": 4}}\n{words}', CLIP).missing == {"cpr_11": "corrected"}


@pytest.mark.parametrize("words", NO_CORRECTIONS)
def test_sentences_that_are_no_corrections(words: str) -> None:
    assert read(f"{KEPT}\n\n{words}").status == "ok"


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("cpr_01: 2\ncpr_02: 3\ncpr_03: 1", "2 3 1"), ("cpr_01: 2, cpr_02: 3; cpr_03: 1.", "2 3 1"),
        ("1. [cpr_01] Scene safety: 2\n2. [cpr_02] Responsiveness check: 3\n3. cpr_03 = 1", "2 3 1"),
        ("| Step | Points |\n|---|---|\n| cpr_01 | 2 |\n| cpr_02 | 3/3 |\n| cpr_03 | 1 |", "2 3 1"),
        ("| Step | Max | Score |\n|--|--|--|\n| cpr_01 | 2 | 1 |\n| cpr_02 | 3 | 0 |\n| cpr_03 | 3 | 2 |", "1 0 2"),
        ("| cpr_01 | 2 | 1 |", "- - -"), ("## cpr_01\n2\n\n## cpr_02\nScore: 3\n\n## cpr_03\nIt is late.", "2 3 -"),
        ("**Scene safety (cpr_01):** 2/2 - clear\ncpr_02 – 3 points\ncpr_02: 1", "2 1 -"),
        ("cpr_01 look-around: 1\ncpr_01 gesture: 0", "- - -"), ("cpr_01: 0:02\ncpr_02: 1-2\ncpr_03: 5 cm", "- - -"),
        ("A perfect trainee gets cpr_01: 2, cpr_02: 3.", "- - -"), ("1. 2\n2. 3\n3. 1", "- - -"),
        ("cpr_03: 3\n\nOverall score: 2", "- - 3"), ("### cpr_03\nScore: 3\n\n### Overall\nScore: 1", "- - 3"),
        ("**cpr_03**\nScore: 3\n---\nFinal score: 2", "- - 3"), ("### cpr_03\n#### Score\n3", "- - 3"),
        ("### cpr_03\nNot seen.\n\n### cpr_12 Rate\nScore: 2", "- - -"), ("cpr_03\nlate\ncpr_12\nScore: 2", "- - -"),
        ("### cpr_03\nNot seen.\n2. Compression rate\nScore: 2", "- - -"), ("cpr_01, cpr_02: 2", "- - -"),
        ("CPR-01: 2, cpr 2: 3", "2 3 -"),
        ("**1. cpr_01**\nScore: 2\n**2. cpr_12**\nScore: 1", "2 - -"), ("cpr_01: Score: 2", "2 - -"),
        ("### cpr_01\n**Reasoning**\nlooks\n**Score**\n2", "2 - -"),
        ("cpr_03\nlate\ncpr_01 and cpr_02\nScore: 2", "- - -"),
        ('{"note": "x"}\ncpr_01: 2', "- - -"), ("The depth (cpr_01 was better): 2", "- - -"),
        ('{"total_max": 100, "scores": {"cpr_01": 2, "cpr_02": 3}}', "2 3 -"),
        ('{"scores": {"cpr_01 (maximum 2 points)": 1, "cpr_02": 3}}', "1 3 -"),
        ("cpr_01 2\n[cpr_02] 3\ncpr_03,1", "2 3 1"), ("cpr_01 is 2; cpr_02 gets 3 points.", "2 3 -"),
        ("cpr_01 (2/2): looks\ncpr_02 2 of 3 calls\ncpr_03 3 s", "2 - -"),
        ("step,score\ncpr_01,2", "2 - -"), ("Camera angle:\ncpr_01 2", "- - -"),
        ("cpr_01 (2 points): looks\ncpr_02 Responsiveness check (3)", "- - -"), ("step,weight\ncpr_01,2", "- - -"),
        ("Points deducted:\ncpr_01: 2", "- - -"), ("Confidence per step:\ncpr_01: 2\nScores:\ncpr_02: 1", "- 1 -"),
        ("cpr_01: looks, no word: 1 point\ncpr_02: 扣1分，得2分\ncpr_03: one call, 0/3", "1 2 0"),
        ("cpr_01: left: 1 point; right: 0 points\ncpr_02: minus: 1 point\ncpr_03: late, 1", "- - -"),
        ("<scores><cpr_01>2</cpr_01><cpr_02>3</cpr_02></scores>", "2 3 -"), ("<max><cpr_01>2</cpr_01></max>", "- - -"),
        ('{"scores": "cpr_01: 2, cpr_02: 3"}', "2 3 -"), ('{"scores": ["cpr_01: 2", "cpr_03: 1"]}', "2 - 1"),
        ('{"score": 9, "scores": {"cpr_01": 2}}', "2 - -"), ('{"notes": "cpr_01: 2"}', "- - -"),
        ('Example:\n{"scores": {"cpr_01": 2}}', "- - -"), ('An example is seen.\n{"scores": {"cpr_01": 2}}', "2 - -"),
        ('Example: {"scores": {"cpr_01": 2}}\nMy answer: {"scores": {"cpr_01": 1}}', "1 - -"),
        ('{"max_score": 10, "scores": {"cpr_01": 2}}', "- - -"), ('{"cpr": {"cpr_01": 2}, "aed": {}}', "2 - -"),
    ],
)  # fmt: skip
def test_lines_tables_and_blocks(reply: str, expected: str) -> None:
    found = read(reply).answers
    assert " ".join(f"{found[step.id]:g}" if step.id in found else "-" for step in FULL) == expected


def test_a_line_without_a_value_is_unreadable_unless_another_has_one() -> None:
    assert read("cpr_01: two\ncpr_02: some\ncpr_02: 1\ncpr_02: most").missing == {
        "cpr_01": "unreadable", "cpr_03": "absent",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("4", 4), ("4 points", 4), ("Score: 4/5", 4), ("**Score:** 4\nThe depth is good.", 4), ("$\\boxed{4}$", 4),
        ("The strokes fade. The final score is 4.", 4), ("<answer>4</answer>", 4), ("得分：4分", 4),
        ("4 (a few shallow)", 4), ("I'd give it 4 points.", 4), ("It fades, so I would give 4 out of 5.", 4),
        ("The step gets 4 points because it fades.", 4), ("按压略浅，扣1分，得4分。", 4), ("满分10分，得4分。", None),
        ("If it is deep, I would give 4.", None), ("In other cases, I give 4.", None), ("I would not give 4.", None),
        ("I would give 4 if it were deep.", None), ("The trainee's friend gets 4 points.", None),
        ("| Part | Note |\n| Depth | 3 |\n| Score | 4/5 |", 4), ("| Points | 5 |\n| Deducted | 2 |", None),
        ('{"score": 4\n```', 4), ('{"score": 4\n', None),
        ("The maximum score is 5.", None), ("Deduction: 1", None), ("5 cm", None), ("3-4", None), ("[5, 4]", None),
        ("80", None), ("Frame 3", None), ("-3", None), ("Score: 4%", None), ("Score: <4", None), ("4, or 5", None),
        ('{"cpr_12": 4}', None), ('{"scores": {"depth": 4}}', None), ('{"scores": {"cpr_11": 4}}', 4),
        ("### cpr_12 Rate\nScore: 4", None), ("cpr_12\nScore: 4", None), ("Step: cpr_12\nScore: 4", None),
        ("[cpr_12]\n4", None), ("Step-11: depth\nScore: 4", 4),
        ("[cpr_11]\nUnlike cpr_10 it is late. Score: 4", 4), ("cpr_12: 3\ncpr_11: 4", 4),
        ('{"step_id": "cpr_12", "result": {"score": 4}}', None), ('{"name": "depth", "score": 4}', None),
        ('{"step": 11, "step_id": "cpr_11", "score": 4}', 4), ('{“score”：4，}', 4),
        ('{"score": "Score: 4"}', 4), ('Here:\n{\\"score\\":\\n 4}\nBye.', 4), ('a {"score": 4} or less</think>', None),
    ],
)  # fmt: skip
def test_about_one_step(reply: str, expected: float | None) -> None:
    assert read(reply, CLIP).answers == ({} if expected is None else {"cpr_11": expected})


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("The trainee performed this step correctly.", 0), ("A perfect step is correct.", None),
        ("Based on the clip, the step was not performed correctly.", 1), ("Is the step correct?", None),
        ("No, the trainee did not perform the step fully correctly, as it fades.", 1), ("It's correct. It is deep.", 0),
        ("It is deep. The step is incorrect because it fades.", None), ("The step is not fully correct; it fades.", 1),
        ("I judge it incorrect.", 1), ("It is late, and it is incorrect.", 1), ("If deep, the step is correct.", None),
        ("The step is not incorrect.", None), ("The step is correct except for two strokes.", None),
        ("In the last clip, the step was correct.", None), ("It is correct, or not?", None),
        ("The next step was performed incorrectly.", None),
    ],
)  # fmt: skip
def test_a_sentence_about_one_step(reply: str, expected: float | None) -> None:
    assert read(reply, CLIP, "error").answers == ({} if expected is None else {"cpr_11": expected})


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (None, "empty"), ("", "empty"), (" \n\u200b", "empty"), ([], "empty"), ([KEPT], "ok"),
        (KEPT.encode(), "unread"), ([KEPT, "{}"], "unread"),
        (json.loads(KEPT), "ok"), (json.dumps(KEPT), "ok"), (7, "unread"), (object(), "unread"),
        ("[LMMS_EVAL_REQUEST_FAILED after 5 retries] x", "request_failed"), ("Error: timed out", "request_failed"),
        ("[LMMS_EVAL_BUDGET_EXCEEDED] x", "request_failed"), (f"Error: none seen.\n{KEPT}", "ok"),
        ("[SAFETY_BLOCKED] no", "refused"), ("I'm sorry, I can't assist with that.", "refused"), ("No idea.", "unread"),
    ],
)  # fmt: skip
def test_what_a_reply_may_be(reply: Any, status: str) -> None:
    assert read(reply).status == status
    with pytest.raises(
        OptionsError, match="answer='scores' is not a kind of answer; the kinds are 'score' and 'error'"
    ):
        read(reply, FULL, "scores")


@pytest.mark.parametrize(
    ("reply", "read_as"),
    [
        ('[{"id": "cpr_01", "name": "Responsiveness check", "score": 2}]', {}),
        ('{"cpr_01": {"step": "cpr_02", "score": 2}}', {}),
        ('{"cpr_01": {"name": "Looks about", "score": 2}}', {"cpr_01": 2}),
    ],
)
def test_an_object_whose_key_id_and_name_contradict_is_unread(reply: str, read_as: dict[str, float]) -> None:
    assert read(reply).answers == read_as


def test_an_unfinished_object_replaces_only_what_it_says() -> None:
    assert read(f'{KEPT}\nFinal: {{"scores": {{"cpr_01": 1, "cpr_02"').answers == {
        "cpr_01": 1,
        "cpr_02": 3,
        "cpr_03": 3,
    }
    assert read(f'{KEPT}\nFinal: {{"scores": {{"cpr_01": 1, "cpr_02": 2').answers["cpr_02"] == 3, "it may be 2.5"
    assert read(f"{KEPT}\nFinal: {{").status == "ok"


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('{"score": 4, "reason": "The', 4), ('{"score": 4', None), ('{"reason": "deep", "score": 4, "step', 4),
        ('{"score": 4, "step": "cpr_12", "reason": "The', None), ('{"score": 4, "max_score": 10, "reason": "The', None),
        ('{"score": 4, "step": "cpr_1', None), ('[{"score": 4, "reason": "The', 4),
    ],
)  # fmt: skip
def test_an_entry_of_a_cut_reply_counts_as_soon_as_it_is_complete(reply: str, expected: float | None) -> None:
    assert read(reply, CLIP).answers == ({} if expected is None else {"cpr_11": expected})


@pytest.mark.parametrize(
    "unit",
    [KEPT, f"{KEPT}\n", f"```json\n{KEPT}\n```\n\n", f"Here is the answer:\n{KEPT}\n", f"{KEPT}\nThe call came late.\n",
     json.dumps(json.loads(KEPT), indent=2), '{"cpr_01": 2, "cpr_02": 3, "cpr_03": 3}\n',
     '{"scores": {"cpr_01": {"score": 2, "why": "seen"}, "cpr_02": {"score": 3}, "cpr_03": {"score": 3}}}, '],
)  # fmt: skip
def test_a_loop_keeps_its_first_answer_at_every_cut(unit: str) -> None:
    whole = unit.rfind("}") + 1
    for end in range(whole, 4 * len(unit)):
        assert read((unit * 4)[:end]).answers == {"cpr_01": 2, "cpr_02": 3, "cpr_03": 3}, (unit * 4)[:end]


@pytest.mark.parametrize(
    ("behind", "third"),
    [
        ('Correction: {"cpr_03": 2}', 2), ('{"cpr_03": 2}', 2), ('I change one step: {"scores": {"cpr_03": 2}}', 2),
        ('Correction: cpr_03 deserves 2.\n{"total": 7}', None), ('{"total": 7}\nWait, cpr_03 was late.', None),
        ("cpr_03 should be 2.", None), ("cpr_03 should have come before the check.", 3),
        ('For example, a perfect trainee would get:\n{"scores": {"cpr_03": 2}}', 3), ('Maximum: {"cpr_03": 2}', 3),
        ('An ideal performance would be {"cpr_03": 2}.', 3), ('Deductions: {"cpr_03": 2}', 3), ('{"cpr_03": 0.9}', 3),
        ('Timestamps: {"cpr_03": 2}', 3), ('Example:\n```json\n{"scores": {"cpr_03": 2}}\n```', 3),
    ],
)  # fmt: skip
def test_what_comes_behind_the_object_that_answered(behind: str, third: float | None) -> None:
    assert read(f"{KEPT}\n\n{behind}").answers.get("cpr_03") == third


@pytest.mark.parametrize(
    ("reply", "steps", "count"),
    [
        (f"Each step is rated on a scale from 0 to 10:\n{KEPT}", FULL, 0),
        (f"{KEPT}\nAll scores are out of 100.", FULL, 0),
        (f"The trainee gets 8 points out of 10.\n{KEPT}", FULL, 3), ("On a 0-10 scale, the score is 4.", CLIP, 0),
        ("On a 0-5 scale, the score is 4.", CLIP, 1),
        (f'{{"name": "submit", "arguments": {KEPT}}}', FULL, 3),
        (f'<tool_call>{{"tool_calls": [{{"function": {{"arguments": {json.dumps(KEPT)}}}}}]}}</tool_call>', FULL, 3),
    ],
)  # fmt: skip
def test_a_declared_scale_and_a_tool_call(reply: str, steps: Any, count: int) -> None:
    assert len(read(reply, steps).answers) == count


def test_no_step_loses_its_verdict_to_the_words_of_the_rubric() -> None:
    for step in default_rubric().steps:
        for words in (step.criteria.full, step.requirement):
            for text in (f"correct - {words}", f"Correct. {words}", f"{step.id}: correct ({words})"):
                assert read(text, [step], "error").answers == {step.id: 0.0}, text
        for words in (step.criteria.full, step.requirement, step.criteria.partial, step.criteria.fail):
            assert read(f"incorrect - {words}", [step], "error").answers == {step.id: 1.0}, words


@pytest.mark.parametrize(
    "reply", ["正确：否", "Correct: no", "correct, but late", "correct - or not", "correct: no, late"]
)
def test_what_takes_a_verdict_back(reply: str) -> None:
    assert read(reply, CLIP, "error").answers == {}


def test_of_a_reply_beyond_the_limit_both_ends_are_read() -> None:
    first, last = '{"scores": {"cpr_01": 2', ', "cpr_02": 1}}'
    long = f'{first}, "why": "{"so " * MAX_REPLY}"{last}\n{{"scores": {{"cpr_03": 3}}}}'
    parsed = read(long)
    assert (parsed.answers, parsed.left_out) == ({"cpr_01": 2, "cpr_03": 3}, len(long) - MAX_REPLY)
    assert read(f"cpr_01: 1\n{'so ' * MAX_REPLY}\ncpr_02: 2").answers == {"cpr_01": 1, "cpr_02": 2}
    assert read(f"### cpr_01\n{'so ' * MAX_REPLY}\nScore: 2").answers == {}, "whose score is in the middle"
    assert read(KEPT).left_out == 0
