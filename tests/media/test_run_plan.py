"""The plan of a run: tokens by published formulas, counts, costs and lacking evidence, by hand."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from qwen_vl_utils.vision_process import smart_resize

from siming_tasks.benchmark.exams import StepLabel, Video
from siming_tasks.benchmark.rubrics import default_rubric, rubric_from
from siming_tasks.cli import main
from siming_tasks.media import Policy, Timeline, unobservable_reason
from siming_tasks.media.model_figures import openai_tiles, qwen2_5_vl, qwen3_vl
from siming_tasks.media.run_plan import ExamFacts, plan_run

SIDES = st.integers(28, 4000)


@given(SIDES, SIDES)
def test_qwen_tokens_are_those_of_its_own_resize(width: int, height: int) -> None:
    down, across = smart_resize(height, width, 28, min_pixels=4 * 28 * 28, max_pixels=1_605_632)
    assert qwen2_5_vl(width, height) == down * across // 28**2
    down, across = smart_resize(height, width, 32)
    assert qwen3_vl(width, height) == down * across // 32**2


def test_openai_tiles_by_hand() -> None:
    """The first two are the examples of OpenAI's vision guide."""
    tokens = {(1024, 1024): 765, (2048, 4096): 1105, (1280, 720): 85 + 170 * 6, (512, 512): 255, (80, 48): 255}
    assert {size: openai_tiles(*size) for size in tokens} == tokens


def rubric_of(**evidence: dict[str, Any]) -> Any:
    criteria = {"full": "a", "partial": "b", "fail": "c"}
    plain = {"requirement": "r", "max_score": 2, "criteria": criteria}
    steps = [{"id": name, "name": name, **plain, "evidence": needs} for name, needs in evidence.items()]
    skill = {"id": "s", "name": "S", "steps": steps}
    return rubric_from({"schema_version": 1, "rubric_id": "r", "version": "1", "skills": [skill]})


FOUR = rubric_of(
    look={"channel": "visual", "min_fps": 0.5},
    press={"channel": "visual", "min_fps": 4},
    say={"channel": "audio", "min_fps": 1},
    both={"channel": "audio_visual", "min_fps": 1},
)


def exam(seconds: float, spans: dict[str, tuple[float, float] | None], fps: float = 25.0) -> ExamFacts:
    steps = tuple(StepLabel(name, *(span or (None, None))) for name, span in spans.items())
    return ExamFacts(Video("v", "v.mp4", seconds, steps), Timeline.even(round(seconds * fps), fps), 640, 480)


def observable_steps(rubric: Any, fps: float) -> set[str]:
    return {step.id for step in rubric.steps if unobservable_reason(step, fps) is None}


def test_observable_steps_by_hand_and_at_the_papers_rates() -> None:
    """64 frames of 168.9 s are 0.38 a second: only what stays as it is can be seen; compressions need 4 and more."""
    assert [observable_steps(FOUR, fps) for fps in (0.49, 0.5, 4)] == [set(), {"look"}, {"look", "press"}]
    states = {"cpr_06", "cpr_07", "cpr_08", "aed_02", "aed_03", "bmv_02"}
    assert observable_steps(default_rubric(), 64 / 168.9) == states
    needs = [default_rubric().by_id[step].evidence for step in observable_steps(default_rubric(), 240 / 168.9)]
    assert {need.channel for need in needs} == {"visual", "visual_device"} and max(need.min_fps for need in needs) == 1


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


def test_a_plan_states_what_is_not_seen() -> None:
    short, long = (exam(seconds, {"look": (0.0, seconds)}) for seconds in (10.0, 40.0))
    full = plan_run([short, long], FOUR, Policy(10, 5)).settings[0]
    assert full.unobservable == {"look": (0.5, "rate")}, "of one video of two"
    assert full.fps == pytest.approx((1.0 + 0.25) / 2)
    # five frames of 100 s at 10 a second: at 0, 24.9, 49.9, 74.9 and 99.9 s
    spans = {"look": (0.0, 10.0), "press": (10.0, 24.9), "say": (24.9, 30.0), "both": (50.0, 74.0)}
    plan = plan_run([exam(100.0, spans, 10.0)] * 3, FOUR, Policy(5, 2), settings=["full_score"])
    assert plan.settings[0].unseen == (6, 12) and plan.settings[0].gap_max == pytest.approx(25.0)


def test_the_plan_command(short_demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "plan", "--videos", "200", "--model", "qwen3-vl", "--tokens", "qwen2_5_vl,openai_tiles"]) == 0
    out = capsys.readouterr().out
    assert "64 frames per video, 16 per clip, longest side 896 pixels. Tokens and cost are upper bounds." in out
    cells = next(line for line in out.splitlines() if line.startswith("| full_score ")).replace("|", " ").split()
    assert cells[:6] == ["full_score", "200", "12,800", "64", "0.38", "7,372,800"]
    assert 12_800 * (896 // 28) * (504 // 28) == 7_372_800
    assert "27 of 33 steps lack the evidence that the rubric asks for" in out
    assert main(["run", "plan", "--data", str(short_demo)]) == 0
    out = capsys.readouterr().out
    assert ": 4 videos, " in out
    assert next(line for line in out.splitlines() if line.startswith("| clip_error ")).split()[3] == "132"
    for arguments, message in (
        (["--tokens", "abacus"], "--tokens 'abacus' is not one of qwen2_5_vl, "),
        (["--price-in", "2"], "Give --price-in and --price-out together."),
        (["--frames", "8", "--model", "qwen3-vl"], "--model sets the number of frames; give only one of"),
    ):
        assert main(["run", "plan", "--videos", "2", *arguments]) == 2
        assert message in capsys.readouterr().err
