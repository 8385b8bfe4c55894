"""What every model is told, to the letter."""

from __future__ import annotations

import re
from importlib import resources

import pytest
import yaml

from siming_tasks.rubrics import default_rubric
from siming_tasks.settings import SETTINGS
from siming_tasks.settings.prompt import PROMPT_VERSION, build_prompt, frame_caption, frames_note, template_hash

STEPS = default_rubric().steps


def test_templates_are_pinned_to_the_task_version() -> None:
    """A changed word changes what is measured: move the task version and the changelog, then this line."""
    assert (PROMPT_VERSION, template_hash()) == ("1-A", "87b558eb3d34")
    folder = resources.files("siming_tasks.yaml_tasks")
    base = re.sub("!function ", "", (folder / "_base.yaml").read_text())
    assert yaml.safe_load(base)["metadata"]["version"] == PROMPT_VERSION


def test_clip_prompt_to_the_letter() -> None:
    assert (
        build_prompt(SETTINGS["clip_score"], [default_rubric().by_id["cpr_07"]])
        == """\
You are a physician examiner of emergency skills. The video clip is cut from an examination, in which a trainee \
performs a procedure on a manikin. It shows the one step below. Judge the trainee by the rubric.

Rubric:

[cpr_07] Expose the chest (maximum 1 point)
Requirement: Opens clothing so that the sternum and nipple line can be seen before hands are placed.
Full points: Chest visible before the first compression.
Partial points: Not available: one-point item.
No points: Compressions through closed clothing or chest bared only later.

Task: score this step. Give a whole number of points from 0 (failed) to the maximum of the step (fully correct).

Answer with one JSON object and nothing else. It has the single key "score", whose value is your points, as an integer \
from 0 to 1."""
    )


@pytest.mark.parametrize("name", ["full_score", "full_error"])
def test_full_prompt_names_every_step_with_scale_and_criteria(name: str) -> None:
    prompt = build_prompt(SETTINGS[name], STEPS)
    for step in STEPS:
        assert prompt.count(f"[{step.id}] {step.name} (maximum {step.max_score:g} point") == 1
        for text in (step.requirement, step.criteria.full, step.criteria.partial, step.criteria.fail):
            assert text in prompt
    assert "each of the 33 step ids" in prompt
    assert not re.search(r'"(?:cpr|aed|bmv)_\d+"\s*:', prompt)  # no example score vector


def test_settings_of_one_scope_share_everything_before_the_task() -> None:
    for scope, steps in (("full", STEPS), ("clip", STEPS[:1])):
        score, error = (build_prompt(SETTINGS[f"{scope}_{answer}"], steps) for answer in ("score", "error"))
        assert score.split("\n\nTask: ")[0] == error.split("\n\nTask: ")[0]
        assert score != error


def test_a_clip_asks_about_one_step() -> None:
    with pytest.raises(ValueError, match="clip_score cannot ask about 2 steps"):
        build_prompt(SETTINGS["clip_score"], STEPS[:2])
    with pytest.raises(ValueError, match="full_score cannot ask about 0 steps"):
        build_prompt(SETTINGS["full_score"], [])


def test_frames_carry_their_time() -> None:
    assert frame_caption(12.34) == "Frame at 12.3 s:"
    assert frames_note([0.0, 2.5]) == (
        "The 2 images above are frames of the video in order; the time of each, in seconds, is 0.0, 2.5."
    )
