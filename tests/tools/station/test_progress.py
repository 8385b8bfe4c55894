"""`siming study raters STORE`: where everybody is, while the work goes on."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.cli import main
from siming_tasks.rubrics import Rubric
from siming_tasks.tools.station.event_log import EventLog, Known
from siming_tasks.tools.station.progress import read_progress
from tests.tools.station.conftest import STEPS

A, B = "a" * 64, "b" * 64


@pytest.fixture
def store(tmp_path: Path, three: Rubric) -> Path:
    """Two raters, two exams; times set by hand: x takes 10 s for each event of exam a, y 60 s.

    Exam a: x 2, 10, 3 and y 2, 4, N/A (they differ on call and press). Exam b: x has begun with look alone.
    """
    path = tmp_path / "s.sqlite"
    event_log = EventLog.begin(path, three, synthetic=True)
    event_log.know([Known("a.mp4", A, tuple(STEPS)), Known("b.mp4", B, tuple(STEPS))])
    rows: list[tuple[str, str, str | None, str, Any]] = []
    for rater, given in (("x", (2, 10, 3)), ("y", (2, 4, None))):
        rows.append((rater, A, None, "open", {"seconds": 20}))
        for step, points in zip(STEPS, given, strict=True):
            rows.append((rater, A, step, *(("applicable", False) if points is None else ("points", points))))
    rows += [
        ("x", A, None, "played", {"heard": 4, "silent": 1}),
        ("x", B, None, "open", {"seconds": 20}),
        ("x", B, "look", "points", 1),
        ("y", A, "call", "comment", "is <b>shouting</b> a call?"),
    ]
    for number, (rater, exam, step, kind, value) in enumerate(rows):
        event_log.append(f"event-{number:05}", work="rate", rater=rater, exam=exam, step=step, kind=kind, value=value)
    event_log.close()
    with sqlite3.connect(path) as raw:
        raw.execute("DROP TRIGGER acts_stay")
        for rater, pace in (("x", 10), ("y", 60)):
            mine = raw.execute("SELECT id FROM acts WHERE rater = ? ORDER BY id", (rater,)).fetchall()
            for place, (name,) in enumerate(mine):
                time = "2026-01-01T10:{:02}:{:02}+00:00".format(*divmod(place * pace, 60))
                raw.execute("UPDATE acts SET time = ? WHERE id = ?", (time, name))
    raw.close()
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
