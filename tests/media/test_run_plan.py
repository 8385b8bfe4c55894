from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qwen_vl_utils.vision_process import smart_resize

from siming_tasks.cli import main
from siming_tasks.common.schema import StepLabel, Video
from siming_tasks.media import Policy, Timeline, observable_steps
from siming_tasks.media.model_figures import gemini_video, llava_video, openai_low, openai_tiles, qwen2_5_vl, qwen3_vl
from siming_tasks.media.run_plan import ExamFacts, identical_exams, plan_run
from siming_tasks.rubrics import default_rubric, rubric_from
from siming_tasks.tasks.prompting import PromptOptions

SIDES = st.integers(28, 4000)


@settings(deadline=None)
@given(SIDES, SIDES)
def test_qwen_tokens_are_those_of_its_own_resize(width: int, height: int) -> None:
    down, across = smart_resize(height, width, 28, min_pixels=4 * 28 * 28, max_pixels=1_605_632)
    assert qwen2_5_vl(width, height) == down * across // 28**2
    down, across = smart_resize(height, width, 32)
    assert qwen3_vl(width, height) == down * across // 32**2


@pytest.mark.parametrize(
    ("size", "tokens"),
    [
        ((1024, 1024), 765),  # the two examples of OpenAI's vision guide
        ((2048, 4096), 1105),
        ((1280, 720), 85 + 170 * 6),
        ((512, 512), 255),
        ((80, 48), 255),
    ],
)
def test_openai_tiles_by_hand(size: tuple[int, int], tokens: int) -> None:
    assert openai_tiles(*size) == tokens
    assert (openai_low(*size), gemini_video(*size), llava_video(*size)) == (85, 258, 196)


def rubric_of(**evidence: dict[str, Any]) -> Any:
    def step(name: str, needs: dict[str, Any]) -> dict[str, Any]:
        criteria = {"full": "a", "partial": "b", "fail": "c"}
        return {"id": name, "name": name, "requirement": "r", "max_score": 2, "criteria": criteria, "evidence": needs}

    skill = {"id": "s", "name": "S", "steps": [step(name, needs) for name, needs in evidence.items()]}
    return rubric_from({"schema_version": 1, "rubric_id": "r", "version": "1", "skills": [skill]})


FOUR = rubric_of(
    look={"channel": "visual", "min_fps": 0.5},
    press={"channel": "visual", "min_fps": 4},
    say={"channel": "audio", "min_fps": 1},
    both={"channel": "audio_visual", "min_fps": 1},
)


def exam(seconds: float, spans: dict[str, tuple[float, float] | None]) -> ExamFacts:
    """A video of 640 x 480 at 25 frames a second."""
    steps = tuple(StepLabel(name, *(span or (None, None))) for name, span in spans.items())
    return ExamFacts(Video("v", "v.mp4", seconds, steps), Timeline.even(round(seconds * 25), 25.0), 640, 480)


def test_observable_steps_by_hand() -> None:
    assert observable_steps(FOUR, 0.49) == set()
    assert observable_steps(FOUR, 0.5) == {"look"}
    assert observable_steps(FOUR, 4) == {"look", "press"}
    assert observable_steps(FOUR, 1, has_audio=True) == {"look", "say", "both"}


def test_observable_steps_of_the_default_rubric_at_the_papers_rates() -> None:
    """64 frames of 168.9 s are 0.38 a second: only what stays as it is can be seen; compressions need 4 and more."""
    states = {"cpr_06", "cpr_07", "cpr_08", "aed_02", "aed_03", "bmv_02"}
    assert observable_steps(default_rubric(), 64 / 168.9) == states
    seen = observable_steps(default_rubric(), 240 / 168.9)
    rates = {step.id: step.evidence for step in default_rubric().steps}
    assert {rates[step].channel for step in seen} == {"visual", "visual_device"}
    assert max(rates[step].min_fps for step in seen) == 1


def test_a_plan_equals_the_figures_worked_out_by_hand() -> None:
    """Two videos of 40 s with steps of 10 s; 640 x 480 costs Qwen 23 x 17 tokens."""
    spans = {"look": (0.0, 10.0), "press": (10.0, 20.0), "say": (20.0, 30.0), "both": None}
    exams = [exam(40.0, spans)] * 2
    plan = plan_run(exams, FOUR, Policy(20, 5), formulas=["qwen2_5_vl"], prices=(1.0, 10.0), reply_tokens=100)
    full, _, clip, _, timed, *_ = plan.settings
    assert (full.setting, full.requests, full.frames, full.frames_max, full.fps) == ("full_score", 2, 40, 20, 0.5)
    assert (clip.setting, clip.requests, clip.frames, clip.frames_max, clip.fps) == ("clip_score", 6, 30, 5, 0.5)
    assert full.image_tokens == {"qwen2_5_vl": (20 * 391, 40 * 391)}
    assert full.context_max == {"qwen2_5_vl": 20 * 391 + 20 * 16 + 100}
    assert full.unobservable == {"press": (1.0, "rate"), "say": (1.0, "silent"), "both": (1.0, "silent")}
    assert clip.unobservable == {"press": (1.0, "rate"), "say": (1.0, "silent")}
    assert plan.disk == pytest.approx(plan.stored * 640 * 480 * 0.12)
    assert plan.stored == 2 * (20 + 3 * 5 - 1), "both begin with frame 0"
    assert plan.cost()["qwen2_5_vl"] == pytest.approx(2 * (70 * (391 + 16) * 1e-6 + 8 * 100 * 1e-5))
    assert plan.cost(["full_score"])["qwen2_5_vl"] == pytest.approx(40 * (391 + 16) * 1e-6 + 2 * 100 * 1e-5)
    # 4 steps about each of 2 videos and 6 clips of one, 9 tokens each; 8 before each of 40 + 30 frames; both answers
    assert plan.cost(expected=True)["qwen2_5_vl"] == pytest.approx(2 * (70 * (391 + 8) * 1e-6 + (8 + 6) * 9 * 1e-5))
    assert timed == replace(full, setting="full_timed_score"), "the same pictures; prompts were not counted here"


