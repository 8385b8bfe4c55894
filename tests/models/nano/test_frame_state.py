"""The features of a frame: by hand for a few, and complete for everything that the simulator says and does."""

from __future__ import annotations

import numpy as np

from siming_tasks.models.nano.frame_state import BINARY, FEATURES, PHRASES, features_of
from siming_tasks.rubrics import default_rubric
from siming_tasks.tools.simulator.choreography import CHANNELS
from siming_tasks.tools.simulator.trainee import with_consequences
from siming_tasks.tools.simulator.video import FPS, FULL, perform


def frame(utterances: tuple[str, ...] = (), **values: float) -> dict[str, float]:
    row = np.array([[{**CHANNELS, **values}[name] for name in CHANNELS]])
    return dict(zip(FEATURES, features_of(row, [utterances], list(CHANNELS))[0].tolist(), strict=True))


def test_words_and_numbers() -> None:
    assert frame()["says HELP!"] == 0 and frame(("HELP!",))["says HELP!"] == 1
    counted = frame(("27",))
    assert [name for name in BINARY if counted[name] and name not in ("p_pillow",)] == ["counts", "tens=2", "ones=7"]
    seconds = frame(("1006", "Press the button."))
    assert [name for name in BINARY if seconds[name]] == [
        "says Press the button.", "counts seconds", "tens=0", "ones=6"
    ]  # fmt: skip


def test_objects_outside_the_picture_have_neutral_features() -> None:
    assert frame(a_x=398, a_seen=0)["a_x"] == 0 and frame(a_x=398, a_seen=1)["a_x"] == np.float32(8 / 60)
    assert frame(a_seen=1, a_mode=3)["a_mode=3"] == 1 and frame(a_seen=0, a_mode=3)["a_mode=3"] == 0
    assert frame(p_debris=1, p_mouth=0.1)["p_debris"] == 0 and frame(p_debris=1, p_mouth=0.9)["p_debris"] == 1
    held = frame(a_seen=1, a_pad1=1, a_pad1x=382, a_pad1z=-1)
    stuck = frame(a_seen=1, a_pad1=1, a_pad1x=317, a_pad1z=0.12, a_curl=1)
    assert (held["a_pad1"], held["a_pad1 stuck"], held["a_pad1z"]) == (1, 0, 0)
    assert (stuck["a_pad1 stuck"], stuck["a_curl"]) == (1, 1) and stuck["a_pad1z"] == np.float32(-0.48 / 0.4)
    assert frame(me_lshape=5, me_grip=0)["me_lshape=5"] == 1 and frame(me_lshape=5, me_grip=1)["me_lshape=5"] == 0


def test_every_utterance_of_an_exam_with_any_error_is_known() -> None:
    """Every error of the rubric is made once, whatever it excludes or brings along."""
    rubric = default_rubric()
    utterances = set()
    for step in rubric.steps:
        for error in step.errors:
            played = perform(with_consequences(rubric, {step.id: (error.id,)}), pace=FULL, fps=FPS, seed=1)
            utterances |= {word.text for word in played.utterances}
    both = with_consequences(rubric, {"cpr_03": ("cpr_03.nobody_designated", "cpr_03.phone_or_aed_missing")})
    utterances |= {word.text for word in perform(both, pace=FULL, fps=FPS, seed=1).utterances}
    assert {text for text in utterances if not text.isdigit()} == set(PHRASES)
    assert {int(text) // 1000 for text in utterances if text.isdigit()} == {0, 1}
    assert max(int(text) % 1000 for text in utterances if text.isdigit()) < 50
