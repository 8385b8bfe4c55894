"""Files of version 0.1 are read, and give the numbers that version 0.1 gave, to twelve digits."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import siming_tasks as st
from siming_tasks.cli import main
from siming_tasks.common.errors import RubricError
from siming_tasks.common.version_0_1 import (
    cache_key_facts,
    former_ablation_file,
    former_rubric,
    present_name,
    translate_results,
)
from siming_tasks.data.digest import content_digest
from siming_tasks.plugin.response_cache.store import ReplyStore
from siming_tasks.results.discovery import run_at
from siming_tasks.rubrics import load_rubric, rubric_from
from tests.landed.conftest import HERE, numbers

COMMANDS = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))["commands"]
GROUPS = {"raters": "study", "check": "data", "diagnose": "study", "submit": "board"}
"""Present group of the commands that version 0.1 had at the top."""
CHANGED = {
    "run-abstain": r".*_abstain\.(?:imputed|imputed_per_skill)\b.*",  # an abstention ranks as any missing answer
    "diagnose-probes": r".*\.steps\.rows\[[0-9]+\]\.human",  # of all pairs of physicians, not the first
}
"""Numbers that are others on purpose, by command."""
WORDS = {"filled": "imputed", "blind": "no_video"}


@pytest.fixture
def siming(landed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[str], str]:
    """Runs a command of version 0.1 under its present name in the folder of the files; its output."""
    monkeypatch.chdir(landed)
    monkeypatch.setenv("SIMING_RESAMPLES", "200")
    monkeypatch.setenv("SIMING_CACHE", str(landed / "other-cache"))

    def run(command: str) -> str:
        words = shlex.split(command)[1:]
        assert main([*([GROUPS[words[0]]] if words[0] in GROUPS else []), *words]) == 0
        return capsys.readouterr().out

    return run


def present_path(path: str) -> str:
    """Path of a number in a command's JSON with the present names of keys and settings."""
    return ".".join(WORDS.get(part, present_name(part)) for part in path.split("."))


@pytest.mark.parametrize("name", [name for name, item in COMMANDS.items() if "values" in item])
def test_commands_give_the_numbers_of_version_0_1(name: str, siming: Callable[[str], str]) -> None:
    found = numbers(json.loads(siming(COMMANDS[name]["command"])))
    wanted = {present_path(path): value for path, value in COMMANDS[name]["values"].items()}
    assert wanted
    changed = [path for path in wanted if re.fullmatch(CHANGED.get(name, "(?!)"), path)]
    assert bool(changed) == (name in CHANGED)
    for path, value in wanted.items():
        if path in changed:
            assert path in found
            continue
        shown = json.loads(json.dumps(found[path]))
        for varying in [key for key, part in value.items() if part == "<VARIES>"] if isinstance(value, dict) else []:
            shown[varying] = value[varying]
        if path.endswith(".statuses"):  # a status that version 0.1 did not have is counted, and is nowhere here
            shown = {status: count for status, count in shown.items() if status in value or count}
        if path == "summary" or path.endswith(".requests"):  # further facts are told
            shown = {fact: about for fact, about in shown.items() if fact in value}
        if path == "failed":  # the words that decided are new
            shown = [{key: part for key, part in request.items() if key != "reason"} for request in shown]
        is_number = isinstance(value, list) and all(isinstance(each, float) for each in value)
        assert shown == (pytest.approx(value, rel=1e-12, abs=1e-12) if is_number else value), path


def test_data_sets_keep_their_digests(landed: Path, expected: Any) -> None:
    assert list(expected["datasets"]) == ["exams", "public", "by_hand", "edited"]
    for name, facts in expected["datasets"].items():
        dataset = st.open_dataset(landed / name, media=False)
        assert (dataset.digest, dataset.name, dataset.version) == (facts["digest"], facts["name"], facts["version"])


@pytest.mark.parametrize(("kind", "count"), [("runs", 8), ("predictions", 6)])
def test_replies_are_read_as_version_0_1_read_them(kind: str, count: int, landed: Path, expected: Any) -> None:
    dataset = st.open_dataset(landed / "exams", media=False)
    assert len(expected["records"][kind]) == count and all(expected["records"][kind].values())
    for name, settings in expected["records"][kind].items():
        path = landed / kind / (name if kind == "runs" else f"{name}.jsonl")
        records = st.read_run(path, dataset).records
        assert records.keys() == {present_name(setting) for setting in settings}
        for setting, answers in settings.items():
            assert len(answers) >= 3, (name, setting)  # three exams
            found = {record.id: [record.status, dict(record.answers)] for record in records[present_name(setting)]}
            assert found == {present_name(request): answer for request, answer in answers.items()}


def test_media_facts_name_ablations_as_today(landed: Path) -> None:
    run = st.read_run(landed / "runs" / "probes", st.open_dataset(landed / "exams", media=False))
    shown = {name: records[0].media for name, records in run.records.items() if name.startswith("ablation_")}
    assert {name: media["ablation"] for name, media in shown.items()} == {
        f"ablation_{name}_{kind}": name
        for name, kind in (
            ("no_video", "full_score"),
            ("single_frame", "full_score"),
            ("shuffled_frames", "full_score"),
            ("mismatched_video", "full_score"),
            ("mismatched_video", "clip_error"),
        )
        if f"ablation_{name}_{kind}" in run.records
    }
    assert len(shown) >= 4
    assert shown["ablation_mismatched_video_full_score"]["mismatched_video"] == "exam_b"
    assert not any({"probe", "foreign"} & media.keys() for media in shown.values())


