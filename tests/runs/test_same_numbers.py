"""The same number for the same thing: the host's table and every command of ``siming``, over a matrix of runs.

No number is pasted here: one run is scored in every way that there is, and what one says must be what all say, to the
last digit, with its interval, its size, its coverage and its flags.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.data import Dataset
from tests.report.conftest import write_run
from tests.runs.matrix import (
    PLAIN,
    Numbers,
    boarded,
    compared,
    diagnosed,
    disagreements,
    flags,
    host_numbers,
    loaded,
    recorded,
    reported,
    rewrite,
    score_numbers,
)

NAMES = ("full_score", "clip_error")

WHOLE = ("complete", "second", "frames", "prompt", "partial")
"""Runs that were to make every request, of four exams each."""
ASKED = {"limited": slice(3), "offset": slice(1, 3), "clips": slice(70)}
"""Which requests of a task the others were told to make: exams, exams, clips of more than two exams."""
GROUPS = ({"complete", "second", "partial"}, {"frames"}, {"prompt"}, {"limited"}, {"offset"}, {"clips"})
"""Which of the runs may stand side by side."""


def a_run(data: Dataset, folder: Path, seed: int, settings: tuple[str, ...] = NAMES, **how: Any) -> Path:
    """A model's run with some wrong answers and one reply that cannot be read."""
    how = {"kind": "rater_a", "model": f"example/{folder.name}", "noise": 0.4, "replies": {1: "I cannot help."}, **how}
    return write_run(data, folder, settings=settings, seed=seed, **how)


@pytest.fixture(scope="module")
def matrix(exams: Dataset, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("matrix")
    runs = {name: a_run(exams, root / name, seed) for seed, name in enumerate(WHOLE)}
    rewrite(runs["frames"], recorded(media={"n_frames": 8}))
    rewrite(runs["prompt"], recorded(prompt="another"))
    rewrite(runs["partial"], lambda lines: lines[:-1])
    for seed, (name, part) in enumerate(ASKED.items(), len(WHOLE)):
        config = {"limit": part.stop - (part.start or 0), "offset": part.start}
        runs[name] = a_run(exams, root / name, seed, (NAMES[name == "clips"],), config=config)
        rewrite(runs[name], lambda lines, part=part: lines[part])
    return runs


@dataclass(frozen=True)
class Told:
    """What every way of scoring says of the runs of one data set, under one set of options."""

    host: Mapping[str, Numbers]
    score: Mapping[str, dict[str, Any]]
    compare: Mapping[str, dict[str, Any]]
    diagnose: Mapping[str, dict[str, Any]]
    report: Mapping[str, dict[str, Any]]
    standings: Mapping[str, Any]
    board: Mapping[str, dict[str, Any]]

    def numbers(self, run: str) -> dict[str, Mapping[str, Mapping[str, Any]]]:
        """The metrics of a run, by who says so."""
        settings = self.report[run]["settings"]
        found: dict[str, Mapping[str, Mapping[str, Any]]] = {
            "score": {name: part["metrics"] for name, part in self.score[run].items()},
            "host": self.host[run],
            "compare": {
                name: part["comparison"]["estimates"]["mine"] for name, part in self.compare[run].items()
            },
            "what the video contributed": {
                name: part["contribution"]["mine"]["rows"]["run"] for name, part in self.compare[run].items()
            },
            "report": {name: part["numbers"]["metrics"] for name, part in settings.items()},
            "report's contribution": {name: part["contribution"]["rows"]["run"] for name, part in settings.items()},
            "leaderboard": {
                name: next(row["metrics"] for row in self.standings[name]["rows"] if row["name"] == run)
                for name in settings
            },
        }  # fmt: skip
        if run in self.board:
            found["board"] = {name: part["metrics"] for name, part in self.board[run]["settings"].items()}
        return found


def tell(
    runs: Mapping[str, Path],
    data: Path,
    out: Path,
    options: Mapping[str, str],
    *,
    host: Path | None = None,
    labels: Path | None = None,
) -> Told:
    """Score runs in every way; ``host``: the host has the labels that the commands are given as a file."""
    how = flags(data, options, labels)
    with loaded(host or data, out / "cache", options):
        table = {name: host_numbers(folder, ASKED.get(name, slice(None))) for name, folder in runs.items()}
    report = reported(runs, out / "report", how)
    return Told(
        table,
        {name: score_numbers(folder, how) for name, folder in runs.items()},
        {name: compared(folder, folder, how) for name, folder in runs.items()},
        {name: diagnosed(folder, how) for name, folder in runs.items()},
        {run["name"]: run for run in report["runs"]},
        report["standings"],
        boarded({name: folder for name, folder in runs.items() if name not in ASKED}, out, how),
    )


@pytest.fixture(scope="module")
def told(matrix: dict[str, Path], exams: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Told:
    return tell(matrix, exams.root, tmp_path_factory.mktemp("told"), PLAIN)


def agree(told: Told, run: str) -> None:
    """Everything that is said twice of a run is said alike."""
    assert disagreements(told.numbers(run)) == []
    for name, score in told.score[run].items():
        diagnosis, report = told.diagnose[run][name], told.report[run]["settings"][name]
        assert diagnosis == report["diagnostics"]
        assert told.compare[run][name]["contribution"]["mine"] == report["contribution"]
        split = report["contribution"]
        assert split["parts"]["total"] == score["metrics"][split["metric"]]
        assert diagnosis["coverage"] == score["metrics"]["coverage"]["value"]
        assert diagnosis["videos"] == score["extra"]["counts"]["videos"]
        same_choices(diagnosis, score)


def same_choices(diagnosis: Mapping[str, Any], score: Mapping[str, Any]) -> None:
    """What would change with the reading, the positive class or the missing answers: of diagnoses and of scores."""
    chosen = {(item["choice"], item["option"]): item["values"] for item in diagnosis["choices"]["options"]}
    beside = score["extra"]
    for (choice, option), values in chosen.items():
        if choice == "missing answers":
            known = beside["fill"].get(option)
        elif choice == "mapping":
            known = {name: item["value"] for name, item in beside["mapping"][option].items()}
        else:
            known = {name: item["value"] for name, item in beside["positive"][option].items()}
        headline = {name: item["value"] for name, item in score["metrics"].items() if name in values}
        assert values == (headline if option == "left out" else {name: known[name] for name in values})


@pytest.mark.parametrize("run", [*WHOLE, *ASKED])
def test_every_way_of_scoring_a_run_says_the_same(run: str, told: Told) -> None:
    agree(told, run)


def test_what_was_asked_by_hand(told: Told) -> None:
    """Four exams; every run has one reply to a full video that cannot be read, the partial run lacks one more."""
    found = {
        run: settings["full_score"]["metrics"]["coverage"]["value"]
        for run, settings in told.score.items()
        if "full_score" in settings
    }
    assert found == {**dict.fromkeys(WHOLE, 3 / 4), "partial": 2 / 4, "limited": 2 / 3, "offset": 1 / 2}
    assert told.score["clips"]["clip_error"]["extra"]["counts"]["asked"] == 70
