"""The script: spans, compressions, slots, and the log."""

import numpy as np
import pytest

from siming_tasks.tools.simulator.steps import STEPS
from siming_tasks.tools.simulator.trainee import with_consequences
from siming_tasks.tools.simulator.video import FPS, FULL, SHORT, perform


def played(*errors, pace=FULL, **more):
    return perform(with_consequences(*errors), pace=pace, **more)


@pytest.mark.parametrize("pace", [FULL, SHORT])
@pytest.mark.parametrize("errors", [(), ("cpr_09.omitted",), ("aed_01.omitted", "cpr_18.order_reversed")])
def test_spans_are_whole_frames_inside_the_video_and_in_order(errors, pace):
    performance = played(*errors, pace=pace)
    assert set(performance.spans) == set(STEPS)
    for start, end in performance.spans.values():
        assert 0 <= start < end <= performance.duration
        assert [start * FPS, end * FPS] == pytest.approx([round(start * FPS), round(end * FPS)], abs=1e-4)
    starts = [performance.spans[step][0] for step in STEPS if step not in ("cpr_04", "cpr_05")]  # in either order
    assert starts == sorted(starts)
    assert len(performance.sample(FPS)) == round(performance.duration * FPS)
    assert pace == FULL or 20 <= performance.duration <= 32


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


def test_slots_hold_time_open_and_change_nothing_else():
    natural = played()
    slots = {step: length + 1.0 for step, length in natural.lengths.items()}
    slow = played(slots=slots)
    assert slow.lengths == pytest.approx(slots)
    said = [
        [word.text for word in exam.utterances if not exam.spans["aed_09"][0] <= word.start < exam.spans["aed_09"][1]]
        for exam in (natural, slow)  # but that the last compressions are counted for as long as they go on
    ]
    assert said[0] == said[1]


def test_the_log_says_who_did_what_when():
    events = played("aed_07.omitted", "cpr_05.wrong_site").events
    assert [event["t"] for event in events] == sorted(event["t"] for event in events)
    assert {"t", "who", "what"} <= set(events[0])
    wrong = [event for event in events if event.get("errors") == ["cpr_05.wrong_site"]]
    assert wrong[0]["step_id"] == "cpr_05"
    assert any(event["who"] == "aed" and event["what"] == "delivers the shock" for event in events)
