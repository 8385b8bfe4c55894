"""The script: every error of the table is performed, spans and slots tell nothing, compressions are as planned."""

from functools import lru_cache

import numpy as np
import pytest

from siming_tasks.benchmark.rubrics import default_rubric
from siming_tasks.tools.simulator import compute_true_scores, simulate_labels
from siming_tasks.tools.simulator.steps import FOLLOWS, NEVER_ALONE, STEPS, draw_slots
from siming_tasks.tools.simulator.trainee import with_consequences
from siming_tasks.tools.simulator.video import FPS, FULL, SHORT, perform

RUBRIC = default_rubric()
ERRORS = [f"{name}.{error}" for name, step in STEPS.items() for error in step.errors]


@lru_cache(maxsize=32)
def played(*errors, pace=FULL, seed=0):
    return perform(with_consequences(*errors), pace=pace, seed=seed)


def test_the_table_has_the_rubrics_steps_and_points_and_its_errors_that_can_be_told():
    assert list(STEPS) == [step.id for step in RUBRIC.steps] and len(ERRORS) == 111
    for name, row in STEPS.items():
        named = {error.id: error.deduct for error in RUBRIC.by_id[name].errors}
        assert {f"{name}.{error}": points for error, (points, _) in row.errors.items()}.items() <= named.items()
        assert 2 <= len(row.errors) <= 5 or len(named) == 1
        assert row.right and all(shown for _, shown in row.errors.values())
    assert {error for pair in FOLLOWS.items() for error in (pair[0], *pair[1])} <= set(ERRORS)


def test_an_error_costs_points_is_seen_or_heard_and_changes_no_span():
    """It differs from a flawless exam in motion or words, not before its step, and its words give no label away."""
    for error in ERRORS:
        cause = next(cause for cause, later in FOLLOWS.items() if error in later) if error in NEVER_ALONE else error
        plan, step = with_consequences(cause), cause[:6]
        assert plan.has(error) and (error in plan.entailed) == (error in NEVER_ALONE), error
        assert compute_true_scores(plan.errors)[error[:6]].points < RUBRIC.by_id[error[:6]].max_score, error
        flawless, flawed = played(seed=len(cause)), played(cause, seed=len(cause))
        assert (flawed.spans, flawed.duration) == (flawless.spans, flawless.duration), error
        rows = [flawless.sample(FPS), flawed.sample(FPS)]
        assert not np.array_equal(*rows) or flawless.utterances != flawed.utterances, error
        if error != "cpr_06.soft_surface":  # the mattress lies there from the beginning
            first = round(flawless.spans[step][0] * FPS)
            assert np.array_equal(*(row[: max(first - 1, 0)] for row in rows)), error
        said = " ".join(word.text.lower() for word in flawed.utterances)
        assert not any(hint in said for hint in ("error", "wrong", "score", "point", "fail", "omit")), error


@pytest.mark.parametrize("pace", [FULL, SHORT])
def test_spans_are_whole_frames_inside_the_video_and_in_order(pace):
    for errors in ((), ("cpr_09.omitted",), ("aed_01.omitted", "cpr_18.order_reversed")):
        performance = played(*errors, pace=pace)
        assert set(performance.spans) == set(STEPS)
        for start, end in performance.spans.values():
            assert 0 <= start < end <= performance.duration
            assert [start * FPS, end * FPS] == pytest.approx([round(start * FPS), round(end * FPS)], abs=1e-4)
        starts = [performance.spans[step][0] for step in STEPS if step not in ("cpr_04", "cpr_05")]  # in either order
        assert starts == sorted(starts)
        assert len(performance.sample(FPS)) == round(performance.duration * FPS)
        assert pace == FULL or 20 <= performance.duration <= 32


def test_lengths_of_spans_are_drawn_from_the_look_alone():
    """Of 60 drawn exams, in which errors of several steps come together."""
    for exam in simulate_labels(60, seed=820_008):
        slots = draw_slots(exam.look)
        lengths = perform(exam.plan, seed=exam.look).lengths
        assert {step: lengths[step] for step in slots} == pytest.approx(slots, abs=0.051)
        assert all(lengths[f"cpr_{number:02d}"] == lengths["cpr_14"] for number in range(9, 14))
    seconds = np.array([list(draw_slots(seed).values()) for seed in range(200)])
    assert seconds.sum(1).min() > 120 and np.median(seconds.sum(1)) <= 240 and len(set(seconds.sum(1).round(1))) > 3


@pytest.mark.parametrize(
    ("errors", "strokes", "depth", "seconds"),
    [
        ((), 30, 5.5, 16.36),  # 30 strokes at 110 a minute
        (("cpr_14.large_miscount",), (20, 36), 5.5, None),
        (("cpr_11.mostly_shallow",), 30, 2.4, 16.36),
        (("cpr_12.far_out",), 30, 5.5, (11.7, 21.0)),  # 0.39 s or 0.70 s a stroke
    ],
)
def test_compressions_have_the_planned_number_depth_and_rate(errors, strokes, depth, seconds):
    performance = played(*errors)
    start, end = performance.spans["cpr_11"]
    times, values = performance.times["p_depth"], performance.values["p_depth"]
    inside = (times >= start) & (times <= end)
    course, at = values[inside], times[inside]
    peaks = np.flatnonzero((course[1:-1] > course[:-2]) & (course[1:-1] >= course[2:]) & (course[1:-1] > 1)) + 1
    assert len(peaks) in np.atleast_1d(strokes)
    assert np.median(course[peaks]) == pytest.approx(depth, abs=0.01)
    if seconds is not None:
        period = np.median(np.diff(at[peaks]))
        assert any(period * 30 == pytest.approx(value, rel=0.01) for value in np.atleast_1d(seconds))


@pytest.mark.parametrize(
    ("error", "low", "high"),
    [((), 0, 5), (("aed_09.delay_over_10s",), 10, 12), (("aed_09.pulse_check_first",), 5, 8)],
)
def test_compressions_after_the_shock_go_on_until_their_slot_ends(error, low, high):
    """So their delay is told by when they begin, and they are not followed by another pause."""
    exam = played(*error)
    start, end = exam.spans["aed_09"]
    times, depth = exam.times["p_depth"], exam.values["p_depth"]
    pressed = times[(times > start) & (times < end) & (depth > 5)]
    assert end - pressed[-1] < 2.5 and low < pressed[0] - start < high
    start, end = exam.spans["aed_08"]  # and the shock waits for the device, here without a delay
    prompt = next(word.start for word in exam.utterances if word.text == "Press the button." and word.start >= start)
    shock = next(event["t"] for event in exam.events if event["what"] == "delivers the shock")
    assert 0.3 < shock - prompt < 1.5 and start <= prompt < shock < end
