"""A run in parts, read as one: the numbers are those of a run made at once, and what does not fit is refused."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.benchmark.tasks.expected_requests import expected_ids
from siming_tasks.cli import main
from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.data import Dataset
from siming_tasks.plugin.hooks.docs import documents
from siming_tasks.plugin.run_context import current_run
from siming_tasks.study.results.discovery import find_runs, run_at
from siming_tasks.study.results.lmms_eval_commands import settings_named
from siming_tasks.study.results.run import read_run, score_run
from tests.records import change_rows
from tests.runs import unanswered, write_run


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


def scores(dataset: Dataset, *folders: Path) -> Any:
    found = score_run(read_run(list(folders), dataset)).to_json()
    return found["settings"]


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_shards_ask_every_request_once(exams: Dataset, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The documents that lmms-eval gets, of every shard."""
    monkeypatch.setenv("SIMING_DATA", str(exams.root))
    for name in ("clip_score", "clip_error", "full_score", "full_timed_error"):
        asked = []
        for index in range(1, number + 1):
            monkeypatch.setenv("SIMING_SHARD", f"{index}/{number}")
            asked.append([row["id"] for row in documents(TASKS[name], current_run())])
        assert [one for shard in asked for one in shard] == names(exams, name)
        assert max(map(len, asked)) - min(map(len, asked)) <= 1


def test_a_shard_that_would_be_empty_or_cut_an_exam_is_refused(exams: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionsError, match=r"'siming_nothing' is not a task or group\. The nearest: siming_"):
        settings_named(["siming_nothing"])
    monkeypatch.setenv("SIMING_DATA", str(exams.root))
    monkeypatch.setenv("SIMING_SHARD", "1/50")
    with pytest.raises(OptionsError, match="SIMING_SHARD=1/50 of 4 requests of siming_full_score is empty"):
        documents(TASKS["full_score"], current_run())
    monkeypatch.setenv("SIMING_ASK", "skill")
    with pytest.raises(OptionsError, match="A shard consists of whole exams"):
        documents(TASKS["full_score"], current_run())


