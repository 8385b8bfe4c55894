"""What stands behind an answer: sentences that take it back or give another, and those that only explain it."""

from __future__ import annotations

import pytest
from replyset import ASKED

from siming_tasks.parsing import parse_reply
from siming_tasks.rubrics import default_rubric

pytestmark = pytest.mark.fast
RUBRIC = default_rubric()
STEPS = tuple(step for step in RUBRIC.steps if step.id in ASKED["full"])
CLIP = (RUBRIC.by_id["cpr_11"],)
MINE = {"cpr_01": 2.0, "cpr_02": 3.0, "cpr_03": 1.0, "aed_01": 0.0, "aed_02": 2.0}
A = '{"cpr_01": 2, "cpr_02": 3, "cpr_03": 1, "aed_01": 0, "aed_02": 2}'


@pytest.mark.parametrize(
    "words",
    [
        "Please disregard the JSON above.",
        "these scores are placeholders.",
        "I made these numbers up.",
        "Ignore the scores above.",
        "The values above are dummy values.",
        "以上分数为示例",
        "请忽略以上分数",
        "Disclaimer: the scores are invented, since no frames were attached.",
    ],
)
def test_an_answer_that_is_taken_back_is_none(words: str) -> None:
    assert parse_reply(f"{A}\n\n{words}", STEPS, "score").answers == {}


@pytest.mark.parametrize(
    ("words", "step", "value"),
    [
        ("Correction: cpr_01 should be 1", "cpr_01", 1.0),
        ("cpr_01 should have been 1, sorry.", "cpr_01", 1.0),
        ("Wait, CPR-02: 1", "cpr_02", 1.0),
        ("更正：cpr_01 应为 1", "cpr_01", 1.0),
        ("更正：cpr_02 只拍肩，应扣 2 分，得 1 分而不是 3 分，其余不变。", "cpr_02", 1.0),
        ("On reflection, Scene safety gets one.", "cpr_01", 1.0),
        ("Wait, one correction: nobody was asked, so cpr_02 must be 2, not 3. The others stand.", "cpr_02", 2.0),
    ],
)
def test_a_stated_correction_is_the_answer_to_its_step_and_to_no_other(words: str, step: str, value: float) -> None:
    parsed = parse_reply(f"{A}\n\n{words}", STEPS, "score")
    assert parsed.answers == MINE | {step: value}
    assert len(parsed.deciding) == 1 and parsed.deciding[0] in words


@pytest.mark.parametrize(
    ("words", "step"),
    [
        ("Note that cpr_03 is actually 0.", "cpr_03"),
        ("Correction: cpr_01 should perhaps be 1", "cpr_01"),
        ("Correction: cpr_02 should be 1 or 2", "cpr_02"),
        ("cpr_01: 1", "cpr_01"),
    ],
)
def test_a_step_that_a_sentence_gives_another_value_is_ambiguous_and_no_other(words: str, step: str) -> None:
    parsed = parse_reply(f"{A}\n\n{words}", STEPS, "score")
    assert parsed.missing == {step: "ambiguous"}
    assert parsed.answers == {name: value for name, value in MINE.items() if name != step}
    assert parsed.deciding == (words,)


@pytest.mark.parametrize("place", ["{words}\n\n{answer}", "{answer}\n\n{words}"])
@pytest.mark.parametrize(
    "words",
    [
        "No frames were attached.",
        "I have assigned these values assuming an average trainee.",
        "Please note that I graded without seeing the video.",
        "I don't have access to the video itself.",
        "The video could not be loaded.",
        "These scores are based solely on the rubric.",
        "由于没有看到视频，以下为估计。",
        "未提供视频。",
        "假设学员表现一般。",
        "Es wurden keine Bilder angehängt.",
        "Ich kann das Video nicht sehen.",
        "Je ne peux pas voir la vidéo.",
        "No puedo ver el video.",
        "動画が添付されていません。",
        "영상이 첨부되지 않았습니다.",
    ],
)
def test_answers_given_without_pictures_are_unseen(words: str, place: str) -> None:
    parsed = parse_reply(place.format(words=words, answer=A), STEPS, "score")
    assert (parsed.status, parsed.answers) == ("unseen", {})
    assert set(parsed.missing.values()) == {"unseen"}
    assert any(passage in words for passage in parsed.deciding)


