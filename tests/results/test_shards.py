"""A run in parts, and the parts made one again: the numbers are those of a run made at once."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.cli import main
from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.results.discovery import RequestSlice, find_runs
from siming_tasks.results.join_shards import join_shards, missing_slices
from siming_tasks.results.lmms_eval_commands import settings_named, shards
from siming_tasks.results.run import read_run, score_run
from siming_tasks.tasks import BENCHMARK_TASKS, TASKS
from siming_tasks.tasks.expected_requests import expected_ids, expected_requests
from siming_tasks.tools.board.submission import predictions_of, read_submission
from tests.report.conftest import write_run

OPTIONS = Options(resamples=50)


def names(dataset: Dataset, setting: str) -> list[str]:
    return list(expected_ids(TASKS[setting], dataset.videos))


def cut(whole: Path, target: Path, part: RequestSlice, tasks: tuple[str, ...]) -> Path:
    """The shard of a run: its slice of the logs and a results file that says so."""
    target.mkdir(parents=True, exist_ok=True)
    end = None if part.limit is None else part.offset + int(part.limit)
    for task in tasks:
        (log,) = whole.glob(f"*_samples_{task}.jsonl")
        (target / log.name).write_text("".join(log.read_text().splitlines(keepends=True)[part.offset : end]))
    (file,) = whole.glob("*_results.json")
    results = json.loads(file.read_text())
    results["config"] |= {"offset": part.offset, "limit": part.limit}
    results["configs"] = {task: results["configs"][task] for task in tasks}
    (target / f"{part.offset:04d}_{tasks[0]}_results.json").write_text(json.dumps(results))
    return target


@pytest.fixture
def parts(exams: Dataset, tmp_path: Path) -> tuple[Path, list[Path]]:
    """A whole noisy run, and the same in three shards."""
    whole = write_run(exams, tmp_path / "whole", "rater_a", model="org/Model", noise=0.4)
    found = []
    for number, shard in enumerate(shards(exams, [TASKS[name] for name in BENCHMARK_TASKS], 3)):
        for part in shard:
            cut(whole, tmp_path / "shards" / str(number), part.slice, part.tasks)
        found.append(tmp_path / "shards" / str(number))
    return whole, found


def scores(dataset: Dataset, folder: Path) -> Any:
    found = score_run(read_run(folder, dataset), OPTIONS).to_json()
    return found["settings"]


@pytest.mark.parametrize("number", [1, 2, 3, 7, 50])
def test_shards_ask_every_request_once(exams: Dataset, number: int) -> None:
    settings = settings_named(["siming", "siming_timed"])
    found = shards(exams, settings_named(["siming_clip"]) if number > 4 else settings, number)
    assert len(found) == number
    for name in ("clip_score", "clip_error", *(("full_score", "full_timed_error") if number < 5 else ())):
        every, asked = names(exams, name), []
        for shard in found:
            mine = [part.slice for part in shard if TASKS[name].task_name in part.tasks]
            assert len(mine) == 1
            asked.append(every[mine[0].offset : mine[0].offset + int(mine[0].limit or 0)])
        assert [one for shard in asked for one in shard] == every
        assert max(map(len, asked)) - min(map(len, asked)) <= 1


def test_more_shards_than_requests_are_refused(exams: Dataset) -> None:
    with pytest.raises(OptionsError, match=r"5 shards of at most 4 requests: some would be empty\."):
        shards(exams, settings_named(["siming_full"]), 5)
    with pytest.raises(OptionsError, match="'siming_nothing' is none of siming, siming_full"):
        settings_named(["siming_nothing"])


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
    with pytest.raises(DataError, match=r"exists\. Give a new folder."):
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
    (results,) = folders[1].glob("*clip*_results.json")
    (again / results.name).write_text(results.read_text())
    lines[2]["siming_stderr"] |= {"status": "request_failed", "answers": {}, "missing": {}}
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    joined = join_shards(find_runs([*map(str, folders), str(again)]), exams, tmp_path / "out")
    assert scores(exams, joined.folder) == scores(exams, whole)


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
    assert len(commands) == 6 and lines[-1].startswith("siming run join ")
    words = commands[-1]
    assert f"SIMING_DATA={exams.root}" in words and "SIMING_FRAMES=8" in words
    size = len(expected_requests(TASKS["clip_score"], exams.videos))
    options = dict(
        zip(words[words.index("lmms-eval") + 1 :: 2], words[words.index("lmms-eval") + 2 :: 2], strict=False)
    )
    assert options["--offset"] == str(2 * size // 3) and options["--limit"] == str(size - 2 * size // 3)
    assert options["--tasks"] == "siming_clip_score,siming_clip_error" and options["--model_args"] == "pretrained=a b"
    assert words[-2:] == ["--batch_size", "1"] and f"{tmp_path}/shard-3-of-3" in words
    assert main([*arguments, "--slurm"]) == 0
    script = tmp_path / "run.sh"
    script.write_text(capsys.readouterr().out)
    assert "#SBATCH --array=0-2" in script.read_text()
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin" / "lmms-eval"  # leaves results, as a run that went well does
    folder = tmp_path / "shard-2-of-3"
    write = f'echo "$SIMING_FRAMES $*" >> {tmp_path}/called; mkdir -p {folder}; touch {folder}/${{RANDOM}}_results.json'
    fake.write_text(f"#!/bin/bash\n{write}\n")
    fake.chmod(0o755)
    env = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "SLURM_ARRAY_TASK_ID": "1"}
    assert subprocess.run(["bash", str(script)], env=env, check=False).returncode == 0
    called = (tmp_path / "called").read_text().splitlines()
    assert len(called) == 2 and all(line.startswith("8 --model qwen2_5_vl") for line in called)
    fake.write_text("#!/bin/bash\n")  # exits 0 and leaves nothing, as lmms-eval does after a crash
    crashed = subprocess.run(["bash", str(script)], env={**env, "SLURM_ARRAY_TASK_ID": "2"}, check=False, text=True,
                             stderr=subprocess.PIPE)  # fmt: skip
    assert crashed.returncode == 1 and "shard 2: results are missing" in crashed.stderr


@pytest.mark.host
def test_shards_of_the_real_command_join_to_its_whole_run(
    host: Callable[..., Any], exams: Dataset, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The printed commands, run; what is joined scores, and states in its results file, what one command gives."""
    assert main([
        "run", "shards", "3", "--tasks", "siming_full_score", "--data", str(exams.root), "--model", "siming_reference",
        "--model_args", "kind=rater_b", "--out", str(tmp_path),
    ]) == 0  # fmt: skip
    folders = []
    for number, line in enumerate(line for line in capsys.readouterr().out.splitlines() if "lmms-eval" in line):
        words = shlex.split(line)
        flags = words[words.index("lmms-eval") + 1 : words.index("--log_samples")]
        folders.append(host(*flags, data=exams.root, name=f"shard{number}").folder)
    whole = host(
        "--model", "siming_reference", "--model_args", "kind=rater_b", "--tasks", "siming_full_score", data=exams.root
    )
    out = tmp_path / "joined"
    assert main(["run", "join", *map(str, folders), str(out), "--data", str(exams.root)]) == 0
    assert scores(exams, out) == scores(exams, whole.folder)
    (file,) = out.rglob("*_results.json")
    mine, its = json.loads(file.read_text())["results"], whole.results()["results"]
    assert mine.keys() == its.keys() and mine["siming_full_score"] == its["siming_full_score"]