def test_parts_are_the_whole_run_in_several_folders_and_in_one(
    exams: Dataset, parts: tuple[Path, list[Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    whole, folders = parts
    assert scores(exams, *folders) == scores(exams, folders[0].parent) == scores(exams, whole)
    assert read_run(folders, exams).problems == read_run(whole, exams).problems == ()
    source = run_at(folders)
    assert source.name == "org/Model" and source.paths == tuple(folders)
    assert not any("shard" in facts for facts in source.facts["tasks"].values())
    assert not any("shard" in facts for facts in run_at(folders[:2]).facts["tasks"].values())
    (found,), (named,) = find_runs([str(folders[0].parent)]), find_runs([f"ours={folder}" for folder in folders])
    assert (found.paths, named.paths, named.name) == (tuple(folders), tuple(folders), "ours")
    assert len(find_runs([*map(str, folders)])) == 3, "apart they are runs of their own"
    printed = []
    for words in ([whole], folders, [folders[0].parent]):
        assert main(["score", *map(str, words), "--data", str(exams.root)]) == 0
        printed.append(capsys.readouterr().out)
    assert len(set(printed)) == 1
    assert main(["compare", str(whole), str(folders[0].parent), "--data", str(exams.root)]) == 0
    assert re.search(r"\((.*)\) and org/Model \(1\) \(\1\) give the same answers", capsys.readouterr().out)


def test_what_a_run_lacks_is_counted(
    exams: Dataset, parts: tuple[Path, list[Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    _, (first, _, last) = parts
    every = names(exams, "clip_score")
    begin, end = len(every) // 3, 2 * len(every) // 3
    there = len(every) - end + begin
    run = read_run([first, last], exams)
    assert len(run.asked("clip_score")) == len(run.records["clip_score"]) == there
    words = ["score", "--show", "missing", str(first), str(last), "--tasks", "siming_clip_score"]
    assert main([*words, "--data", str(exams.root)]) == 1
    said = capsys.readouterr().out
    assert f"{there} of {len(every)} requests with a reply; {end - begin} missing: {every[begin]}" in said
    (log,) = first.glob("*_samples_siming_clip_score.jsonl")
    log.write_text("".join(log.read_text().splitlines(keepends=True)[1:]))
    (problem,) = read_run([first, last], exams).problems
    assert problem.code == "prediction-missing" and problem.what.startswith("no line for 1 of ")


def changed(folder: Path, target: Path, name: str, value: object) -> Path:
    """A part whose results file states another fact of its run or, ``siming_*`` and ``shard``, of a task."""
    shutil.copytree(folder, target)
    (file,) = target.glob("*_results.json")
    results = json.loads(file.read_text())
    facts = results["configs"]["siming_clip_score"]["metadata"] if "siming" in name else results["config"]
    facts[name] = value
    file.write_text(json.dumps(results))
    return target


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("model", "other", "class of the model is 'other', but 'qwen2_5_vl'"),
        ("model_args", "pretrained=org/Model,system_prompt=Be kind", "system_prompt of the model is '***', but None"),
        ("resolved_cli_args", {"system_instruction": "Be kind"}, "system_instruction of the model is 'Be kind'"),
        ("siming_prompt", "3-A other", "prompt of siming_clip_score is '3-A other'"),
        ("siming_options", '{"frames": 32}', "frames of siming_clip_score is 32, but "),
    ],
)
def test_parts_that_were_asked_otherwise_are_refused_by_the_fact(
    exams: Dataset, parts: tuple[Path, list[Path]], tmp_path: Path, name: str, value: object, said: str
) -> None:
    _, folders = parts
    other = changed(folders[2], tmp_path / "other", name, value)
    with pytest.raises(DataError, match="not parts of one run") as refused:
        read_run([*folders[:2], other], exams)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("model_version", "model_version of the model is 'other', but 'one' in "),
        ("system_prompt", "system_prompt of the model differs from /"),  # neither is shown
    ],
)
def test_two_models_are_refused_by_what_may_be_named(
    exams: Dataset, parts: tuple[Path, list[Path]], tmp_path: Path, argument: str, said: str
) -> None:
    one, other = (
        changed(folder, tmp_path / name, "model_args", f"{argument}={name}")
        for folder, name in zip(parts[1], ("one", "other"), strict=False)
    )
    for folder in (one, other):
        (file,) = folder.rglob("*_results.json")
        file.write_text(json.dumps(json.loads(file.read_text()) | {"model_name": folder.name}))
    with pytest.raises(DataError, match="not parts of one run") as refused:
        read_run([one, other], exams)
    assert said in str(refused.value)


def test_repeats_are_of_one_judge(
    exams: Dataset, parts: tuple[Path, list[Path]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Runs that repeat one judge may differ in the seed and in how requests travel."""
    whole, _ = parts
    one = changed(whole, tmp_path / "one", "model_args", "pretrained=org/Model,seed=1,timeout=9")
    two = changed(whole, tmp_path / "two", "model_args", "pretrained=org/Model,seed=2")
    other = changed(whole, tmp_path / "other", "model_args", "pretrained=org/Other,seed=1")
    words = ["--repeated", "--data", str(exams.root)]
    for flags in ([], ["--json"]):
        assert main(["compare", str(one), str(two), *words, *flags]) == 0
        capsys.readouterr()
        assert main(["compare", str(one), str(other), *words, *flags]) == 1
        said = capsys.readouterr()
        assert not said.out and "pretrained of the model is 'org/Other', but 'org/Model' in " in said.err
        assert "They do not repeat one judge: compare them without --repeated." in said.err
    files = []
    for name in ("m-1", "m-2"):  # without results files, the records name the model
        (log,) = one.glob("*_samples_siming_clip_score.jsonl")
        files.append(shutil.copy(log, tmp_path / f"{name}_{log.name}"))
        change_rows(files[-1], lambda lines, name=name: [
            line["siming_stderr"].update(usage={"model": name}) for line in lines])  # fmt: skip
    assert main(["compare", *map(str, files), *words, "--partial"]) == 1
    assert "The runs are of different models (m-1, m-2). They do not repeat" in capsys.readouterr().err
    again = shutil.copy(files[0], tmp_path / f"again_{log.name}")
    assert main(["compare", str(files[0]), str(again), *words, "--partial"]) == 0
    capsys.readouterr()


def test_an_address_and_how_requests_travel_may_differ(
    exams: Dataset, parts: tuple[Path, list[Path]], tmp_path: Path
) -> None:
    whole, folders = parts
    arguments = "pretrained=m,base_url=http://node{0}:8000,timeout={0}"
    made = [changed(folder, tmp_path / str(n), "model_args", arguments.format(n)) for n, folder in enumerate(folders)]
    assert scores(exams, *made) == scores(exams, whole)


def test_parts_with_two_answers_or_other_frames_of_one_task_are_refused(
    exams: Dataset, parts: tuple[Path, list[Path]], tmp_path: Path
) -> None:
    _, folders = parts
    other = write_run(exams, tmp_path / "other", "rater_b", model="org/Model", noise=0.9, seed=5)
    with pytest.raises(DataError, match=r"is already in .*, with a different answer"):
        read_run([folders[0], other], exams)
    for folder, size in zip(folders, (896, 896, 448), strict=True):
        (log,) = folder.glob("*_samples_siming_clip_score.jsonl")
        change_rows(log, lambda lines, size=size: [line["siming_stderr"]["media"].update(size=size) for line in lines])
    with pytest.raises(DataError, match=r"parts of the run differ in frame size \(448, 896\)"):
        read_run(folders, exams)


def test_what_the_same_command_asks_again_is_missing(
    exams: Dataset, parts: tuple[Path, list[Path]], capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    """The first two requests of a shard; asked again, their answers take the place of what was there."""
    whole, folders = parts
    (log,) = folders[1].glob("*_samples_siming_clip_score.jsonl")
    shutil.copy(log, again := folders[1] / f"29990101_{log.name}")
    unanswered(log, (0, 1), "empty")
    monkeypatch.setenv("SIMING_SHARD", "2/3")
    command = ["score", "--show", "missing", str(folders[1]), "--tasks", "siming_clip_score", "--data", str(exams.root)]
    assert main(command) == 0, "asked again, and answered"
    assert scores(exams, *folders) == scores(exams, whole)
    again.unlink()
    capsys.readouterr()
    assert main(command) == 1
    one, two = names(exams, "clip_score")[(first := len(names(exams, "clip_score")) // 3) : first + 2]
    assert f"2 missing: {one} (empty), {two} (empty)\n" in capsys.readouterr().out


def test_missing_requests_are_named(exams: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Failed, empty and absent."""
    run = write_run(exams, tmp_path / "m", model="m", settings=("full_score", "clip_error"))
    clips, full = (run / f"20260102_030405_samples_siming_{name}.jsonl" for name in ("clip_error", "full_score"))
    unanswered(clips, (20, 7, 5))
    unanswered(full, (3,), "empty")
    gone = names(exams, "clip_error")[6]
    clips.write_text("".join(line for line in clips.read_text().splitlines(True) if f'"{gone}"' not in line))
    assert main(["score", "--show", "missing", str(run), "--data", str(exams.root), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["missing"]
    expected = [(names(exams, "full_score")[3], "empty")]
    expected += [(names(exams, "clip_error")[n], "" if n == 6 else "request_failed") for n in (5, 6, 7, 20)]
    assert [(one["id"], one["status"]) for one in found] == expected


@pytest.mark.host
@pytest.mark.weekly
def test_shards_of_the_real_command_are_its_whole_run(host: Callable[..., Any], exams: Dataset) -> None:
    """What the shards' folders give together is what one command gives."""
    tasks = "siming_full_score,siming_clip_error"
    flags = ["--model", "siming_reference", "--model_args", "kind=rater_b", "--tasks", tasks]
    folders = []
    for number in range(3):
        run = host(*flags, data=exams.root, name=f"shard{number}", SIMING_SHARD=f"{number + 1}/3")
        folders.append(run.folder)
        logged = {log.stem.rpartition("_siming_")[2]: log for log in run.folder.rglob("*_samples_*.jsonl")}
        asked = [json.loads(line)["siming_stderr"]["id"] for line in logged["full_score"].read_text().splitlines()]
        assert asked == names(exams, "full_score")[number : number + 1 + number // 2]  # 1, 1 and 2 of 4
        assert read_run(run.folder, exams).asked("full_score") == frozenset(asked)
    whole = host(*flags, data=exams.root, name="whole")
    assert scores(exams, *folders) == scores(exams, whole.folder)