@pytest.mark.parametrize(
    "words",
    [
        "The pads cannot be seen in the last frames.",
        "No audio was provided, so I could not hear the call.",
        "I cannot see the trainee's hands in the first frames.",
        "There is no frame that shows the AED.",
        "I assume that the trainee switched the AED on before the clip begins.",
        "视频中看不到电极片。",
    ],
)
def test_pictures_that_show_less_are_no_missing_pictures(words: str) -> None:
    assert parse_reply(f"{words}\n{A}", STEPS, "score").answers == MINE
    assert parse_reply(f"{A}\n{words}", STEPS, "score").answers == MINE


def test_a_note_in_the_object_that_nothing_was_seen() -> None:
    noted = f'{{"scores": {A}, "note": "No video was attached, therefore nothing could be credited."}}'
    parsed = parse_reply(noted, STEPS, "score")
    assert (parsed.status, parsed.deciding) == (
        "unseen",
        ("No video was attached, therefore nothing could be credited.",),
    )


@pytest.mark.parametrize(
    "reply",
    [
        '{"verdict": "incorrect", "explanation": "All strokes reach 5 cm; the step is performed fully correctly."}',
        '{"verdict": "correct", "reason": "The step was not performed correctly."}',
        '{"verdict": "correct", "score": 3}',
        '{"ground_truth": "incorrect", "prediction": "correct"}',
        '{"verdict": "correct (placeholder)"}',
        "cpr_11: correct (2/5)",
    ],
)
def test_an_answer_that_the_rest_of_its_object_denies(reply: str) -> None:
    assert parse_reply(reply, CLIP, "error").answers == {}


def test_a_comment_that_corrects_its_line() -> None:
    parsed = parse_reply(A.replace('"cpr_01": 2,', '"cpr_01": 2, // wait, should be 1\n'), STEPS, "score")
    assert parsed.missing == {"cpr_01": "ambiguous"}
    assert parse_reply(A.replace('"cpr_01": 2,', '"cpr_01": 2, // looks around\n'), STEPS, "score").answers == MINE


@pytest.mark.parametrize(
    "words",
    [
        "cpr_01: the trainee looked around 3 times.",
        "For cpr_03, 2 of 5 calls were clear.",
        "cpr_02 took 4 seconds.",
        "cpr_01 is 2.",
        "The trainee did most steps correctly.",
        "Scores are based on 64 frames; step 3 was at 12.5 s.",
        "Total: 8 points.",
    ],
)
def test_words_that_explain_take_nothing_away(words: str) -> None:
    assert parse_reply(f"{A}\n\n{words}", STEPS, "score").answers == MINE


@pytest.mark.parametrize(
    "reply",
    [
        "Score: 2\n\nScore: 3",
        '{"score": 2}\nScore: 3',
        '{"score": 2}\n\nFinal score: 1',
        '{"score": 2}\nActually I would give 1.',
        "Score: 3, no, make that two",
        '{"score": 3}, no, make that two',
    ],
)
def test_a_clip_with_two_scores_has_none(reply: str) -> None:
    assert parse_reply(reply, CLIP, "score").answers == {}


@pytest.mark.parametrize(
    "reply",
    [
        '{"verdict": "correct"}\nFinal verdict: incorrect',
        '{"verdict": "correct"}\nPlease ignore this, no frames were attached.',
        *("failed: False", "fail: 0", "failed: no", "error: ❌", "errors_detected: []"),
    ],
)
def test_a_clip_whose_verdict_is_taken_back_or_turned_has_none(reply: str) -> None:
    assert parse_reply(reply, CLIP, "error").answers == {}


