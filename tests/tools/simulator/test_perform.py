"""The script: spans, time, and that each error changes what is to be seen or heard."""

from functools import lru_cache

import numpy as np
import pytest

from siming_tasks.rubrics import default_rubric
from siming_tasks.tools.simulator.choreography import CHANNELS
from siming_tasks.tools.simulator.trainee import with_consequences
from siming_tasks.tools.simulator.video import FULL, SHORT, perform

RUBRIC = default_rubric()
ERRORS = [error.id for step in RUBRIC.steps for error in step.errors]
FPS = 10
ROW = {name: index for index, name in enumerate(CHANNELS)}


@lru_cache(maxsize=256)
def played(*errors: str, pace=FULL, seed=0):
    chosen: dict[str, tuple[str, ...]] = {}
    for error in errors:
        step = error.rpartition(".")[0]
        chosen[step] = (*chosen.get(step, ()), error)
    return perform(with_consequences(RUBRIC, chosen), pace=pace, fps=FPS, seed=seed)


def test_the_short_form_is_short():
    assert 20 <= played(pace=SHORT).duration <= 32


@pytest.mark.parametrize("pace", [FULL, SHORT])
@pytest.mark.parametrize(
    "errors", [(), ("cpr_03.late_activation", "cpr_14.omitted"), ("aed_01.omitted", "cpr_18.order_reversed")]
)
def test_spans_are_whole_frames_inside_the_video_and_in_order(errors, pace):
    performance = played(*errors, pace=pace)
    assert set(performance.spans) == {step.id for step in RUBRIC.steps}
    for start, end in performance.spans.values():
        assert 0 <= start < end <= performance.duration
        assert [start * FPS, end * FPS] == pytest.approx([round(start * FPS), round(end * FPS)], abs=1e-4)
    may_move = {"cpr_03", "cpr_04", "cpr_05"}  # late activation; breathing and pulse in either order
    starts = [performance.spans[step.id][0] for step in RUBRIC.steps if step.id not in may_move]
    assert starts == sorted(starts)
    assert len(performance.sample(FPS)) == round(performance.duration * FPS)


@pytest.mark.parametrize("error", ERRORS)
def test_every_error_can_be_seen_or_heard(error):
    """The performance differs from a flawless one in its motion or its words, not before the step begins."""
    flawless, flawed = played(), played(error)
    rows = [flawless.sample(FPS), flawed.sample(FPS)]
    assert not np.array_equal(*rows) or flawless.utterances != flawed.utterances
    if error not in ("cpr_06.soft_surface", "cpr_03.late_activation"):
        first = round(min(flawless.spans[error[:6]][0], flawed.spans[error[:6]][0]) * FPS)
        before = [row[: max(first - 1, 0)] for row in rows]
        entailed_earlier = error in ("cpr_10.omitted", "cpr_13.omitted", "cpr_12.omitted", "aed_08.shock_in_contact")
        assert entailed_earlier or np.array_equal(*before)


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


def test_words_give_no_label_away():
    for error in ERRORS:
        said = played(error).utterances
        assert said
        for word in said:
            assert not any(hint in word.text.lower() for hint in ("error", "wrong", "score", "point", "fail", "omit"))


def test_slots_hold_time_open_and_change_nothing_else():
    natural = played()
    slots = {step: length + 1.0 for step, length in natural.lengths.items()}
    slow = perform(with_consequences(RUBRIC, {}), fps=FPS, slots=slots)
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
