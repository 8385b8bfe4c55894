"""The page of unread replies, and what `siming score` says of them."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from siming_tasks.cli.main import main
from siming_tasks.data import Dataset
from siming_tasks.report.build import write_report
from siming_tasks.report.pages import unread_replies
from tests.report.conftest import OPTIONS

ATTACK = '<script>alert(1)</script>\u202e {"scores": {"cpr_01": 1}}\n\n<img src=x>'
REFUSAL = "I cannot help with that."


@pytest.fixture
def folder(exams: Dataset, make_run: Callable[..., Path], tmp_path: Path) -> Path:
    """A run whose full-video scores are an attack, two equal refusals, and one proper answer."""
    return make_run(exams, tmp_path / "run", "rater_a", model="org/M", settings=("full_score",),
                    replies={0: ATTACK, 1: REFUSAL, 2: REFUSAL})  # fmt: skip


def test_every_reply_is_listed_once_and_escaped(folder: Path, exams: Dataset, tmp_path: Path) -> None:
    out = write_report([folder], exams, tmp_path / "report", OPTIONS, media="none", progress=False)
    (page,) = (out / "replies").iterdir()
    text = page.read_text(encoding="utf-8")
    listed = re.findall(r'<pre class="reply"[^>]*>(.*?)</pre>', text, re.DOTALL)
    assert sorted(map(html.unescape, listed)) == sorted([ATTACK.replace("\u202e", "⟦U+202E⟧"), REFUSAL])
    assert "<script>alert" not in text and "<img src=x" not in text and "The same reply to 1 more" in text
    assert "3 of 4 replies (75.0%) could not be read whole: 1 partial, 2 refused." in text and "SIMING_ASK=step" in text
    for video in exams.videos[:3]:
        assert f"full_score/{video.video_id}" in text
    assert f"full_score/{exams.videos[3].video_id}" not in text
    model = (out / "models" / page.name).read_text(encoding="utf-8")
    assert f'<a href="../replies/{page.name}">3 of 4 replies (75.0%) could not be read whole' in model
    assert "3 of 4 replies" in re.findall(r'<p class="note">(.*?)</p>', model)[0], "so many are said first"


def test_a_run_that_was_read_whole_has_no_page(exams: Dataset, make_run: Callable[..., Path], tmp_path: Path) -> None:
    run = make_run(exams, tmp_path / "run", "rater_a", model="org/M", settings=("full_score",))
    out = write_report([run], exams, tmp_path / "report", OPTIONS, media="none", progress=False)
    assert not (out / "replies").exists() and "be read whole" not in next((out / "models").iterdir()).read_text()


def test_what_a_page_does_not_hold_is_counted(
    folder: Path, exams: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unread_replies, "MAX_SHOWN", 1)
    out = write_report([folder], exams, tmp_path / "report", OPTIONS, media="none", progress=False)
    text = next((out / "replies").iterdir()).read_text(encoding="utf-8")
    assert text.count('<pre class="reply"') == 1 and "1 more different replies are not shown here" in text


def test_the_score_command_says_how_many_first_and_lists_them(
    folder: Path, exams: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", str(exams.root), str(folder), "--resamples", "20"]) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith("3 of 4 replies (75.0%) could not be read whole: 1 partial, 2 refused.")
    assert [line.split("  ")[1] for line in lines[:3]] == [f"full_score/{video.video_id}" for video in exams.videos[:3]]
    assert main(["score", str(exams.root), str(folder), "--list-failed"]) == 0
    printed = capsys.readouterr().out
    assert f"full_score/{exams.videos[1].video_id}  refused (33 absent of 33): “{REFUSAL}”" in printed
    assert main(["score", str(exams.root), str(folder), "--list-failed", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["unread"]
    assert [item["status"] for item in listed].count("refused") == 2