@pytest.mark.parametrize(
    ("reply", "answer", "value"),
    [
        ('{"verdict": "correct"}\n\nOn reflection it is incorrect.', "error", 1.0),
        ('{"verdict": "correct"} Correction: incorrect', "error", 1.0),
        ('{"verdict": "incorrect"}\nI need to correct myself: my verdict should read "correct".', "error", 0.0),
        ('{"score": 5}\n\nCorrection: most strokes are shallow. The score should be 2, not 5.', "score", 2.0),
        ('{"score": 4}\n更正：最终得分为2分，上面的4分作废。\n{"score": 2}', "score", 2.0),
        ('{"verdict": "correct"}\nThe depth was correct and the rate was fine.', "error", 0.0),
        ('{"verdict": "incorrect"}\nThe trainee did not compress deep enough, so it is incorrect.', "error", 1.0),
        ("The trainee performed this step correctly.", "error", 0.0),
        ("The trainee performed this step correctly, so the score is 2.", "score", 2.0),
        ("<answer>2</answer>", "score", 2.0),
        (r"So the final answer is \boxed{2}.", "score", 2.0),
        ("I would give this step a score of 2.", "score", 2.0),
        ("这一步得2分。", "score", 2.0),
        ("Score: 2. The compressions were 4 cm deep in 3 of 5 sets.", "score", 2.0),
        ("得分：2分，因为按压深度不足。", "score", 2.0),
    ],
)
def test_sentences_that_state_a_clips_answer(reply: str, answer: str, value: float) -> None:
    assert parse_reply(reply, CLIP, answer).answers == {"cpr_11": value}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("The trainee would get 5 points for correct depth and 0 for none.", "score"),
        ("A score of 3 would need full recoil.", "score"),
        ("It is hard to tell whether the step is correct or incorrect.", "error"),
        ("The step was not performed correctly in part.", "error"),
        ("If performed incorrectly, the patient is harmed.", "error"),
    ],
)
def test_sentences_that_state_none(reply: str, answer: str) -> None:
    assert parse_reply(reply, CLIP, answer).answers == {}  # type: ignore[arg-type]


def test_a_block_for_each_step() -> None:
    names = RUBRIC.by_id
    headed = "### {n}. {name}\n**{v:g}/{top:g}**\nAt 12 s."
    replies = [
        "\n\n".join(f"### {k}\n**Score: {v:g}**\nReason: seen." for k, v in MINE.items()),
        "\n\n".join(
            headed.format(n=n, name=names[k].name, v=v, top=names[k].max_score)
            for n, (k, v) in enumerate(MINE.items(), 1)
        ),
        "\n".join(f"- **{k}** ({names[k].name}): {v:g} – fine" for k, v in MINE.items()),
        "\n".join(f"{k} …：{v:g}分，因为看到了" for k, v in MINE.items()),
    ]  # fmt: skip
    for reply in replies:
        assert parse_reply(reply, STEPS, "score").answers == MINE, reply
    doubled = replies[0] + "\n\n### cpr_01\n**Score: 1**"
    assert parse_reply(doubled, STEPS, "score").answers == {k: v for k, v in MINE.items() if k != "cpr_01"}
    second = "\n".join(f"{k}: {abs(v - 1):g}" for k, v in MINE.items())  # which of two lists counts, nobody says
    assert parse_reply(f"{replies[0]}\n\n{second}", STEPS, "score").answers == {}
    verdicts = '["cpr_01: correct", "cpr_02: incorrect", "cpr_03: correct", "aed_01: incorrect", "aed_02: correct"]'
    assert list(parse_reply(verdicts, STEPS, "error").answers.values()) == [0.0, 1.0, 0.0, 1.0, 0.0]


def test_the_word_error_behind_a_step_counts_as_much_as_no_error() -> None:
    first = {step.id: float(place % 2) for place, step in enumerate(STEPS)}
    lists = [
        "\n".join(f"- {name}: {('no error', 'error')[int(value)]}" for name, value in answers.items())
        for answers in (first, {name: 1.0 - value for name, value in first.items()})
    ]
    assert parse_reply(lists[0], STEPS, "error").answers == first
    assert parse_reply(f"My initial impression:\n{lists[0]}\nFinal answer:\n{lists[1]}", STEPS, "error").answers == {}


@pytest.mark.parametrize(
    ("reply", "answers"),
    [
        ("The step is slow, so the result is 2 points.\n\n{}", None),
        ("{}\n\nAll in all the trainee earns 2 points.", None),
        ("The step is slow, so the result is 4 points.\n\n{}", 4.0),
        ("{}\n\nMy score is 2, replacing the 4 above.", 2.0),
        ("Had all been deep, I would have given 5 points.\n\n{}", 4.0),
    ],
)
def test_prose_beside_json_must_not_say_otherwise(reply: str, answers: float | None) -> None:
    step = next(step for step in default_rubric().steps if step.id == "cpr_11")
    parsed = parse_reply(reply.replace("{}", '{"score": 4}'), [step], "score")
    assert dict(parsed.answers) == ({} if answers is None else {"cpr_11": answers}), parsed


