"""Names of persons: one comparison under every door through which raters, students and sites come."""

from collections.abc import Callable
from pathlib import Path

import pytest

from siming_tasks.benchmark.rubrics import rubric_from
from siming_tasks.common.errors import SimingError
from siming_tasks.data import check_dataset
from siming_tasks.tools.builder.event_log_sheet import UseRatings, ratings_labels
from siming_tasks.tools.builder.label_rows import Judgment, joined
from siming_tasks.tools.builder.label_tables import read_labels
from siming_tasks.tools.builder.template import rater_names
from siming_tasks.tools.station.event_log import EventLog, Known
from siming_tasks.tools.station.worklist import rater_name
from tests.data.conftest import RUBRIC, make_folder
from tests.records import change_rows

TINY = rubric_from(RUBRIC)
EXAM = "a" * 64


def _said(judgments: list[Judgment], problems: list) -> str:  # type: ignore[type-arg]
    return "\n".join(map(str, [*problems, *joined(judgments)[1]]))


def table(folder: Path, first: str, second: str) -> str:
    (folder / "a.csv").write_text(f"video_id,step_id,rater,points\nv1,cpr_01,{first},2\nv1,cpr_01,{second},2\n")
    return _said(*read_labels([folder / "a.csv"], TINY))


def event_log(folder: Path, first: str, second: str) -> str:
    log = EventLog.begin(folder / "s.sqlite", TINY)
    log.know([Known("v1", EXAM, ("cpr_01",))])
    for number, rater in enumerate((first, second)):
        about = {"work": "rate", "rater": rater, "exam": EXAM, "kind": "points", "step": "cpr_01"}
        log.append(f"event-{number:05}", **about, value=2)
    log.close()
    return _said(*ratings_labels(folder / "s.sqlite", TINY, UseRatings()))


def template(folder: Path, first: str, second: str) -> str:
    rater_names([first, second])
    return ""


def login(folder: Path, first: str, second: str) -> str:
    rater_name(second, [rater_name(first)])
    return ""


def folder_of_rows(folder: Path, first: str, second: str) -> str:
    score = {first: 1, second: 1, "consensus": 1}
    path = make_folder(folder / "set", videos=1) / "videos.jsonl"
    change_rows(path, lambda rows: [step.update(score=score) for row in rows for step in row["steps"]])
    return "\n".join(map(str, check_dataset(folder / "set", quick=True).errors))


DOORS = [table, event_log, template, login, folder_of_rows]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("first", "second", "said"),
    [("Dr. Li", "Dr Li", "'Dr. Li'"), ("07", "7", "'07'"), ("Mueller", "Müller", "'Mueller'"),
     ("Wu", "unbekannt", "not a name"), ("Wu", "M\ufffdller", "U+FFFD"), ("Wu", "Final", "'Final'"), ("Wu", "Li", "")],
)  # fmt: skip
def test_every_door_refuses_names_that_are_alike_or_nobodys(
    tmp_path: Path, door: Callable[[Path, str, str], str], first: str, second: str, said: str
) -> None:
    try:
        found = door(tmp_path, first, second)
    except SimingError as error:
        found = str(error)
    known = [line for line in found.splitlines() if "digest" not in line]
    assert said in found and second in found if said else known == []
