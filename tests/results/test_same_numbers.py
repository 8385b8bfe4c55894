"""The same number for the same thing: the host's table and every command of ``siming``, over a matrix of runs.

No number is pasted here: one run is scored in every way that there is, and what one says must be what all say, to the
last digit, with its interval, its size, its coverage and its flags.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from siming_tasks.analysis import run_analyses as detail
from siming_tasks.data import Dataset, open_dataset, withhold
from siming_tasks.options import Options
from siming_tasks.report.leaderboard import build_leaderboard
from siming_tasks.report.run_analysis import RunAnalysis, analyze_run
from siming_tasks.results.discovery import find_runs
from siming_tasks.results.evaluate_records import build_score_matrix
from siming_tasks.results.run import Run, read_run, score_run
from siming_tasks.tools.board.build import build_board
from tests.runs import write_run
from tests.results.matrix import (
    OTHER,
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
    siming,
)

NAMES = ("full_score", "clip_error")

WHOLE = ("complete", "second", "frames", "prompt", "partial")
"""Runs that were to make every request, of four exams each."""
ASKED = {"limited": slice(3), "offset": slice(1, 3), "clips": slice(70)}
"""Limits of the other runs, in requests of a task: exams, exams, clips of more than two exams."""
GROUPS = ({"complete", "second", "partial"}, {"frames"}, {"prompt"}, {"limited"}, {"offset"}, {"clips"})
"""Runs that may stand side by side."""


def a_run(data: Dataset, folder: Path, seed: int, settings: tuple[str, ...] = NAMES, **how: Any) -> Path:
    """A model's run with some wrong answers and one reply that cannot be read."""
    how = {"kind": "rater_a", "model": f"example/{folder.name}", "noise": 0.4, "replies": {1: "I cannot help."}, **how}
    return write_run(data, folder, settings=settings, seed=seed, **how)


