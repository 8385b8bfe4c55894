"""Messages that siming_nano understands: the prompts of the suite as they are, and no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from siming_tasks.models.nano.exam_judge import question, sight
from siming_tasks.rubrics import default_rubric
from siming_tasks.tasks import TASKS
from siming_tasks.tasks.prompt import build_prompt, frame_caption

STEPS = default_rubric().steps


def asked(prompt: str, times: tuple[float, ...] = ()) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = []
    for time in times:
        content += [{"type": "text", "text": frame_caption(time)}, {"type": "image", "url": f"picture {time}"}]
    return [{"role": "user", "content": [*content, {"type": "text", "text": prompt}]}]


@pytest.mark.parametrize(
    ("setting", "key", "clip"),
    [
        ("full_score", "scores", False),
        ("full_error", "verdicts", False),
        ("clip_score", "score", True),
        ("clip_error", "verdict", True),
        ("full_timed_score", "scores", False),
    ],
)
def test_every_prompt_of_the_benchmark_is_understood(setting: str, key: str, clip: bool) -> None:
    steps = STEPS[4:5] if clip else STEPS
    spans = [(1.0, 2.0), *[None] * (len(steps) - 1)] if "timed" in setting else None
    parsed = question(asked(build_prompt(TASKS[setting], steps, spans)))
    assert parsed.steps == {step.id: step.max_score for step in steps}
    assert (parsed.key, parsed.clip) == (key, clip)


def test_images_come_with_their_times_or_not_at_all() -> None:
    shown = sight(asked("What is this?", (0.0, 1.5, 12.25)), 64)
    assert shown is not None
    pictures, times = shown
    assert pictures == ["picture 0.0", "picture 1.5", "picture 12.25"]
    np.testing.assert_allclose(times, [0.0, 1.5, 12.2], atol=0.051)  # captions have one decimal
    assert sight(asked("What is this?"), 64) is None
    untimed = [{"role": "user", "content": [{"type": "image", "url": "picture"}, {"type": "text", "text": "?"}]}]
    assert sight(untimed, 64) is None
    assert sight([{"role": "user", "content": "What is this?"}], 64) is None
