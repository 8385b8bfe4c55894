"""Replies without JSON: layouts with any values in any order, sentences, and what only looks like an answer."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable

import pytest

from siming_tasks.parsing import parse_reply
from siming_tasks.rubrics import RubricStep, default_rubric

BY_ID = {step.id: step for step in default_rubric().steps}
STEPS = tuple(BY_ID[name] for name in ("cpr_01", "cpr_02", "cpr_03", "aed_01", "aed_02"))
CLIP = (BY_ID["cpr_11"],)

Line = Callable[[RubricStep, int, str], str]  # step, place and value, to its lines
SCORES: dict[str, Line] = {
    "list": lambda step, at, value: f"- **{step.id}**: {value}",
    "reason": lambda step, at, value: f"{at}. {step.name} ({step.id}): {value}/{step.max_score:g} - seen at 0:0{at}",
    "heading": lambda step, at, value: f"### {at}. {step.name}\n- **Observation:** at 0:1{at}\n- **Score:** {value}\n",
    "bold": lambda step, at, value: f"**Step {at}: {step.name}**\nThe trainee does it.\n**Score: {value}**\n",
    "chinese": lambda step, at, value: f"{step.id} 步骤:{value}分,理由是看到了",
    "sentence": lambda step, at, value: f"For {step.id}, I give {value} points.",
    "gets": lambda step, at, value: f"He did it at 0:0{at}, so {step.id} gets {value}.",
    "xml": lambda step, at, value: f"<step><id>{step.id}</id><score>{value}</score><reason>x</reason></step>",
    "concluded": lambda step, at, value: f"{step.id}: The trainee did it at 0:0{at} -> {value}",
    "first": lambda step, at, value: f"- {value}/{step.max_score:g} for {step.id}: a reason",
    "numbered": lambda step, at, value: f"Step {at}: {value}",
    "maximum": lambda step, at, value: f"[{step.id}] {step.name} (maximum {step.max_score:g} points): {value}",
    "german": lambda step, at, value: f"**{step.id}** – {value} Punkte: Grund",
    "japanese": lambda step, at, value: f"{step.id}：{value}点",
    "titled": lambda step, at, value: f"Score for {step.id}: {value}",
}
VERDICTS: dict[str, Line] = {
    "list": lambda step, at, value: f"- **{step.id}**: {value}",
    "heading": lambda step, at, value: f"### {step.name}\n- Observation: x\n- Verdict: **{value}**\n",
    "performed": lambda step, at, value: f"The trainee performed {step.id} {value}ly.",
    "is": lambda step, at, value: f"{step.id} is {value} because of this.",
    "sign": lambda step, at, value: f"{'✅' if value == 'correct' else '❌'} {step.id} – {step.name}",
    "concluded": lambda step, at, value: f"{step.id}: He does it at 0:0{at}, so this step is {value}.",
    "question": lambda step, at, value: f"{step.id}: error: {'no' if value == 'correct' else 'yes'}",
    "spanish": lambda step, at, value: f"{step.id}: {'correcto' if value == 'correct' else 'incorrecto'}",
}


@pytest.mark.parametrize("layout", SCORES)
def test_scores_in_every_layout_are_read_exactly(layout: str) -> None:
    drawn = random.Random(layout)
    for _ in range(12):
        truth = {step.id: float(drawn.randint(0, int(step.max_score))) for step in STEPS}
        ordered = STEPS if layout == "numbered" else drawn.sample(STEPS, len(STEPS))
        reply = "\n".join(SCORES[layout](step, at, f"{truth[step.id]:g}") for at, step in enumerate(ordered, 1))
        assert parse_reply(reply, STEPS, "score").answers == truth, reply


@pytest.mark.parametrize("layout", VERDICTS)
def test_verdicts_in_every_layout_are_read_exactly(layout: str) -> None:
    for verdicts in itertools.product(("correct", "incorrect"), repeat=len(STEPS)):
        reply = "\n".join(
            VERDICTS[layout](step, at, said) for at, (step, said) in enumerate(zip(STEPS, verdicts, strict=True), 1)
        )
        truth = {step.id: float(said == "incorrect") for step, said in zip(STEPS, verdicts, strict=True)}
        assert parse_reply(reply, STEPS, "error").answers == truth, reply


@pytest.mark.parametrize("layout", sorted(SCORES.keys() - {"numbered"}))
def test_a_missing_step_leaves_the_others_and_two_lists_leave_none(layout: str) -> None:
    def written(values: dict[str, int]) -> str:
        return "\n".join(SCORES[layout](BY_ID[k], at, str(v)) for at, (k, v) in enumerate(values.items(), 1))

    mine = {"cpr_01": 1, "cpr_02": 2, "aed_01": 0, "aed_02": 1}
    assert parse_reply(written(mine), STEPS, "score").answers == mine
    other = {"cpr_01": 2, "cpr_02": 1, "aed_01": 1, "aed_02": 0}
    assert parse_reply(f"{written(mine)}\n\n{written(other)}", STEPS, "score").answers == {}


@pytest.mark.parametrize(
    ("reply", "points"),
    [
        *((text, 4) for text in ("four out of five", "4️⃣", "I'd give it a 4.", "so the score is 4", "因此得4分。")),
        *(
            (text, 4)
            for text in ("分數：4分", "5점 만점에 4점", "4点です。", "Ich vergebe 4 Punkte.", "Score : 4 sur 5.")
        ),
        *(
            (text, 4)
            for text in ("The final score is $\\boxed{4}$.", "Depth good.\n\n**4/5**", "Score: 4. Depth 4.5 cm.")
        ),
        *((text, None) for text in ("5 cm", "4 of 5 compressions reach 5 cm.", "1. 5 cm\n2. 4 cm", "Depth: 4/5")),
        *((text, None) for text in ("A score of 3 would be too harsh.", "I would rate my confidence as 4 out of 5.")),
        *(
            (text, None)
            for text in ("Depth score: 3\nRate score: 4", "He gets 5 points for rate and loses 2 for depth.")
        ),
        *((text, None) for text in ("满分：5分", "不能给5分。", "The other examiner gave 4 points.", "Score: 3 or 4")),
    ],
)
def test_points_of_one_step(reply: str, points: float | None) -> None:
    assert parse_reply(reply, CLIP, "score").answers.get("cpr_11") == points


@pytest.mark.parametrize(
    ("reply", "wrong"),
    [
        *(
            (text, 1)
            for text in ("The step was not performed correctly.", "It is incorrect: too shallow.", "判定為不正確。")
        ),
        *(
            (text, 1)
            for text in ("Nicht korrekt: zu flach.", "誤り", "부정확", "正确：否", "It fades; this is incorrect.")
        ),
        *((text, 0) for text in ("Correct. No fading, no delay.", "There are no errors.", "Error: none", "正しい")),
        *((text, None) for text in ("Right.", "The rate is correct.", "Correct strokes: 28", "failed: False")),
        *((text, None) for text in ("Mostly correct.", "The first answer was incorrect; the second is correct.")),
        *(
            (text, None)
            for text in ("To be marked as correct, depth must be 5 cm.", "错误：请求超时", "far from correct")
        ),
    ],
)
def test_verdict_on_one_step(reply: str, wrong: float | None) -> None:
    assert parse_reply(reply, CLIP, "error").answers.get("cpr_11") == wrong


@pytest.mark.parametrize(
    "reply",
    [
        "Incorrect: cpr_02, aed_02; all others are correct",
        "Correct: cpr_01, cpr_03, aed_01\nIncorrect: cpr_02, aed_02",
        "All steps were performed correctly except cpr_02 and aed_02.",
        "**Correct steps:**\n- cpr_01\n- cpr_03\n- aed_01\n\n**Errors found:**\n- cpr_02: no call\n- aed_02: not dried",
        "aed_02和cpr_02错误,cpr_01、cpr_03、aed_01正确。",
    ],
)
def test_verdicts_with_their_steps_behind_them(reply: str) -> None:
    truth = {"cpr_01": 0.0, "cpr_02": 1.0, "cpr_03": 0.0, "aed_01": 0.0, "aed_02": 1.0}
    assert parse_reply(reply, STEPS, "error").answers == truth


def test_two_lists_of_errors_leave_all_in_doubt() -> None:
    first = "\n".join(f"- {step.id}: {'error' if at % 2 else 'no error'}" for at, step in enumerate(STEPS))
    second = "\n".join(f"- {step.id}: {'no error' if at % 2 else 'error'}" for at, step in enumerate(STEPS))
    assert parse_reply(first, STEPS, "error").answers == {step.id: float(at % 2) for at, step in enumerate(STEPS)}
    assert parse_reply(f"{first}\n{second}", STEPS, "error").answers == {}


def test_verdicts_with_their_steps_behind_them_must_cover_every_step() -> None:
    assert parse_reply("Incorrect: cpr_02, aed_02", STEPS, "error").answers == {}


def test_time_grows_no_faster_than_the_text() -> None:
    pieces = ("cpr_01: 2, ", "so the score is 2 ", "(cpr_01) ", "the step is ", "- ", "满分", "<a b='c'>", "1 - 1 = ")

    def seconds(piece: str, length: int) -> float:
        start = time.process_time()
        parse_reply(piece * (length // len(piece)), STEPS, "score")
        return time.process_time() - start

    for piece in pieces:
        assert seconds(piece, 16_000) < 4 * 4 * (seconds(piece, 4_000) + 0.02), piece