def test_a_plan_states_the_share_of_videos_that_lack_a_steps_evidence() -> None:
    short, long = (exam(seconds, {"look": (0.0, seconds)}) for seconds in (10.0, 40.0))
    full = plan_run([short, long], FOUR, Policy(10, 5)).settings[0]
    assert full.unobservable == {"look": (0.5, "rate")}
    assert full.fps == pytest.approx((1.0 + 0.25) / 2)


def test_steps_of_which_no_frame_is_shown_are_counted() -> None:
    """Five frames of 100 s at 10 a second: at 0, 24.9, 49.9, 74.9 and 99.9 s."""
    spans = {"look": (0.0, 10.0), "press": (10.0, 24.9), "say": (24.9, 30.0), "both": (50.0, 74.0)}
    video = Video("v", "v.mp4", 100.0, tuple(StepLabel(step, *span) for step, span in spans.items()))
    exam = ExamFacts(video, Timeline.even(1000, 10), 64, 48)
    plan = plan_run([exam] * 3, FOUR, Policy(5, 2), settings=["full_score"])
    assert plan.settings[0].unseen == (6, 12) and plan.settings[0].gap_max == pytest.approx(25.0)


def test_exams_that_are_alike_count_as_often_as_they_are_there() -> None:
    exams = [*identical_exams(default_rubric(), 4, 168.9), *identical_exams(default_rubric(), 3, 60.0)]
    apart = [replace(exam) for exam in exams]  # each an object of its own, worked out by itself
    assert len(set(exams)) == 2 and len(set(apart)) == 7
    asking, prices = PromptOptions(unit="skill"), (0.3, 1.7)
    plan, expected = (plan_run(each, default_rubric(), Policy(64, 16), prices=prices, asking=asking)
                       for each in (exams, apart))  # fmt: skip
    assert plan.settings == expected.settings
    assert (plan.stored, plan.decode_seconds) == (expected.stored, expected.decode_seconds)
    assert plan.disk == pytest.approx(expected.disk, rel=1e-12)


def test_matched_clips_have_the_rate_of_the_full_video() -> None:
    plan = plan_run(identical_exams(default_rubric(), 3, 168.9), default_rubric(), Policy(64, 16, density="matched"))
    full, _, clip, *_ = plan.settings
    assert clip.frames == pytest.approx(full.frames, rel=0.05)
    assert clip.fps == pytest.approx(full.fps, rel=0.05)


def test_the_plan_command_plans_200_videos_without_a_dataset(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "plan", "--videos", "200", "--model", "qwen3-vl", "--tokens", "qwen2_5_vl,openai_tiles"]) == 0
    out = capsys.readouterr().out
    assert "64 frames per video, 16 per clip, longest side 896 pixels. Tokens and cost are upper bounds." in out
    cells = next(line for line in out.splitlines() if line.startswith("| full_score ")).replace("|", " ").split()
    assert cells[:6] == ["full_score", "200", "12,800", "64", "0.38", "7,372,800"]
    assert 12_800 * (896 // 28) * (504 // 28) == 7_372_800
    assert "27 of 33 steps lack the evidence that the rubric asks for" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tokens", "abacus"], "--tokens 'abacus' is not one of qwen2_5_vl, "),
        (["--model", "gpt-9"], "table 6 has no model 'gpt-9'"),
        (["--price-in", "2"], "Give --price-in and --price-out together."),
        (["--frames", "0"], "--frames='0' must be from 1 to"),
        (["--frames", "8", "--model", "qwen3-vl"], "--model stands for a number of frames; give it or --frames."),
        (["--videos", "0"], "Invalid value for '--videos': 0 is not in the range x>=1"),
        (["--duration", "0"], "Invalid value for '--duration': 0.0 is not in the range x>0"),
        (["--data", "x"], "--videos plans without a data set; give it or --data."),
    ],
)
def test_bad_options_are_named(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "plan", "--videos", "2", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_the_plan_command_reads_a_dataset(short_demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "plan", "--data", str(short_demo)]) == 0
    out = capsys.readouterr().out
    assert ": 4 videos, " in out
    assert next(line for line in out.splitlines() if line.startswith("| clip_error ")).split()[3] == "132"


def test_smaller_images_cost_fewer_tokens() -> None:
    """1280 x 720 is three by two of GPT-4o's tiles, 896 x 504 two by one."""
    costs = {}
    for size in (1280, 896):
        plan = plan_run(identical_exams(default_rubric(), 1, 60.0), default_rubric(), Policy(10, 2, size))
        costs[size] = plan.settings[0].image_tokens["openai_tiles"][0]
    assert costs == {1280: 10 * (85 + 6 * 170), 896: 10 * (85 + 2 * 170)}
