"""Submissions and the board of them: what is packed, verified and ranked, and how little of the labels is told."""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.benchmark.exams import StepLabel
from siming_tasks.benchmark.metrics.evaluate import ALL, RANKED
from siming_tasks.benchmark.tasks import BENCHMARK_TASKS
from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset
from siming_tasks.data.withholding import withhold
from siming_tasks.study.results.discovery import find_runs
from siming_tasks.study.results.run import read_run
from siming_tasks.tools.board.build import build_board
from siming_tasks.tools.board.submission import ModelCard, pack, predictions_of, read_submission
from tests.study.report.conftest import OPTIONS, host, packed, write_run
from tests.study.report.test_exports import printed


def board_of(exams: Dataset, inbox: Path, **how: Any) -> tuple[dict[str, Any], str, list[Any], list[str]]:
    """board.json and page of an inbox, its entries and what was refused."""
    out = inbox.parent / "board"
    entries, refused = host(inbox, exams, out, **how)
    return json.loads((out / "board.json").read_text()), (out / "index.html").read_text(), entries, refused


def test_a_packed_run_reads_back_the_same(lab, tmp_path: Path) -> None:
    archive = packed(lab, "noisy", tmp_path / "a.zip", organization="Org", url="https://example.org/m")
    received = read_submission(archive, lab.dataset)
    assert received.submission.model.organization == "Org"
    found = predictions_of(received, lab.dataset)
    assert found.problems == ()
    for name, records in read_run(lab.runs / "noisy", lab.dataset).records.items():
        assert [(r.id, r.answers, r.status) for r in found.records[name]] == [
            (r.id, r.answers, r.status) for r in records
        ]
    text = archive.read_bytes() + received.predictions
    assert not any(said in text for said in (b"sk-private", str(lab.runs).encode(), str(lab.dataset.root).encode()))


