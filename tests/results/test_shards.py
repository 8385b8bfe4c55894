"""A run in parts, and the parts made one again: the numbers are those of a run made at once."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.cli import main
from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.plugin.hooks.docs import documents
from siming_tasks.plugin.hooks.run_context import RUN
from siming_tasks.results.discovery import RequestSlice, find_runs
from siming_tasks.results.join_shards import join_shards, missing_slices
from siming_tasks.results.lmms_eval_commands import settings_named
from siming_tasks.results.run import read_run, score_run
from siming_tasks.tasks import BENCHMARK_TASKS, TASKS
from siming_tasks.tasks.expected_requests import check_shards, expected_ids
from siming_tasks.tools.board.submission import predictions_of, read_submission
from tests.report.conftest import write_run

OPTIONS = Options(resamples=50)


def names(dataset: Dataset, setting: str) -> list[str]:
    return list(expected_ids(TASKS[setting], dataset.videos))


def cut(whole: Path, target: Path, share: str) -> Path:
    """The shard of a run: its part of every log and a results file that says so."""
    target.mkdir(parents=True)
    number, of = map(int, share.split("/"))
    for log in whole.glob("*_samples_*.jsonl"):
        lines = log.read_text().splitlines(keepends=True)
        (target / log.name).write_text("".join(lines[(number - 1) * len(lines) // of : number * len(lines) // of]))
    (file,) = whole.glob("*_results.json")
    results = json.loads(file.read_text())
    for facts in results["configs"].values():
        facts["metadata"]["shard"] = share
    (target / file.name).write_text(json.dumps(results))
    return target


@pytest.fixture
def parts(exams: Dataset, tmp_path: Path) -> tuple[Path, list[Path]]:
    """A whole noisy run, and the same in three shards."""
    whole = write_run(exams, tmp_path / "whole", "rater_a", model="org/Model", noise=0.4)
    return whole, [cut(whole, tmp_path / "shards" / str(number), f"{number}/3") for number in (1, 2, 3)]


def scores(dataset: Dataset, folder: Path) -> Any:
    found = score_run(read_run(folder, dataset), OPTIONS).to_json()
    return found["settings"]


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_shards_ask_every_request_once(exams: Dataset, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The documents that lmms-eval gets, of every shard."""
    for name in ("clip_score", "clip_error", "full_score", "full_timed_error"):
        asked = []
        for index in range(1, number + 1):
            monkeypatch.setenv("SIMING_SHARD", f"{index}/{number}")
            RUN.begin()
            asked.append([row["id"] for row in documents(TASKS[name], exams)])
        assert [one for shard in asked for one in shard] == names(exams, name)
        assert max(map(len, asked)) - min(map(len, asked)) <= 1


def test_a_shard_that_would_be_empty_or_cut_an_exam_is_refused(exams: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionsError, match=r"5 shards of the 4 requests of siming_full_score: some would be empty\."):
        check_shards(exams.videos, settings_named(["siming_full"]), 5)
    with pytest.raises(OptionsError, match=r"'siming_nothing' is no task and no group\. The nearest: siming_"):
        settings_named(["siming_nothing"])
    monkeypatch.setenv("SIMING_SHARD", "1/50")
    RUN.begin()
    with pytest.raises(OptionsError, match="SIMING_SHARD=1/50 of the 4 requests of siming_full_score is empty"):
        documents(TASKS["full_score"], exams)
    monkeypatch.setenv("SIMING_ASK", "skill")
    RUN.begin()
    with pytest.raises(OptionsError, match="Shards are made of whole exams"):
        documents(TASKS["full_score"], exams)


def test_the_joined_run_is_the_whole_run(exams: Dataset, parts: tuple[Path, list[Path]], tmp_path: Path) -> None:
    whole, shards_ = parts
    joined = join_shards(find_runs(list(map(str, shards_))), exams, tmp_path / "out" / "joined")
    assert joined.requests == {name: len(names(exams, name)) for name in BENCHMARK_TASKS} and not joined.missing
    (source,) = find_runs([str(joined.folder)])
    assert source.name == "org/Model" and not source.limited
    assert scores(exams, joined.folder) == scores(exams, whole)
    for log in whole.glob("*_samples_*.jsonl"):
        (mine,) = joined.folder.glob(f"*{log.name.partition('_samples_')[2]}")
        assert sorted(mine.read_text().splitlines()) == sorted(log.read_text().splitlines())
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["joined"]