def test_results_files_name_tasks_and_metadata_as_today(landed: Path) -> None:
    tasks = run_at(landed / "runs" / "probes").facts["tasks"]
    assert "siming_ablation_no_video_full_score" in tasks
    assert tasks["siming_ablation_no_video_full_score"]["siming_ablation"] == "no_video ablations/1"
    (file,) = (landed / "runs" / "probes").rglob("*_results.json")
    content = json.dumps(translate_results(json.loads(file.read_text(encoding="utf-8")))["results"])
    assert '"imputed"' in content and '"filled"' not in content and "probe" not in content


def test_grain_is_the_score_increment(landed: Path) -> None:
    text = (landed / "rubric.yaml").read_text(encoding="utf-8")
    assert "grain: 0.5" in text
    rubric = load_rubric(landed / "rubric.yaml")
    assert {step.score_increment for step in rubric.steps} == {1.0, 0.5}
    former = json.dumps(former_rubric(rubric.model_dump(mode="json")))
    assert "grain" in former and "score_increment" not in former


def test_facts_and_sources_keep_their_own_words() -> None:
    """The digest is the one that version 0.1 computed of this rubric."""
    step: dict[str, Any] = {"id": "s_01", "name": "a", "requirement": "b", "max_score": 2, "grain": 0.5,
            "criteria": {"full": "f", "partial": "p", "fail": "n"},
            "facts": [{"grain": "coarse", "score_increment": "2 mg", "source": "g"}]}  # fmt: skip
    content = {"schema_version": 1, "rubric_id": "r", "version": "1", "grain": 1,
               "sources": {"g": {"grain": "fine", "score_increment": 3}},
               "skills": [{"id": "k", "name": "K", "steps": [step]}]}  # fmt: skip
    rubric = rubric_from(content)
    assert (rubric.score_increment, rubric.steps[0].score_increment) == (1, 0.5)
    assert rubric.steps[0].facts == tuple(step["facts"]) and rubric.sources == content["sources"]
    digest = "333eb70f9cde113c95818bbc8d2b2dfbe53637476ae0b29ae5557254ff296e8c"
    assert content_digest(rubric, [], {}) == digest
    step |= {"grain": 1, "max_score": 2.5}
    with pytest.raises(RubricError, match=r"skills\.0\.steps\.0\.max_score: score_increment is 1"):
        rubric_from(content)


def test_a_submission_archive_is_accepted(siming: Callable[[str], str]) -> None:
    assert siming(COMMANDS["archive"]["command"]) == COMMANDS["archive"]["stdout"] + "\n"


def test_stored_frames_are_used_again(landed: Path, siming: Callable[[str], str], tmp_path: Path) -> None:
    shutil.copytree(landed / "cache", tmp_path / "cache")
    before = {path: path.read_bytes() for path in (tmp_path / "cache" / "media").rglob("*.jpg")}
    assert len(before) >= 9
    out = siming(
        f"siming run prepare --data one --frames 4 --clip-frames 2 --frame-size 64 --cache {tmp_path / 'cache'}"
    )
    assert "0 to decode: 0 frames" in out
    assert {path: path.read_bytes() for path in (tmp_path / "cache" / "media").rglob("*.jpg")} == before


def test_cached_replies_are_found(landed: Path) -> None:
    (folder,) = (landed / "replies").iterdir()
    (log,) = folder.glob("*.jsonl")
    lines = [json.loads(line)["kept"] for line in log.read_text(encoding="utf-8").splitlines()]
    keys = [line["key"] for line in lines if "key" in line]
    assert keys
    store = ReplyStore(folder, lines[0]["conditions"])
    assert {key: kept.reply for key, kept in store.find(keys).items()} == {
        line["key"]: line["reply"] for line in lines if "key" in line
    }


def test_cache_keys_are_made_of_the_words_of_version_0_1() -> None:
    task = {"version": "3-A", "siming_ablation": "no_video ablations/1"}
    facts = {"request": "ablation_no_video_clip_score/v1/cpr_01", "task": task, "text": "Judge."}
    assert cache_key_facts(facts) == {
        "request": "probe_blind_clip_score/v1/cpr_01",
        "task": {"version": "3-A", "siming_probe": "blind probes/1"},
        "text": "Judge.",
    }
    later = {"request": "ablation_grey_clip_score/v1/cpr_01", "task": {"siming_ablation": "grey ablations/1"}}
    assert cache_key_facts(later) == {**later, "task": {"siming_probe": "grey probes/1"}}  # version 0.1 had none
    assert former_ablation_file("grey", "a1b2c3d4e5f6") == "probes/grey-a1b2c3d4e5f6.mp4"
    plain = {"request": "clip_score/v1/cpr_01", "task": {"version": "3-A"}}
    assert cache_key_facts(plain) == plain


def test_a_ratings_journal_holds_every_event(landed: Path) -> None:
    with sqlite3.connect(landed / "ratings.sqlite") as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        assert tables and any(database.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables)