@pytest.fixture(scope="module")
def matrix(exams: Dataset, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("matrix")
    runs = {
        name: a_run(exams, root / name, seed, NAMES if name in ("complete", "partial") else NAMES[:1])
        for seed, name in enumerate(WHOLE)
    }
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
    """Numbers of the runs of one data set by every way of scoring, under one set of options."""

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
    part: slice = slice(None),
) -> Told:
    """Score runs in every way.

    Args:
        runs: by name.
        data: what they were asked about.
        out: an empty folder to work in.
        options: by name, for the environment of the host and the flags of the commands.
        host: the host's data set, if it has the labels that the commands are given as a file.
        labels: that file.
        part: what the host was asked of each task, for runs that :data:`ASKED` does not know.
    """
    how = flags(data, options, labels)
    with loaded(host or data, out / "cache", options):
        table = {name: host_numbers(folder, ASKED.get(name, part)) for name, folder in runs.items()}
    report = reported(runs, out / "report", how)
    whole = {name: folder for name, folder in runs.items() if ASKED.get(name, part) == slice(None)}
    return Told(
        table,
        {name: score_numbers(folder, how) for name, folder in runs.items()},
        {name: compared(folder, folder, how) for name, folder in runs.items()},
        {name: diagnosed(folder, how) for name, folder in runs.items()},
        {run["name"]: run for run in report["runs"]},
        report["standings"],
        boarded(whole, out, how) if whole else {},
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
        assert split["excess_correlation"].get("plcc") == score["metrics"].get("plcc")
        assert diagnosis["coverage"] == score["metrics"]["coverage"]["value"]
        assert diagnosis["videos"] == score["extra"]["counts"]["videos"]


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


def test_more_resamples_than_details_use(
    matrix: dict[str, Path], exams: Dataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The metrics rest on all resamples that were asked for, wherever they stand; details on fewer, and say so."""
    monkeypatch.setattr(detail, "DETAIL_RESAMPLES", 20)
    few = tell({"limited": matrix["limited"]}, exams.root, tmp_path, PLAIN)
    agree(few, "limited")
    assert few.score["limited"]["full_score"]["options"]["resamples"] == 40
    assert few.diagnose["limited"]["full_score"]["options"]["resamples"] == 20
    assert few.compare["limited"]["full_score"]["contribution"]["mine"]["options"]["resamples"] == 20


def test_other_options_are_the_same_for_all(matrix: dict[str, Path], exams: Dataset, tmp_path: Path) -> None:
    other = tell({"complete": matrix["complete"]}, exams.root, tmp_path, OTHER)
    agree(other, "complete")
    assert (
        other.score["complete"]["full_score"]["options"].items() >= {"rater": "rater_b", "positive": "correct"}.items()
    )


def test_three_physicians_have_the_same_numbers_everywhere(three: Path, tmp_path: Path) -> None:
    """Everything agrees, and a pair of physicians has one kappa in the report and in ``siming study raters``."""
    data = open_dataset(three)
    run = a_run(data, tmp_path / "run", 1, ("full_score",))
    told = tell({"run": run}, three, tmp_path / "told", {**PLAIN, "rater": "rater_c"})
    agree(told, "run")
    tables = json.loads(siming("study", "raters", three, "--json"))["pairs"]
    rows = {row["name"]: row["metrics"] for row in told.standings["full_score"]["rows"] if row["role"] == "human"}
    assert len(rows) == len(tables) == 3
    for table in tables:
        first, second = table["raters"]
        assert rows[f"{second} against {first}"] == table["agreement"]["metrics"]


def test_withheld_labels_give_the_same_numbers_everywhere(exams: Dataset, tmp_path: Path) -> None:
    """Without labels the host and the report state the coverage alone; with them all say what they say of the whole."""
    public, key = tmp_path / "public", tmp_path / "key.json"
    blind = withhold(exams.root, public, key)
    run = a_run(blind, tmp_path / "run", 1, ("full_score",), kind="all_correct")
    told = tell({"run": run}, public, tmp_path / "told", PLAIN, host=exams.root, labels=key)
    agree(told, "run")
    with loaded(public, tmp_path / "cache", PLAIN):
        table = host_numbers(run)
    how = flags(public, PLAIN)
    (row,) = reported({"run": run}, tmp_path / "blind", how)["runs"]
    known = {name: part["numbers"]["metrics"] for name, part in row["settings"].items()}
    assert disagreements({"host": table, "report": known}) == []
    assert {name: item["value"] for name, item in table["full_score"].items()} == {
        **dict.fromkeys(("plcc", "srcc", "qwk")),
        "coverage": told.score["run"]["full_score"]["metrics"]["coverage"]["value"],
    }
    for command in (("score", run), ("compare", f"a={run}", f"b={run}"), ("study", "diagnose", run)):
        assert "the labels are withheld" in siming(*command, *how, code=1)


def test_another_idea_of_what_was_asked_is_noticed(
    matrix: dict[str, Path], exams: Dataset, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test of the tests: commands that take an absent request for one that was not asked disagree with the rest."""

    def only_what_is_there(run: Run, setting: str, rater: str = "consensus", cluster: Any = "auto") -> Any:
        return build_score_matrix(run.records[setting], run.dataset, setting, rater, cluster=cluster)

    monkeypatch.setattr(Run, "score_matrix", only_what_is_there)
    wrong = compared(matrix["partial"], matrix["partial"], flags(exams.root, PLAIN))
    said = {name: part["comparison"]["estimates"]["mine"] for name, part in wrong.items()}
    found = disagreements({"score": told.numbers("partial")["score"], "compare": said})
    assert "full_score coverage value: score 0.5, compare 0.6666666666666666" in found
    complete = compared(matrix["complete"], matrix["complete"], flags(exams.root, PLAIN))
    said = {name: part["comparison"]["estimates"]["mine"] for name, part in complete.items()}
    assert disagreements({"score": told.numbers("complete")["score"], "compare": said}) == []


PAIRS = [*combinations(("complete", "frames", "prompt", "partial", "limited"), 2), ("complete", "second"),
         ("limited", "offset")]  # fmt: skip
"""Runs that have ``full_score``."""


def together(one: str, other: str) -> bool:
    return any({one, other} <= group for group in GROUPS)


def refused(runs: Sequence[Path], data: Path, *allowed: str) -> bool:
    """Return True if ``siming compare`` refuses to put runs side by side."""
    words = [f"{path.name}={path}" for path in runs]
    how = [*flags(data, {"resamples": "2"}), "--setting", "full_score", *(f"--allow={name}" for name in allowed)]
    try:
        siming("compare", *words, "--json", *how)
    except AssertionError as error:
        assert "siming compare: Runs " in str(error)
        return True
    return False


@pytest.fixture(scope="module")
def studies(matrix: dict[str, Path], exams: Dataset) -> dict[str, RunAnalysis]:
    sources = find_runs([f"{name}={path}" for name, path in matrix.items()])
    return {
        source.name: analyze_run(source, exams, Options()) for source in sources if source.name != "clips"
    }


def apart(studies: Sequence[RunAnalysis], data: Dataset, *allowed: str) -> bool:
    """Return True if the report takes one of two runs out of its ranking."""
    table = build_leaderboard(studies, data, "full_score", Options(), allowed)
    assert table is not None
    rows = [row for row in table["rows"] if row["role"] == "model"]
    out = [bool(row["apart"]) for row in rows]
    assert out == ["standing" not in row for row in rows] or all("standing" not in row for row in rows)
    return any(out)


def test_report_ranks_what_compare_compares(
    matrix: dict[str, Path], studies: dict[str, RunAnalysis], exams: Dataset
) -> None:
    assert len(PAIRS) > 5
    for one, other in PAIRS:
        said = apart([studies[one], studies[other]], exams), refused([matrix[one], matrix[other]], exams.root)
        assert said == (not together(one, other),) * 2, (one, other)


@pytest.mark.parametrize(
    ("other", "allowed"),
    [("frames", "frames"), ("prompt", "prompt"), ("limited", "videos"), ("frames", "prompt"), ("limited", "frames")],
)
def test_a_difference_that_is_allowed_is_allowed_by_both(
    other: str, allowed: str, matrix: dict[str, Path], studies: dict[str, RunAnalysis], exams: Dataset
) -> None:
    taken = (other, allowed) in (("frames", "frames"), ("prompt", "prompt"), ("limited", "videos"))
    assert refused([matrix["complete"], matrix[other]], exams.root, allowed) is not taken
    assert apart([studies["complete"], studies[other]], exams, allowed) is not taken


def test_the_board_notes_what_compare_refuses(matrix: dict[str, Path], exams: Dataset, tmp_path: Path) -> None:
    """A board asks everything of everybody: a limited run lacks the rest, and its row says so."""
    how = flags(exams.root, {"resamples": "2"})
    archives = {name: tmp_path / f"{name}.zip" for name in matrix if name != "clips"}
    assert {"complete", "limited", "offset", "frames", "prompt"} <= archives.keys()
    for name, archive in archives.items():
        siming("board", "submit", matrix[name], "--name", name, "--out", archive, *how)
    for one, other in (("frames", "prompt"), *(("complete", name) for name in archives if name != "complete")):
        inbox = tmp_path / f"{one}-{other}"
        inbox.mkdir()
        for name in (one, other):
            shutil.copy(archives[name], inbox)
        rows, _ = build_board(inbox, exams, inbox / "board", Options(), progress=False)
        notes = [note for row in rows for note in row.findings]
        by_rule = any("full_score: not comparable with most rows." in note for note in notes)
        limited = {one, other} & {"limited", "offset"}
        assert by_rule is (not together(one, other) and not limited), (one, other, notes)
        for row in rows:
            if row.received.submission.model.name in limited:
                assert "1 settings with missing lines." in row.findings
                assert any("full_score: coverage is claimed as" in note for note in row.findings)


@pytest.mark.host
def test_the_command_of_the_host_says_the_same(host: Any, exams: Dataset, tmp_path: Path) -> None:
    words = ["--model", "siming_reference", "--model_args", "kind=random", "--tasks", "siming_full_score"]
    run = host(*words, "--limit", "3", data=exams.root, SIMING_FRAMES="4")
    (log,) = run.folder.rglob("*_samples_siming_full_score.jsonl")
    told = tell({"run": log.parent}, exams.root, tmp_path / "told", {"resamples": "500"}, part=slice(3))
    agree(told, "run")
    task = run.task("full_score")
    assert disagreements({"host": told.host["run"], "command": {"full_score": task["siming_stderr"]["metrics"]}}) == []
    for metric, estimate in told.score["run"]["full_score"]["metrics"].items():
        assert task[metric] == estimate["value"]
        assert metric == "coverage" or task[f"{metric}_stderr"] == estimate["stderr"]
        (line,) = [line for line in run.output.splitlines() if f"|{metric}" in line.replace(" ", "")]
        assert f"{estimate['value']:.4f}" in line


@pytest.mark.parametrize("cluster", ["video", "student"])
def test_the_host_resamples_the_unit_that_is_named(exams: Dataset, tmp_path: Path, cluster: str) -> None:
    """SIMING_CLUSTER reaches lmms-eval's table as it reaches the score."""
    root = tmp_path / "paired"
    shutil.copytree(exams.root, root)
    rows = [json.loads(line) for line in (root / "videos.jsonl").read_text().splitlines()]
    rows = [{**row, "student": f"s{number // 2}"} for number, row in enumerate(rows)]
    (root / "videos.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    about = yaml.safe_load((root / "dataset.yaml").read_text())
    (root / "dataset.yaml").write_text(yaml.safe_dump({k: v for k, v in about.items() if "digest" not in k}))
    data = open_dataset(root)
    run = write_run(data, tmp_path / "run", "rater_a", settings=("full_score",))
    with loaded(root, tmp_path / "cache", {**PLAIN, "cluster": cluster}):
        found = host_numbers(run)["full_score"]["qwk"]
    assert found["n_clusters"] == {"video": 4, "student": 2}[cluster]
    scored = score_run(read_run(run, data), Options(cluster=cluster)).settings["full_score"]["metrics"]
    assert (found["value"], found["stderr"]) == (scored["qwk"]["value"], scored["qwk"]["stderr"])