def test_report_compare_and_submit_take_a_joined_run(
    exams: Dataset, parts: tuple[Path, list[Path]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, folders = parts
    out = tmp_path / "joined"
    assert main(["run", "join", *map(str, folders), str(out), "--data", str(exams.root)]) == 0
    assert "3 shards of siming-demo SYNTHETIC joined in" in capsys.readouterr().out
    data = ["--data", str(exams.root), "--resamples", "20"]
    assert main(["compare", str(whole), str(out), *data]) == 0
    assert "0.000" in capsys.readouterr().out
    assert main(["report", str(out), "--out", str(tmp_path / "report"), "--video-files", "none", *data]) == 0
    assert (tmp_path / "report" / "index.html").is_file()


def test_the_leaderboard_takes_a_joined_run(
    exams: Dataset, parts: tuple[Path, list[Path]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The joined run packs, passes the receiver's check, gets the whole run's row, and is verified by the whole run."""
    whole, folders = parts
    data = ["--data", str(exams.root), "--resamples", "20"]
    out, inbox = tmp_path / "joined", tmp_path / "inbox"
    inbox.mkdir()
    assert main(["run", "join", *map(str, folders), str(out), "--data", str(exams.root)]) == 0
    found = {}
    for name, run in (("joined", out), ("whole", whole)):
        assert main(["board", "submit", str(run), "--out", str(inbox / f"{name}.zip"), *data]) == 0
        assert main(["board", "submit", "--check", str(inbox / f"{name}.zip"), *data]) == 0
        received = read_submission(inbox / f"{name}.zip")
        records = predictions_of(received, exams).records
        found[name] = {key: sorted((r["id"], str(r["answers"]), r["status"]) for r in records[key]) for key in records}
    asked = sum(len(names(exams, name)) for name in BENCHMARK_TASKS)
    assert f"joined.zip: ready. org/Model, {asked:,} predictions on {exams.name}." in capsys.readouterr().out
    assert found["joined"] == found["whole"] and sum(map(len, found["joined"].values())) == asked
    reruns = tmp_path / "reruns" / "joined"
    reruns.parent.mkdir()
    shutil.copytree(whole, reruns)
    assert (
        main(["board", "build", str(inbox), "--out", str(tmp_path / "board"), "--reruns", str(reruns.parent), *data])
        == 0
    )
    assert "1 verified, 1 community rows." in capsys.readouterr().out
    assert "org/Model" in (tmp_path / "board" / "index.html").read_text()
    part = tmp_path / "part"
    assert main(["run", "join", *map(str, folders[:2]), str(part), "--partial", "--data", str(exams.root)]) == 0
    assert main(["board", "submit", str(part), "--out", str(tmp_path / "part.zip"), *data]) == 0
    size = len(names(exams, "clip_score"))  # what is missing stays missing, and is said
    assert f"clip_score: {size - 2 * size // 3} of {size} requests have no line" in capsys.readouterr().err


def test_a_missing_shard_is_refused_and_named(
    exams: Dataset, parts: tuple[Path, list[Path]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, (first, _, last) = parts
    size = len(names(exams, "clip_score"))
    begin, end = size // 3, 2 * size // 3
    with pytest.raises(DataError) as caught:
        join_shards(find_runs([str(first), str(last)]), exams, tmp_path / "out")
    assert [problem.code for problem in caught.value.problems] == ["shard-missing"] * 4
    assert f"{end - begin} of {size} requests of siming_clip_score are in no shard" in str(caught.value)
    assert f"(--offset {begin} --limit {end - begin})" in str(caught.value)
    assert not (tmp_path / "out").exists()
    arguments = ["run", "join", str(first), str(last), str(tmp_path / "out"), "--data", str(exams.root)]
    assert main(arguments) == 1
    assert main([*arguments, "--partial"]) == 0
    said = capsys.readouterr().out
    assert (
        f"siming_clip_error: {size - end + begin} requests; MISSING {end - begin}: documents {begin}-{end - 1}" in said
    )
    run = read_run(tmp_path / "out", exams)
    assert run.source.limited and len(run.asked("clip_score")) == size - end + begin


def test_what_is_no_shard_of_the_same_run_is_refused(
    exams: Dataset, parts: tuple[Path, list[Path]], tmp_path: Path
) -> None:
    _, folders = parts
    other = write_run(exams, tmp_path / "other", "rater_b", model="org/Model", noise=0.9, seed=5)
    with pytest.raises(DataError, match=r"stands in .* already, with another answer"):
        join_shards(find_runs([str(folders[0]), str(other)]), exams, tmp_path / "a", partial=True)
    judge = write_run(exams, tmp_path / "judge", "oracle")
    with pytest.raises(DataError, match=r"model is 'siming_reference', but 'qwen2_5_vl' in .* no shards of one run"):
        join_shards(find_runs([*map(str, folders), str(judge)]), exams, tmp_path / "b")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "file").touch()
    with pytest.raises(DataError, match=r"exists"):
        join_shards(find_runs(list(map(str, folders))), exams, tmp_path / "c")


def test_an_answer_takes_the_place_of_a_failed_request(
    exams: Dataset, parts: tuple[Path, list[Path]], tmp_path: Path
) -> None:
    whole, folders = parts
    (log,) = folders[1].glob("*_samples_siming_clip_score.jsonl")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    again = tmp_path / "again"
    again.mkdir()
    (again / log.name).write_text(json.dumps(lines[2]) + "\n")
    (results,) = folders[1].glob("*_results.json")
    (again / results.name).write_text(results.read_text())
    lines[2]["siming_stderr"] |= {"status": "request_failed", "answers": {}, "missing": {}}
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    joined = join_shards(find_runs([*map(str, folders), str(again)]), exams, tmp_path / "out")
    assert scores(exams, joined.folder) == scores(exams, whole)


def states(log: Path, status: str, *rows: int) -> None:
    """Give these lines of a log a status, without answers."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for row in rows:
        lines[row]["siming_stderr"] |= {"status": status, "answers": {}, "missing": {}}
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize("status", ["request_failed", "empty", "truncated"])
def test_what_the_same_command_asks_again_is_missing(
    exams: Dataset, parts: tuple[Path, list[Path]], capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, status: str,
) -> None:  # fmt: skip
    """The first two requests of a shard; asked again, their answers take the place of what was there."""
    whole, folders = parts
    (log,) = folders[1].glob("*_samples_siming_clip_score.jsonl")
    shutil.copy(log, again := folders[1] / f"29990101_{log.name}")
    states(log, status, 0, 1)
    monkeypatch.setenv("SIMING_SHARD", "2/3")
    command = ["run", "missing", str(folders[1]), "--tasks", "siming_clip_score", "--data", str(exams.root)]
    assert main(command) == 0, "asked again, and answered"
    again.rename(tmp_path / "later")
    capsys.readouterr()
    assert main(command) == 1
    every = names(exams, "clip_score")
    first = len(every) // 3
    said = capsys.readouterr().out
    assert f"2 missing: {every[first]} ({status}), {every[first + 1]} ({status})\n" in said
    (tmp_path / "later").rename(again)
    joined = join_shards(find_runs(list(map(str, folders))), exams, tmp_path / "out")
    assert scores(exams, joined.folder) == scores(exams, whole)


def test_missing_refuses_a_shard_of_too_few_requests_and_unknown_tasks(
    exams: Dataset, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    command = ["run", "missing", str(tmp_path), "--data", str(exams.root), "--tasks"]
    monkeypatch.setenv("SIMING_SHARD", "1/5")
    assert main([*command, "siming_full_score"]) == 2
    assert "5 shards of the 4 requests of siming_full_score: some would be empty" in capsys.readouterr().err
    assert main([*command, "siming_clip_scor"]) == 2
    said = capsys.readouterr().err
    assert "'siming_clip_scor' is no task and no group. The nearest: siming_clip_score, " in said and len(said) < 250


def test_missing_requests_become_slices(exams: Dataset) -> None:
    every = names(exams, "clip_score")
    assert missing_slices("clip_score", exams, every) == ()
    assert missing_slices("clip_score", exams, every[2:5] + every[6:]) == (RequestSlice(0, 2), RequestSlice(5, 1))


def test_run_shards_prints_commands_and_a_script(
    exams: Dataset, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    arguments = [
        "run", "shards", "3", "--tasks", "siming", "--data", str(exams.root), "--model", "qwen2_5_vl", "--frames", "8",
        "--model_args", "pretrained=a b", "--more", "--batch_size 1", "--out", str(tmp_path),
    ]  # fmt: skip
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    commands = [shlex.split(line) for line in lines if "lmms-eval" in line]
    assert len(commands) == 3 and lines[-1].startswith("siming run join ")
    words = commands[-1]
    assert {f"SIMING_DATA={exams.root}", "SIMING_FRAMES=8", "SIMING_SHARD=3/3"} <= set(words)
    assert words[words.index("--tasks") + 1] == ",".join(TASKS[name].task_name for name in BENCHMARK_TASKS)
    assert "pretrained=a b" in words and not {"--offset", "--limit"} & set(words)
    assert words[-2:] == ["--batch_size", "1"] and f"{tmp_path}/shard-3-of-3" in words


def test_a_requeued_shard_asks_what_is_missing_and_says_what_is_left(
    exams: Dataset, parts: tuple[Path, list[Path]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The array script with the real ``siming``; a stand-in for lmms-eval writes what the shard's run wrote."""
    _, folders = parts
    runs = tmp_path / "runs"
    arguments = ["run", "shards", "3", "--tasks", "siming", "--data", str(exams.root), "--model", "m", "--slurm"]
    assert main([*arguments, "--out", str(runs)]) == 0
    script = tmp_path / "run.sh"
    script.write_text(capsys.readouterr().out)
    assert "#SBATCH --array=1-3\n" in script.read_text() and "#SBATCH --requeue\n" in script.read_text()
    (tmp_path / "bin").mkdir()
    host = tmp_path / "bin" / "lmms-eval"
    path = f"{tmp_path / 'bin'}:{Path(sys.executable).parent}:/usr/bin:/bin"
    env = {**os.environ, "PATH": path, "SLURM_ARRAY_TASK_ID": "2"}

    def submit(copied: str) -> subprocess.CompletedProcess[str]:
        lines = ["#!/bin/bash", f'echo "$SIMING_SHARD $*" >> {tmp_path}/called']
        host.write_text("\n".join([*lines, f"cp {folders[1]}/{copied} {runs}/shard-2-of-3/" if copied else ""]))
        host.chmod(0o755)
        return subprocess.run(["bash", str(script)], env=env, check=False, text=True, capture_output=True)

    crashed = submit("")  # exits 0 and leaves nothing, as lmms-eval does after a crash
    assert crashed.returncode == 1 and "siming_full_score: 0 of 1 requests answered; 1 missing: full" in crashed.stdout
    half = submit("*_samples_siming_full*")  # killed before the clips were written: two files are there
    size = 2 * len(names(exams, "clip_score")) // 3 - len(names(exams, "clip_score")) // 3
    assert half.returncode == 1 and f"siming_clip_error: 0 of {size} requests answered" in half.stdout
    assert "siming_full_score: 1 of 1 requests answered\n" in half.stdout
    assert submit("*").returncode == 0
    assert submit("*").returncode == 0  # requeued once more: nothing is left, and the model is not loaded
    states(next((runs / "shard-2-of-3").glob("*_samples_siming_full_score.jsonl")), "request_failed", 0)
    env["SLURM_RESTART_COUNT"] = "5"
    given_up = submit("*")
    assert given_up.returncode == 1 and "Queued again 5 times: nothing more is asked." in given_up.stdout
    assert "siming_full_score: 0 of 1 requests answered; 1 missing: full_score/" in given_up.stdout
    called = (tmp_path / "called").read_text().splitlines()
    assert len(called) == 3 and all(line.startswith("2/3 --model m --tasks siming_full_score") for line in called)


@pytest.mark.host
def test_shards_of_the_real_command_join_to_its_whole_run(
    host: Callable[..., Any], exams: Dataset, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The printed commands, run; what is joined scores, and states in its results file, what one command gives."""
    assert main([
        "run", "shards", "3", "--tasks", "siming_full_score,siming_clip_error", "--data", str(exams.root),
        "--model", "siming_reference", "--model_args", "kind=rater_b", "--out", str(tmp_path),
    ]) == 0  # fmt: skip
    folders = []
    for number, line in enumerate(line for line in capsys.readouterr().out.splitlines() if "lmms-eval" in line):
        words = shlex.split(line)
        flags = words[words.index("lmms-eval") + 1 : words.index("--log_samples")]
        env = dict(word.split("=", 1) for word in words[: words.index("lmms-eval")])
        folders.append(host(*flags, data=exams.root, name=f"shard{number}", **env).folder)
        logged = {log.stem.rpartition("_siming_")[2]: log for log in folders[-1].rglob("*_samples_*.jsonl")}
        asked = [json.loads(line)["siming_stderr"]["id"] for line in logged["full_score"].read_text().splitlines()]
        assert asked == names(exams, "full_score")[number : number + 1 + number // 2]  # 1, 1 and 2 of 4
        assert read_run(folders[-1], exams).asked("full_score") == frozenset(asked)
    whole = host(*flags, data=exams.root, name="whole")
    out = tmp_path / "joined"
    assert main(["run", "join", *map(str, folders), str(out), "--data", str(exams.root)]) == 0
    assert scores(exams, out) == scores(exams, whole.folder)
    (file,) = out.rglob("*_results.json")
    mine, its = json.loads(file.read_text())["results"], whole.results()["results"]
    assert mine.keys() == its.keys() == {"siming_full_score", "siming_clip_error"} and mine == its
