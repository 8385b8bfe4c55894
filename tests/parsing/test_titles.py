"""What stands before an answer: titles of other quantities, courtesies, and words that correct."""

from __future__ import annotations

import json

import pytest
from replyset import ASKED

from siming_tasks.parsing import parse_reply
from siming_tasks.rubrics import default_rubric

pytestmark = pytest.mark.fast
STEPS = tuple(step for step in default_rubric().steps if step.id in ASKED["full"])
MINE = {"cpr_01": 2.0, "cpr_02": 3.0, "cpr_03": 1.0, "aed_01": 0.0, "aed_02": 2.0}
A = '{"cpr_01": 2, "cpr_02": 3, "cpr_03": 1, "aed_01": 0, "aed_02": 2}'
B = '{"cpr_01": 1, "cpr_02": 1, "cpr_03": 0, "aed_01": 1, "aed_02": 1}'
LIST = "\n".join(f"- {step}: {points:g}" for step, points in MINE.items())

TITLES = [
    "Demerits",
    "Ground truth",
    "Points available",
    "失分",
    "Deductions",
    "Penalty points",
    "Points lost",
    "Weights",
    "Confidence",
    "Difficulty",
    "Confidence scores",
    "Importance",
    "Timestamps",
    "Start times",
    "Number of frames",
    "Duration",
    "Expected scores",
    "Reference scores",
    "Gold",
    "True scores",
    "Human scores",
    "Physician scores",
    "Average scores",
    "Mean scores",
    "Rater A",
    "Previous scores",
    "Template",
    "Example output",
    "Format",
    "Max",
    "Maximum",
    "Maxima",
    "Full marks",
    "Possible scores",
    "Risk",
    "Severity",
    "Priority",
    "Error counts",
    "Frame numbers",
    "满分",
    "权重",
    "置信度",
    "时间",
    "帧数",
    "标准答案",
    "参考分数",
    "扣分",
    "示例",
    "难度",
    "最终扣分",
    "Threshold",
    "Target",
    "Baseline",
    "Normalized",
    "Percent",
    "Rank",
    "Model B",
    "Answer key",
    "Worst case",
    "Minimum",
    "Lower bound",
    "Final penalty points",
]
FORMS = {
    "before JSON": f"{{}}:\n{A}",
    "before a list": f"{{}}:\n{LIST}",
    "as a heading": f"## {{}}\n\n{A}",
    "in bold": f"**{{}}**\n{A}",
    "on the line": f"{{}}: {A}",
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("title", TITLES)
def test_a_title_of_another_quantity_makes_no_answer(title: str, form: str) -> None:
    assert parse_reply(form.replace("{}", title, 1), STEPS, "score").answers == {}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize(
    "title",
    [
        "Scores",
        "Final scores",
        "My assessment",
        "Evaluation results",
        "Step scores",
        "CPR and AED exam scores",
        "Scoring summary",
        "Result",
        "Clinical skills assessment",
        "Answer",
        "Final answer",
        "JSON output",
        "Points awarded",
        "评分",
        "得分",
        "最终评分结果",
        "评分结果如下",
        "答案",
    ],
)
def test_a_title_of_the_answer_leaves_it_an_answer(title: str, form: str) -> None:
    assert parse_reply(form.replace("{}", title, 1), STEPS, "score").answers == MINE


BEFORE = [
    "",
    "Based on the provided frames:",
    "In the requested format:",
    "Here are the scores based on the video frames provided:",
    "According to the rubric weights:",
    "Here is my assessment in JSON format:",
    "As requested, the output in the given format:",
    "Based on the timestamps shown, my scores are:",
    "以下是根据视频帧的评分：",
    "根据提供的帧，评分如下：",
    "Here you go:",
    "Sure! Evaluation of the frames:",
    "After careful review of all 64 frames:",
    "I watched the video at the given times:",
    "My answer in the required format is:",
    "Below is the JSON, one entry per step:",
    "Sure, here is the JSON:",
    "Certainly! Here are the scores:",
    "Of course. Here is my evaluation:",
    "Okay, here is the result:",
    "Below are my scores for the five steps:",
    "Here is the requested output:",
    "The scores are as follows:",
    "Final answer:",
    "My evaluation:",
    "Scores:",
    "## Evaluation",
    "**Final scores**",
    "Output:",
    "JSON:",
    "Answer:",
    "Here is the completed evaluation:",
    "I have reviewed the video and assigned the following scores:",
    "After watching the clip, I give these scores:",
    "Having examined the frames, here is my assessment:",
    "Thank you for the video.",
    "Great, let me evaluate the trainee.",
    "I analysed the exam step by step.",
    "The trainee performs CPR and then uses the AED.",
    "Let me look at each step in turn.",
    "The video shows a trainee beside a manikin.",
    "Looking at the frames in order:",
    "Step-by-step evaluation:",
    "Performance assessment:",
    "Clinical skills assessment report:",
    "Trainee evaluation",
    "好的，以下是评分结果：",
    "评分如下：",
    "根据视频内容，我的评分为：",
    "以下是JSON格式的结果：",
    "这是评分：",
    "最终评分：",
    "Hier ist die Bewertung:",
    "Voici les résultats :",
    "Aquí está la evaluación:",
    "Ergebnis:",
    "Résultats :",
    "Resultado:",
    "The result of the evaluation is:",
    "As an expert examiner, I would like to share my evaluation:",
    "The evaluation in JSON:",
    "In summary:",
]
AFTER = [
    "",
    "Would you like more detail?",
    "(Maximum possible total: 100)",
    "Let me know if you need more detail.",
    "Could you provide more frames?",
    "Would you like me to explain any score?",
    "I can explain each score if needed.",
    "Note: scores are based on sampled frames.",
    "如需更多说明，请告诉我。",
    "Total: 8",
    "(Total: 8/13)",
    "Confidence: 0.8",
    "Each score reflects the rubric.",
    "If you need a breakdown, let me know.",
    "Thank you.",
    "I hope this helps!",
    "Please let me know if anything is unclear.",
    "Feel free to ask for an explanation.",
    "Happy to elaborate on any step.",
    "The trainee should speak louder next time.",
    "The chest was not fully bared, which costs points in the last step.",
    "Overall, a solid performance with room for improvement.",
    "The AED was placed next to the head.",
    "Nobody was designated to call for help.",
    "These scores are based on the visible frames.",
    "The scores reflect the rubric criteria.",
    "Scores were assigned strictly according to the rubric.",
    "The assessment is based on the video frames provided.",
    "Note: audio was not available.",
    "Total score: 8/12",
    "**Total: 8/12**",
    "Sum: 8",
    "总分：8分",
    "以上评分仅供参考。",
    "以上是根据视频画面的评分。",
    "希望对您有帮助！",
    "如有疑问，请随时提问。",
    "Reasoning: the trainee looked around and tapped both shoulders.",
    "Justification: see the rubric.",
    "Key observations: pads were unpacked first.",
    "Strengths: clear voice. Weaknesses: late AED.",
    "In a real emergency, time matters.",
    "The compressions should be 5 to 6 cm deep.",
    "The trainee could improve by asking both ears.",
    "Safety was checked at 0:03.",
    "Would you like the scores in another format?",
    "I can also provide a table.",
    "End of evaluation.",
    "Done.",
    "Let me know whether you need the justification for each score.",
    "Vielen Dank.",
    "Merci.",
    "Gracias.",
    "---",
    "(5 steps scored)",
    "All five steps were assessed.",
    "Each step was scored separately.",
    "The frames between 0:10 and 0:20 are blurred.",
    "The lighting is poor in some frames.",
    "Further practice is recommended.",
]


@pytest.mark.parametrize("before", BEFORE)
def test_the_only_complete_answer_is_read_whatever_courtesy_stands_around_it(before: str) -> None:
    assert len(BEFORE) >= 60 and len(AFTER) >= 60  # 3,600 pairs and more
    for after in AFTER:
        reply = f"{before}\n\n{A}\n\n{after}".strip()
        assert parse_reply(reply, STEPS, "score").answers == MINE, reply


@pytest.mark.parametrize("between", ["\n\n{}\n", "\n{} "])
@pytest.mark.parametrize(
    "words",
    [
        "Actually, on second look:",
        "This time:",
        "In the end:",
        "Wait a second:",
        "Corrected, high confidence:",
        "重新看帧后：",
        "Better:",
        "On second thought:",
        "After re-watching the frames:",
        "Let me redo this with more time:",
        "Second pass:",
        "No wait:",
        "New scores:",
        "After checking the timestamps again:",
        "Re-evaluated with all frames:",
        "修正（按时间）：",
        "再看一次：",
        "Hmm, scratch that:",
        "Updated after reviewing frame 12:",
        "Sorry, the right one:",
        "Revised scores (more confident):",
    ],
)
def test_of_two_complete_answers_the_earlier_is_never_the_answer(words: str, between: str) -> None:
    parsed = parse_reply(B + between.replace("{}", words) + A, STEPS, "score")
    assert parsed.answers in ({}, MINE)
    assert parsed.answers or set(parsed.missing.values()) == {"ambiguous"}


@pytest.mark.parametrize(
    "title",
    [
        "Scores (1 to 5):",
        "Scores out of 10:",
        "On a scale from 0 to 3:",
        "Scores from 1-5, 33 steps:",
        "每步满分10分：",
    ],
)
def test_another_scale_than_every_steps_own(title: str) -> None:
    """The steps have maxima of 2, 3, 5, 2 and 3 points: 5 is one of them, and the scale of none of the others."""
    assert {step.max_score for step in STEPS} != {5.0}
    assert parse_reply(f"{title}\n{A}", STEPS, "score").answers == {}


def test_the_exams_total_is_the_sum_of_all_its_steps() -> None:
    total = sum(step.max_score for step in STEPS)
    of_each_maximum_once = sum({step.max_score for step in STEPS})
    assert total != of_each_maximum_once
    assert parse_reply(f"Scores, out of {total:g} in all:\n{A}", STEPS, "score").answers == MINE
    assert parse_reply(f"Scores, out of {of_each_maximum_once:g} in all:\n{A}", STEPS, "score").answers == {}


def test_shares_of_the_points_are_no_points() -> None:
    shares = '{"cpr_01": 1.0, "cpr_02": 0.67, "cpr_03": 0.33, "aed_01": 0.0, "aed_02": 1.0}'
    assert parse_reply(shares, STEPS, "score").answers == {}
    assert parse_reply(f'{{"scores": {A}, "confidence": 0.67}}', STEPS, "score").answers == MINE


def test_columns_are_paired_by_id() -> None:
    ids, values = [*reversed(MINE)], [*reversed(MINE.values())]
    assert parse_reply(json.dumps({"step_id": ids, "score": values}), STEPS, "score").answers == MINE
    assert parse_reply(json.dumps({"step_id": ids[:2], "score": values}), STEPS, "score").answers == {}