def test_two_lists_of_values_are_ambiguous_wherever_they_stand() -> None:
    steps = default_rubric().steps[:2]
    parsed = parse_reply("Trainee A: cpr_01 2, cpr_02 3. Trainee B: cpr_01 1, cpr_02 1.", steps, "score")
    assert dict(parsed.missing) == {"cpr_01": "ambiguous", "cpr_02": "ambiguous"}


SCORES = '{"scores": {"cpr_01": 2, "cpr_02": 2, "cpr_03": 3, "aed_01": 1, "aed_02": 1}}'
VERDICTS = (
    '{"verdicts": {"cpr_01": "correct", "cpr_02": "correct", "cpr_03": "correct", "aed_01": "correct", '
    '"aed_02": "incorrect"}}'
)
EVERY = frozenset(ASKED["full"])


@pytest.mark.parametrize(
    ("remark", "doubted"),
    [
        ("Ich ziehe diese Bewertung zurück.", EVERY),
        ("Diese Punkte sind nur geraten, bitte nicht verwenden.", EVERY),
        ("Je retire ces notes : elles ne valent rien.", EVERY),
        ("No tengan en cuenta estas puntuaciones, son de otro alumno.", EVERY),
        ("上記の点数は別の受講者のものです。", EVERY),
        ("위 점수는 다른 학생의 것입니다.", EVERY),
        ("cpr_02 sollte 1 Punkt sein.", {"cpr_02"}),
        ("Pour cpr_02 je donne finalement 1 point.", {"cpr_02"}),
        ("cpr_02は1点に訂正します。", {"cpr_02"}),
        ("cpr_02应该只得1分。", {"cpr_02"}),
        ("Diese Bewertung basiert auf den sichtbaren Einzelbildern.", set()),
        ("Bei cpr_02 wurde nur eine Schulter angetippt, daher 2 Punkte.", set()),
        ("Remarque : la vérification de la conscience était incomplète.", set()),
        ("理由：cpr_02は片側のみの確認だったため2点としました。", set()),
        ("说明：cpr_02只拍了一侧肩膀，扣1分。", set()),
        ("- cpr_02: only one shoulder tapped (1 of 2 parts).", set()),
    ],
)
def test_sentences_behind_scores_in_several_languages(remark: str, doubted: set[str]) -> None:
    by_id = {step.id: step for step in default_rubric().steps}
    parsed = parse_reply(f"{SCORES}\n\n{remark}", [by_id[name] for name in ASKED["full"]], "score")
    assert set(parsed.missing) == doubted, parsed


@pytest.mark.parametrize(
    ("remark", "doubted"),
    [
        ("aed_01 was wrong after all.", {"aed_01"}),
        ("aed_01: the trainee forgets to turn it on. That is a deviation.", {"aed_01"}),
        ("The trainee makes errors in cpr_02 and aed_02.", {"cpr_02"}),
        ("All five steps are incorrect.", EVERY - {"aed_02"}),
        ("I no longer think aed_01 is correct.", {"aed_01"}),
        ("Errors were found in aed_02 only.", set()),
        ("The trainee corrected the mistake in cpr_03 at once.", set()),
        ("aed_02: pads over clothing, which is an error. All other steps were done without errors.", set()),
    ],
)
def test_faults_behind_verdicts(remark: str, doubted: set[str]) -> None:
    by_id = {step.id: step for step in default_rubric().steps}
    parsed = parse_reply(f"{VERDICTS}\n\n{remark}", [by_id[name] for name in ASKED["full"]], "error")
    assert set(parsed.missing) == doubted, parsed


def test_parts_of_points_before_scores_are_no_other_points() -> None:
    by_id = {step.id: step for step in default_rubric().steps}
    before = "**cpr_02**: taps both shoulders, 1 point; calls on one side, 1 point -> 2."
    parsed = parse_reply(f"{before}\n{SCORES}", [by_id[name] for name in ASKED["full"]], "score")
    assert not parsed.missing, parsed
    levels = "3 points would be for too deep. Here only the end fades."
    assert parse_reply(f'{levels}\n{{"score": 4}}', [by_id["cpr_11"]], "score").answers == {"cpr_11": 4.0}
    common = "Common errors are leaning and too shallow strokes. Neither is seen."
    assert parse_reply(f'{common}\n{{"verdict": "correct"}}', [by_id["cpr_11"]], "error").answers == {"cpr_11": 0.0}