def test_the_board_ranks_and_flags_submissions(lab, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    perfect = write_run(lab.dataset, tmp_path / "perfect", model="example/Perfect")
    packed(lab, "noisy", inbox / "a" / "noisy.zip", name="Noisy", organization="Org")
    packed(lab, "noisy", inbox / "b" / "noisy.zip", name="Noisy")
    packed(lab, "noisy", inbox / "c" / "x.zip", name="Noisy (a/noisy.zip)")
    packed(lab, perfect, inbox / "b" / "wrong.zip", name="<script>alert(1)</script>", saw_test_data="yes")
    packed(lab, "hostile", inbox / "b" / "few.zip", name="noisy")
    packed(lab, "oracle", inbox / "b" / "best.zip", name="The best model")
    packed(lab, perfect, inbox / "lost.zip")
    packed(lab, perfect, tmp_path / "other" / "team.zip")
    (inbox / "d").symlink_to(tmp_path / "other")
    (inbox / "d").rename(inbox / "linked")
    written, page, entries, refused = board_of(lab.dataset, inbox)
    found = {(entry.sender, entry.received.path.stem): entry for entry in entries}

    assert len(refused) == 2 and "b/best.zip: a run of a reference judge (--model siming_reference)" in refused[1]
    assert "lost.zip: is not in the folder of a listed sender" in refused[0]
    assert "The model has seen test data, according to its card." in found["b", "wrong"].findings
    assert {"The same predictions as b/noisy.zip.", "The same model name as b/few.zip."} <= {
        *found["a", "noisy"].findings
    }

    assert "<script>alert" not in page and "&lt;script&gt;alert(1)" in page and "Synthetic data." in page
    assert {row["date"] for row in written["submissions"]} == {"2026-01-02"} and "2026-01-02" in page
    names = {row["name"] for row in written["submissions"]}
    assert len(names) == len(entries) == 6  # each of its own, also where somebody took the very name
    full = written["settings"][0]
    assert full["setting"] == "full_score" and len(full["judges"]) == 4 and full["why"] == ""  # one number a sender
    assert len(full["not_ranked"]) == 2
    assert "exams or labels are simulated" in page.lower()


@pytest.fixture(scope="module")
def dozen(lab) -> Dataset:
    """Twelve exams: each of the short ones under three names, so that there are intervals."""
    videos = [replace(video, video_id=f"{video.video_id}-{copy}") for copy in "abc" for video in lab.dataset.videos]
    return replace(lab.dataset, videos=tuple(videos))


def sent(
    exams: Dataset, inbox: Path, sender: str, number: int, noise: float, seed: int, settings: Any = BENCHMARK_TASKS
) -> None:
    """Write a submission of a sender that came on a day: the reference answers with so much noise."""
    how: dict[str, Any] = {"noise": noise, "seed": seed, "settings": settings}
    run = write_run(exams, inbox.parent / f"{sender}{number}", model=f"{sender}/{number}", **how)
    source, card = find_runs([str(run)])[0], ModelCard(name=f"{sender} {number}")
    pack(source, read_run(source, exams).records, exams, card, inbox / sender / f"{number}.zip")


FULL = ("full_score", "full_error")


def ledger_of(inbox: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in inbox.with_name("inbox.ledger.jsonl").read_text().splitlines()]


def numbers(written: dict[str, Any]) -> set[tuple[str, float]]:
    return {(part["setting"], row["value"]) for part in written["settings"] for row in part["judges"]}


def test_a_later_number_of_a_sender_needs_to_be_better_beyond_chance(dozen: Dataset, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    sent(dozen, inbox, "other", 1, 0.8, 2, FULL)
    for number, (noise, seed) in enumerate(((0.9, 1), (0.9, 2), (0.3, 3), (0.0, 4))):
        sent(dozen, inbox, "acme", number, noise, seed, FULL)
        written, *_, refused = board_of(dozen, inbox)
    assert refused == [] and len(written["submissions"]) == 5
    for part in written["settings"]:
        assert {row["name"] for row in part["judges"]} == {"acme 2", "other 1"}
        assert part["not_ranked"] == {
            "acme 0": "Replaced by a later, better one from the same sender.",
            "acme 1": "Not better, beyond chance, than its sender's current number.",
            "acme 3": "Its sender has used all 3 results in this setting, on labels of these exams.",
        }
    kept = {row["archive"]: row["shown"]["full_error"] for row in ledger_of(inbox) if row["sender"] == "acme"}
    assert [kept[f"{number}.zip"] for number in (1, 3)] == ["not better", "spent"]
    assert ("full_error", kept["2.zip"]) in numbers(written)


def overwrites(number: int, inbox: Path) -> None:
    os.replace(inbox / "acme" / f"{number}.zip", inbox / "acme" / "model.zip")


def sorts_first(number: int, inbox: Path) -> None:
    (inbox / "acme" / f"{number}.zip").rename(inbox / "acme" / f"{99 - number}.zip")
    for path in inbox.rglob("*"):
        os.utime(path, (0, 0))


def deletes(number: int, inbox: Path) -> None:
    for path in (inbox / "acme").glob("*.zip"):
        if path.stem != str(number):
            path.unlink()


def moves(number: int, inbox: Path) -> None:
    """Into further folders: of another name for the same sender, and of none that the host knows."""
    for folder in ("acme\u180b", "unknown"):
        (inbox / folder).mkdir(exist_ok=True)
    if number % 3:
        (inbox / "acme" / f"{number}.zip").rename(inbox / ("acme\u180b", "unknown")[number % 2] / f"{number}.zip")


@pytest.mark.parametrize("attack", [overwrites, sorts_first, deletes, moves])
def test_a_sender_gets_three_numbers_a_setting_whatever_he_does(attack, dozen: Dataset, tmp_path: Path) -> None:
    """Five better and better submissions, a build after each: the numbers that anybody could read on the way."""
    inbox, read = tmp_path / "inbox", set[tuple[str, float]]()
    for number, noise in enumerate((0.9, 0.7, 0.4, 0.2, 0.0)):
        sent(dozen, inbox, "acme", number, noise, number, FULL[:1])
        attack(number, inbox)
        inbox.with_name("inbox.senders.txt").write_text("acme\n")
        new = number == 0
        with suppress(DataError):  # every archive is refused: the board stays as it is
            build_board(inbox, dozen, tmp_path / "board", OPTIONS, new_ledger=new, progress=False)
        read |= numbers(json.loads((tmp_path / "board" / "board.json").read_text()))
    assert 1 <= len(read) <= 3


def test_an_archive_that_changed_is_refused_and_an_unchanged_one_counts_once(dozen: Dataset, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    sent(dozen, inbox, "acme", 1, 0.8, 1, FULL)
    first = board_of(dozen, inbox)[0]
    (inbox / "acme" / "1.zip").rename(inbox / "acme" / "renamed.zip")
    (inbox / "acme" / "copy.zip").write_bytes((inbox / "acme" / "renamed.zip").read_bytes())
    again, *_, (refused,) = board_of(dozen, inbox)
    assert numbers(again) == numbers(first) and len(ledger_of(inbox)) == 1
    assert refused == "acme/renamed.zip: the same file as acme/copy.zip. Keep one."
    sent(dozen, inbox, "acme", 2, 0.1, 2, FULL)
    (inbox / "acme" / "2.zip").rename(inbox / "acme" / "1.zip")
    written, *_, refused = board_of(dozen, inbox)
    (line,) = ledger_of(inbox)
    came = f"({line['seen']}, SHA-256 {line['sha256'][:12]})"
    assert any(f"1.zip: not the file that came under this name {came}" in each for each in refused)
    assert numbers(written) == numbers(first)


@pytest.fixture(scope="module")
def used_up(dozen: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an inbox whose sender has used all of its results."""
    inbox = tmp_path_factory.mktemp("used") / "inbox"
    for number, noise in enumerate((0.9, 0.5, 0.2)):
        sent(dozen, inbox, "acme", number, noise, number, FULL[:1])
        board_of(dozen, inbox)
    return inbox.parent


@pytest.mark.parametrize("edition", ["version", "names", "a label", "fewer", "labels"])
def test_a_new_edition_begins_anew_only_where_every_label_is_new(
    edition: str, dozen: Dataset, used_up: Path, tmp_path: Path
) -> None:
    def other(step: StepLabel) -> StepLabel:
        points = dozen.rubric.by_id[step.step_id].max_score
        return replace(step, scores={who: points - (given or 0) for who, given in step.scores.items()})

    videos = dozen.videos
    if edition == "names":
        videos = tuple(replace(video, video_id=f"new-{video.video_id}") for video in videos)
    elif edition == "fewer":
        videos = videos[:6]
    elif edition in ("a label", "labels"):
        most = 1 if edition == "a label" else len(videos)
        videos = tuple(replace(video, steps=tuple(map(other, video.steps))) if place < most else video
                       for place, video in enumerate(videos))  # fmt: skip
    new = replace(dozen, version="2", digest="f" * 64, videos=videos)
    inbox = Path(shutil.copytree(used_up, tmp_path / "used")) / "inbox"
    sent(new, inbox, "acme", 9, 0.0, 9, FULL[:1])
    points = board_of(new, inbox)[0]["settings"][0]
    assert points["setting"] == "full_score" and bool(points["judges"]) == (edition == "labels")


def test_an_inbox_without_its_ledger_or_list_is_refused(dozen: Dataset, tmp_path: Path) -> None:
    inbox, how = tmp_path / "inbox", {"progress": False}
    sent(dozen, inbox, "acme", 1, 0.8, 1, FULL)
    with pytest.raises(DataError, match=r"inbox\.senders\.txt: no such file\. Write one line per sender"):
        build_board(inbox, dozen, tmp_path / "board", OPTIONS, **how)
    (tmp_path / "inbox.senders.txt").write_text("acme, Acme Inc\nother\n")
    with pytest.raises(DataError, match=r"no such file, but .* contains 1 archive.*allows 3 more per sender"):
        build_board(inbox, dozen, tmp_path / "board", OPTIONS, **how)
    assert not (tmp_path / "inbox.ledger.jsonl").exists() and not (tmp_path / "board").exists()
    build_board(inbox, dozen, tmp_path / "board", OPTIONS, new_ledger=True, **how)
    ledger = tmp_path / "inbox.ledger.jsonl"
    assert ledger.stat().st_mode & 0o077 == 0
    with pytest.raises(DataError, match=r"a ledger already exists\. Leave --new-ledger out"):
        build_board(inbox, dozen, tmp_path / "board", OPTIONS, new_ledger=True, **how)
    whole = ledger.read_text()
    ledger.write_text("")
    with pytest.raises(DataError, match=r"inbox\.ledger\.jsonl: empty, but .* Put it back"):
        build_board(inbox, dozen, tmp_path / "board", OPTIONS, **how)
    ledger.write_text(whole[:-30])
    with pytest.raises(DataError, match=r"inbox\.ledger\.jsonl:1: not a line of a ledger"):
        build_board(inbox, dozen, tmp_path / "board", OPTIONS, **how)
    (tmp_path / "inbox.senders.txt").write_text("acme\nother, ACME\n")
    with pytest.raises(DataError, match=r"senders\.txt:2: ACME is in the list twice"):
        build_board(inbox, dozen, tmp_path / "board", OPTIONS, **how)


BUILD = """
import os, sys, time
from pathlib import Path
from siming_tasks.data import open_dataset
from siming_tasks.options import Options
from siming_tasks.tools.board import build
write = build._write_page
build._write_page = lambda *given: (Path(sys.argv[3] + ".ready").touch(), time.sleep(float(sys.argv[4])), write(*given))
build.build_board(Path(sys.argv[2]), open_dataset(Path(sys.argv[1])), Path(sys.argv[3]), Options(), progress=False,
                  new_ledger=not Path(sys.argv[2] + ".ledger.jsonl").exists())
"""


def test_a_killed_build_has_counted_and_two_at_once_take_turns(lab, tmp_path: Path) -> None:
    """The first is killed with its number counted and nothing published; the second waited and shows the same."""
    inbox = tmp_path / "inbox"
    packed(lab, "noisy", inbox / "acme" / "1.zip")
    (tmp_path / "inbox.senders.txt").write_text("acme")

    def start(name: str, seconds: int) -> subprocess.Popen[bytes]:
        words = map(str, (lab.dataset.root, inbox, tmp_path / name, seconds))
        return subprocess.Popen([sys.executable, "-c", BUILD, *words])

    def wait_for(path: Path) -> None:
        until = time.monotonic() + 60
        while not path.exists():
            assert time.monotonic() < until
            time.sleep(0.05)

    first = start("first", 300)
    try:
        wait_for(tmp_path / "first.ready")
        counted = (tmp_path / "inbox.ledger.jsonl").read_bytes()
        second = start("second", 0)
        with pytest.raises(subprocess.TimeoutExpired):
            second.wait(8)
        assert len(counted.splitlines()) == 1 and not (tmp_path / "second.ready").exists()
    finally:
        first.kill()
        first.wait()
    assert second.wait(60) == 0 and not (tmp_path / "first").exists()
    assert (tmp_path / "inbox.ledger.jsonl").read_bytes() == counted and (tmp_path / "second" / "board.json").exists()


def test_a_full_disk_leaves_the_ledger_as_it_was(
    dozen: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full as the ledger reaches it: no line is lost or halved, and no board is published."""
    inbox = tmp_path / "inbox"
    sent(dozen, inbox, "acme", 1, 0.8, 1, FULL)
    board_of(dozen, inbox)
    before = (tmp_path / "inbox.ledger.jsonl").read_bytes()
    sent(dozen, inbox, "acme", 2, 0.1, 2, FULL)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    page = (tmp_path / "board" / "board.json").read_bytes()
    with pytest.raises(OSError, match="No space left"):
        board_of(dozen, inbox)
    assert (tmp_path / "inbox.ledger.jsonl").read_bytes() == before
    assert (tmp_path / "board" / "board.json").read_bytes() == page
    assert not list(tmp_path.glob(".inbox*"))


def test_all_that_a_board_says_of_the_labels_is_a_few_coarse_numbers(dozen: Dataset, tmp_path: Path) -> None:
    """From one archive of chosen answers every hidden label came back: metrics by skill, with sixteen digits."""
    sent(dozen, tmp_path / "inbox", "acme", 1, 0.6, 1)
    written, page, *_ = board_of(dozen, tmp_path / "inbox")
    rows = [row for part in written["settings"] for row in (*part["judges"], *part["no_video"])]
    assert not {row["name"] for part in written["settings"] for row in part["no_video"]} & {
        row["name"] for part in written["settings"] for row in part["judges"]
    }
    assert all(len(part["judges"]) <= 1 for part in written["settings"])
    assert {key for row in rows for key in row} == {
        "name", "rank", "value", "low", "high", "beats_all_no_video_baselines", "better_than", "answered",
    }  # fmt: skip
    numbers = [(row[key], digits) for row in rows for key, digits in (("value", 3), ("low", 2), ("high", 2))]
    known = [(value, digits) for value, digits in numbers if value is not None]
    assert len(known) > 20 and all(value == round(value, digits) for value, digits in known)
    exact = read_run(find_runs([str(tmp_path / "acme1")])[0], dozen).evaluate("full_score", OPTIONS)
    (value,) = [row["value"] for row in exact["rows"]
                if (row["table"], row["row"], row["metric"]) == (RANKED, ALL, "qwk")]  # fmt: skip
    assert written["settings"][0]["judges"][0]["value"] == round(value, 3) != value
    assert str(value)[:7] not in page + json.dumps(written)
    assert printed(page) <= {f"{row['value']:.3f}" for row in rows if row["value"] is not None}, "no other number"
    assert not [row["name"] for row in rows if "shuffled" in row["name"]], "shuffled answers tell of the judge's own"
    ends = re.findall(r"\d \[−?[01]\.(\d+), −?[01]\.(\d+)\]", page)
    assert len(ends) > 8 and {len(end) for pair in ends for end in pair} == {2}  # in the figure as in the table
    assert all(not part["why"] for part in written["settings"])


def test_one_label_for_every_step_gives_no_label_away(dozen: Dataset, tmp_path: Path) -> None:
    """The same constant answers to exams that are all right, and to others, get the same words and no number."""

    def right(step: StepLabel) -> StepLabel:
        points = dozen.rubric.by_id[step.step_id].max_score
        return replace(step, scores=dict.fromkeys(step.scores, points), errors=())

    videos = [replace(video, steps=tuple(map(right, video.steps))) for video in dozen.videos]
    constant = replace(dozen, videos=tuple(videos))
    sent(constant, tmp_path / "inbox", "acme", 1, 0.0, 1)
    told = []
    for exams in (constant, dozen):
        written, page, *_ = board_of(exams, tmp_path / "inbox")
        assert not any(said in page + json.dumps(written) for said in ("0/0", "same single label"))
        told.append([(part["judges"], part["not_ranked"], part["why"]) for part in written["settings"]])
    assert told[0] == told[1] and told[0][0][:2] == ([], {"acme 1": "All its answers are the same."})


def test_of_few_answers_a_board_says_no_number(lab, tmp_path: Path) -> None:
    """84 chosen answers of 9 % of the steps gave 84 labels back."""
    run = read_run(lab.runs / "noisy", lab.dataset)
    few = {name: [replace(record, parsed=replace(record.parsed, answers=dict(list(record.answers.items())[:3])))
                  for record in kept] for name, kept in run.records.items() if name.startswith("full")}  # fmt: skip
    pack(run.source, few, lab.dataset, ModelCard(name="Probe"), tmp_path / "inbox" / "acme" / "probe.zip")
    written, _, entries, refused = board_of(lab.dataset, tmp_path / "inbox")
    assert len(entries) == 1 and refused == []
    for part in written["settings"]:
        assert part["judges"] == [] and part["not_ranked"] == {"Probe": "It did not answer 95 % of the whole setting."}


@pytest.fixture
def command(exams: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> Iterator[Callable[..., Any]]:
    """``siming board ...`` in an empty folder with the data named: code, and all that is printed."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str]:
        code = main(["board", *words, "--data", str(exams.root)])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return run


def test_submit_then_board(command: Callable[..., Any], exams: Dataset, make_run: Callable[..., Path]) -> None:
    run = make_run(exams, Path("run"), "rater_a", model="org/Model", settings=("full_error",))
    code, said = command("submit", str(run), "--name", "Model", "--out", "inbox/lab/model.zip")
    assert code == 0 and "inbox/lab/model.zip: ready. Model, 4 predictions" in said
    Path("inbox.senders.txt").write_text("lab\n")
    code, said = command("build", "inbox", "--out", "board")
    assert code == 1 and "allows 3 more per sender and setting" in said
    code, said = command("build", "inbox", "--out", "board", "--new-ledger")
    assert code == 0 and "board/index.html: 1 submission." in said
    Path("inbox/lab/bad.zip").write_bytes(b"not a zip")
    code, said = command("build", "inbox", "--out", "board")
    assert code == 1 and "refused: lab/bad.zip: not a readable zip archive" in said
    assert "Submissions accepted: lab 1 of 2." in said
    page, today = Path("board/index.html").read_text(), datetime.now(timezone.utc).date().isoformat()
    assert f"As of {today}." in page and "`" not in page
    before = Path("board/board.json").read_bytes()
    Path("inbox/lab/model.zip").rename("model.zip")
    code, said = command("build", "inbox", "--out", "board")
    assert code == 1 and "board: no submission is accepted; the board there shows 1 and is left as it is.\n" in said
    assert "lab/bad.zip: not a readable zip archive" in said and Path("board/board.json").read_bytes() == before
    Path("model.zip").rename("inbox/lab/model.zip")
    for words, why in ((("submit", "--check", "none.zip"), "none.zip: no such file"),
                       (("submit", "run", "--url", "javascript:alert(1)"), "--url: should begin with https:// or http://"),
                       (("build", "inbox", "--out", "run"), "run: already exists and is not a board"),
                       (("build", "run"), "no *.zip found")):  # fmt: skip
        code, said = command(*words)
        assert code and why in said, words


def test_a_board_of_withheld_labels_is_built_with_the_public_folder_and_the_label_file(
    exams: Dataset, make_run: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    public = withhold(exams.root, "public", "key.json")
    run = make_run(public, Path("run"), "random", model="org/Model", settings=("full_error",))
    assert main(["board", "submit", str(run), "--data", "public", "--name", "M", "--out", "inbox/lab/m.zip"]) == 0
    Path("inbox.senders.txt").write_text("lab\n")
    build = ["board", "build", "inbox", "--out", "board", "--data"]
    assert main([*build, str(exams.root), "--new-ledger"]) == 1
    assert "of withheld labels that is the public folder, with --labels KEYFILE." in capsys.readouterr().err
    assert not Path("inbox.ledger.jsonl").exists()  # nothing was accepted
    assert main([*build, "public", "--labels", "key.json", "--new-ledger"]) == 0
    assert "board/index.html: 1 submission." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("setting", "what"),
    [("ablation_no_video_full_score", "only ablations"), ("full_score_abstain", "another form of the reply")],
)
def test_a_board_takes_no_other_task(command, exams, make_run, setting: str, what: str) -> None:
    run = make_run(exams, Path("run"), "rater_a", model="org/M", settings=(setting,))
    code, said = command("submit", str(run), "--out", "s.zip")
    assert code == 1 and what in said
