"""What the page is sent: the rubric, the video and what this rater gave; nothing that anybody else said."""

from __future__ import annotations

import json
from pathlib import Path

from siming_tasks.tools.station.event_log import EventLog
from siming_tasks.tools.station.station_exams import find_exams
from siming_tasks.tools.station.worklist import Rating
from tests.data.conftest import STEPS, make_folder


def test_a_built_data_set_is_rated_blind(tmp_path: Path) -> None:
    """Its labels, raters, spans and which steps apply are not sent; a second rater is not told of the first."""
    folder = make_folder(tmp_path / "set", videos=2)
    exams = find_exams(folder, tmp_path / "cache")
    assert exams.synthetic and [exam.steps for exam in exams.exams] == [tuple(step for step, _ in STEPS)] * 2
    event_log = EventLog.begin(tmp_path / "s.sqlite", exams.rubric, synthetic=exams.synthetic)
    first = Rating(event_log, "Dr. Li", exams)
    for number in range(2):
        first.event(number, f"event-{number:05}", "cpr_03", "points", 4)
        first.event(number, f"comment-{number:05}", "cpr_03", "comment", "for nobody else")
    second = Rating(event_log, "Dr. Wu", exams)
    told = [second.start(), *(second.open(number, f"open-{number:05}") for number in range(2))]
    text = json.dumps(told)
    for secret in ("rater_a", "rater_b", "consensus", "Li", "nobody", "score", "span"):
        assert secret not in text, secret
    for item in told[1:]:
        assert set(item) == {"name", "steps", "player", "state", "left", "seconds", "played", "heard"}
        assert set(item["player"]) == {"src", "times", "end", "sound"}
        assert (item["state"], item["left"]) == ({}, 4)
    assert {exam["left"] for exam in told[0]["items"]} == {4}
    # A page of the first rater that was left open names nothing of the second's.
    assert len({*first.names, *second.names}) == 4 and first.usual_port != second.usual_port
