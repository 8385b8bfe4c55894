"""The same number for the same thing: lmms-eval's hooks and every command of ``siming``, over a matrix of runs.

No number is pasted here: one run is scored in every way that there is, and what one says must be what all say, to the
last digit, with its interval, its size and its flags.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.data import Dataset, withhold
from siming_tasks.study.results.discovery import run_at
from tests.records import number_of
from tests.runs import write_run
from tests.study.results.matrix import flags, host_rows, loaded, printed, rewrite, siming, table, told

NAMES = ("full_score", "clip_error")
WHOLE = ("complete", "partial")
"""Runs that were to make every request, of four exams each."""
ASKED = {"limited": slice(3), "offset": slice(1, 3), "clips": slice(70)}
"""Limits of the other runs, in requests of a task: exams, exams, clips of more than two exams."""


def a_run(data: Dataset, folder: Path, seed: int, settings: tuple[str, ...] = NAMES, **how: Any) -> Path:
    """A model's run with some wrong answers and one reply that cannot be read."""
    how = {"kind": "rater_a", "model": f"example/{folder.name}", "noise": 0.4, "replies": {1: "I cannot help."}, **how}
    return write_run(data, folder, settings=settings, seed=seed, **how)


@pytest.fixture(scope="module")
def runs(exams: Dataset, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("matrix")
    made = {name: a_run(exams, root / name, seed) for seed, name in enumerate(WHOLE)}
    rewrite(made["partial"], lambda lines: lines[:-1])
    for seed, (name, part) in enumerate(ASKED.items(), len(WHOLE)):
        config = {"limit": part.stop - (part.start or 0), "offset": part.start}
        made[name] = a_run(exams, root / name, seed, (NAMES[name == "clips"],), config=config)
        rewrite(made[name], lambda lines, part=part: lines[part])
    return made


def agree(
    folder: Path, data: Path, work: Path, options: Mapping[str, str], part: slice = slice(None), **where: Path
) -> dict[str, dict[str, Any]]:
    """Score a run in every way, hold the ways against each other, and return what ``siming score`` says.

    ``where``: ``host``, the host's data set, if it has the labels that the commands are given as a file, ``labels``.
    """
    how = flags(data, options, where.get("labels"))
    with loaded(where.get("host", data), work, options):
        host = host_rows(folder, part)
    found, shown = told("score", folder, *how), printed(folder, how)
    both = told("compare", f"mine={folder}", f"other={folder}", *how)
    one = told("score", "--show", "diagnosis", folder, *how)
    assert host.keys() == found.keys() == both.keys() == one.keys()
    for name, result in found.items():
        rows = table(result, "answered", "all steps") | table(result, "ranked", "all steps")
        for entry in ("rows", "counts", "options"):
            assert host[name][entry] == result[entry], name
        for said, judge in ((both[name], "mine"), (one[name], run_at(folder).name)):
            assert table(said, "answered", judge) | table(said, "ranked", judge) == rows, (name, judge)
        for (kind, metric), each in rows.items():
            if kind == "answered":
                assert shown[name][metric] == ("-" if each["value"] is None else f"{each['value']:.3f}"), metric
    return found


@pytest.mark.parametrize("run", [*WHOLE, *ASKED])
def test_every_way_of_scoring_a_run_says_the_same(
    run: str, runs: dict[str, Path], exams: Dataset, tmp_path: Path
) -> None:
    found = agree(runs[run], exams.root, tmp_path, {}, ASKED.get(run, slice(None)))
    # four exams; every run has one reply to a full video that cannot be read, the partial run lacks one more
    answered = {"partial": 2 / 4, "limited": 2 / 3, "offset": 1 / 2}.get(run, 3 / 4)
    assert "full_score" not in found or number_of(found["full_score"], "coverage").value == answered
    assert run != "clips" or found["clip_error"]["counts"]["asked"] == 70


def test_other_options_are_the_same_for_all(runs: dict[str, Path], exams: Dataset, tmp_path: Path) -> None:
    other = {"mapping": "proportional", "rater": "rater_b"}
    found = agree(runs["complete"], exams.root, tmp_path, other)
    assert found["full_score"]["options"].items() >= other.items()


def test_withheld_labels_give_the_same_numbers_everywhere(exams: Dataset, tmp_path: Path) -> None:
    """Without labels the host states the coverage alone; with them all say what they say of the whole."""
    public, key = tmp_path / "public", tmp_path / "key.json"
    run = a_run(withhold(exams.root, public, key), tmp_path / "run", 1, ("full_score",), kind="all_correct")
    found = agree(run, public, tmp_path / "cache", {}, host=exams.root, labels=key)
    with loaded(public, tmp_path / "cache", {}):
        blind = host_rows(run)["full_score"]
    values = {metric: row["value"] for (_, metric), row in table(blind, "answered", "all steps").items()}
    coverage = number_of(found["full_score"], "coverage").value
    assert values == {**dict.fromkeys(("plcc", "srcc", "qwk")), "coverage": coverage}
    for command in (("score", run), ("compare", f"a={run}", f"b={run}"), ("score", "--show", "diagnosis", run)):
        assert "the labels are withheld" in siming(*command, *flags(public, {}), code=1)


@pytest.mark.host
def test_the_command_of_the_host_says_the_same(host: Any, exams: Dataset, tmp_path: Path) -> None:
    words = ["--model", "siming_reference", "--model_args", "kind=random", "--tasks", "siming_full_score"]
    run = host(*words, "--limit", "3", data=exams.root, SIMING_FRAMES="4")
    (log,) = run.folder.rglob("*_samples_siming_full_score.jsonl")
    result = agree(log.parent, exams.root, tmp_path / "told", {}, slice(3))["full_score"]
    task = run.task("full_score")
    assert task["siming_stderr"]["rows"] == result["rows"]
    for (_, metric), row in table(result, "answered", "all steps").items():
        assert task[metric] == row["value"]
        assert metric == "coverage" or task[f"{metric}_stderr"] == row["stderr"]
        (line,) = [line for line in run.output.splitlines() if f"|{metric}" in line.replace(" ", "")]
        assert f"{row['value']:.4f}" in line
