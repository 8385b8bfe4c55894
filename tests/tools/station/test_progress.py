"""`siming study raters STORE`: where everybody is, while the work goes on."""

import json
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.benchmark.rubrics import Rubric
from siming_tasks.cli import main
from siming_tasks.tools.station.event_log import EventLog, Known
from siming_tasks.tools.station.progress import read_progress
from tests.tools.station.conftest import STEPS, set_clock

A, B = "a" * 64, "b" * 64


@pytest.fixture
def store(tmp_path: Path, three: Rubric, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two raters, two exams; x takes 10 s for each event, y 60 s.

    Exam a: x 2, 10, 3 and y 2, 4, N/A (they differ on call and press). Exam b: x has begun with look alone.
    """
    path = tmp_path / "s.sqlite"
    event_log = EventLog.begin(path, three, synthetic=True)
    event_log.know([Known("a.mp4", A, tuple(STEPS)), Known("b.mp4", B, tuple(STEPS))])
    opened = (A, None, "open", {"seconds": 20})
    given = {("x", 10): [opened, (A, "look", "points", 2), (A, "call", "points", 10), (A, "press", "points", 3),
                         (A, None, "played", {"heard": 4, "silent": 1}), (B, *opened[1:]), (B, "look", "points", 1)],
             ("y", 60): [opened, (A, "look", "points", 2), (A, "call", "points", 4), (A, "press", "applicable", False),
                         (A, "call", "comment", "is <b>shouting</b> a call?")]}  # fmt: skip
    for (rater, pace), events in given.items():
        for number, (exam, step, kind, value) in enumerate(events):
            set_clock(monkeypatch, number * pace)
            name = f"event-{rater}-{number}"
            event_log.append(name, work="rate", rater=rater, exam=exam, step=step, kind=kind, value=value)
    event_log.close()
    return path


def test_pace_and_unclear_steps_equal_hand_calculation(store: Path, capsys: Any) -> None:
    found = read_progress(store)
    assert found["raters"] == {
        "x": {"exams": 2, "begun": 2, "finished": 1, "minutes": 0.5, "played": 0.25},  # 5 of 20 s
        "y": {"exams": 2, "begun": 1, "finished": 1, "minutes": 4.0, "played": 0.0},  # three events and a comment
    }
    assert list(found["steps"].items()) == [
        ("call", {"pairs": 1, "differ": 1, "comments": ["is <b>shouting</b> a call?"]}),
        ("press", {"pairs": 1, "differ": 1, "comments": []}),
        ("look", {"pairs": 1, "differ": 0, "comments": []}),
    ]
    assert main(["study", "raters", str(store)]) == 0
    printed = " ".join(capsys.readouterr().out.split())  # columns are padded
    for said in (
        "SYNTHETIC",
        "| y | 1 | 1 | 2 | 4.0 | 0 % |",
        "| call | 1 | 1 | 100 % | 1 |",
        r"is \<b\>shouting\</b\>",
    ):
        assert said in printed
    assert main(["study", "raters", str(store), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == found
    assert main(["study", "raters", str(store), "--raters", "x", "y"]) == 2
