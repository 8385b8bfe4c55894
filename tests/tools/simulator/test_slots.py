"""Times tell nothing: at full pace a span is as long as its slot, whatever the trainee does in it."""

from functools import lru_cache

import numpy as np
import pytest

from siming_tasks.rubrics import default_rubric
from siming_tasks.tools.simulator import simulate_labels, simulate_pairs
from siming_tasks.tools.simulator.minimal_pairs import HISTORY
from siming_tasks.tools.simulator.slots import SLOTS, draw_slots
from siming_tasks.tools.simulator.trainee import with_consequences
from siming_tasks.tools.simulator.video import FPS, perform

RUBRIC = default_rubric()
STEPS = [step.id for step in RUBRIC.steps]
ERRORS = [error.id for step in RUBRIC.steps for error in step.errors]


@lru_cache(maxsize=256)
def played(error="", seed=0):
    return perform(with_consequences(RUBRIC, {error.rpartition(".")[0]: (error,)} if error else {}), seed=seed)


@pytest.mark.parametrize("error", ERRORS)
def test_no_error_changes_a_span(error):
    """Nor any length, start, gap or the duration; an activation that comes late moves spans, which is what it is."""
    flawless, flawed = played(seed=len(error)), played(error, seed=len(error))
    assert flawed.lengths == pytest.approx(flawless.lengths)
    assert flawed.duration == flawless.duration
    if error != "cpr_03.late_activation":
        assert flawed.spans == flawless.spans


def test_an_exam_takes_two_to_four_minutes_and_slots_differ_by_look():
    drawn = [draw_slots(seed) for seed in range(200)]
    seconds = np.array([list(slots.values()) for slots in drawn])
    assert seconds.sum(1).min() > 120 and np.median(seconds.sum(1)) <= 240
    assert (seconds >= np.array(list(SLOTS.values())) - 0.051).all()
    assert len({played(seed=seed).duration for seed in range(6)}) > 3


def test_lengths_tell_no_label():
    """Of 200 drawn exams: the step's own slot in all but a few, in which several slow errors come together."""
    strange = 0
    for exam in simulate_labels(200, seed=820_008):
        lengths, slots = perform(exam.plan, seed=exam.look).lengths, draw_slots(exam.look)
        strange += sum(lengths[step] != pytest.approx(slots[step], abs=0.051) for step in slots)
    assert strange / (200 * len(SLOTS)) < 0.001


def test_the_videos_of_a_minimal_pair_have_equal_spans_and_history_shows_the_same():
    """At full pace, from the channels: the frames themselves are compared at the short one."""
    pairs = simulate_pairs(2 * len(HISTORY), seed=820_008)
    for pair in pairs:
        first, second = (perform(exam.plan, seed=exam.look, slots=pair.slots(short=False)) for exam in pair.exams)
        assert first.spans == second.spans
        if pair.kind == "history":
            start, stop = (round(time * FPS) for time in first.spans[pair.step_id])
            assert np.array_equal(*(np.round(each.sample(FPS)[start:stop], 2) for each in (first, second)))


@pytest.mark.parametrize("error", ["", "aed_09.delay_5_10s", "aed_09.delay_over_10s", "aed_09.pulse_check_first"])
def test_compressions_after_the_shock_go_on_until_their_slot_ends(error):
    """So their delay is told by when they begin, and they are not followed by another pause."""
    exam = played(error)
    start, end = exam.spans["aed_09"]
    times, depth = exam.times["p_depth"], exam.values["p_depth"]
    pressed = times[(times > start) & (times < end) & (depth > 5)]
    assert end - pressed[-1] < 2.5
    low, high = {"": (0, 5), "aed_09.delay_5_10s": (5, 10), "aed_09.delay_over_10s": (10, 12)}.get(error, (5, 8))
    assert low < pressed[0] - start < high


@pytest.mark.parametrize(("error", "low", "high"), [("", 0.3, 1.5), ("aed_08.delayed", 10.0, 13.0)])
def test_the_shock_waits_for_the_device_and_the_delay_is_from_prompt_to_press(error, low, high):
    exam = played(error)
    start, end = exam.spans["aed_08"]
    prompt = next(word.start for word in exam.utterances if word.text == "Press the button." and word.start >= start)
    shock = next(event["t"] for event in exam.events if event["what"] == "delivers the shock")
    assert low < shock - prompt < high and start <= prompt < shock < end
