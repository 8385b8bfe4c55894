"""One report of small synthetic runs, and a board of them, that many tests look at."""

from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.report.build import write_report
from siming_tasks.results.discovery import find_runs
from siming_tasks.results.run import read_run
from siming_tasks.tools.board.build import build_board
from siming_tasks.tools.board.submission import ModelCard, pack
from tests.runs import exams, make_run, write_run

__all__ = ["exams", "make_run", "write_run"]  # fixtures, and what the tests here write runs with

OPTIONS = Options()
HOSTILE_NAME = "org/<img src=x onerror=alert(1)>\u202egpj.7B"
HOSTILE = {
    0: "<script>alert(1)</script></script><script>alert(2)</script>\u2028",
    1: "\u202e\u2066drows\u2069\u200b right to left, \x00\x1b[31m control",
    2: "word " * 1_000_000,
    3: None,
}
"""Replies of the hostile model to its first full-video questions (None: a proper answer)."""


def replies_in(path: Path) -> list[Any]:
    """The run, request and entry of every reply in a packed data file of a report."""
    calls = [re.fullmatch(r'SIMING\.packed\("([A-Za-z0-9+/=]*)"\);', line) for line in path.read_text().splitlines()]
    return [each for call in calls for each in json.loads(gzip.decompress(base64.b64decode(call[1])))]


def text_of(path: Path) -> str:
    """All that a file of a report says, replies unpacked."""
    is_packed = path.suffix == ".js" and path.read_bytes().startswith(b"SIMING.packed(")
    return json.dumps(replies_in(path), ensure_ascii=False) if is_packed else path.read_bytes().decode("latin-1")


@dataclass(frozen=True)
class Lab:
    """A dataset, runs on it, and a report of them."""

    dataset: Dataset
    runs: Path
    out: Path


@pytest.fixture(scope="session")
def lab(exams: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Three runs (oracle, a noisy model, a hostile model) and their report, videos linked."""
    root = tmp_path_factory.mktemp("lab")
    runs = root / "runs"
    write_run(exams, runs / "oracle")
    write_run(exams, runs / "noisy", "rater_a", model="example/Noisy-7B", noise=0.6, seed=1)
    write_run(exams, runs / "hostile", "rater_b", model=HOSTILE_NAME, replies=HOSTILE, settings=("full_score",))
    sources = find_runs([*(str(runs / name) for name in ("oracle", "noisy")), f"{HOSTILE_NAME}={runs / 'hostile'}"])
    return Lab(exams, runs, write_report(sources, exams, root / "report", OPTIONS, jobs=2, progress=False))


@pytest.fixture(scope="session")
def board(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board with a verified row, a community row with findings, and a refused archive."""
    root = tmp_path_factory.mktemp("board")
    for name, card in (("noisy", ModelCard(name="Noisy 7B", organization="Example lab", parameters="7B",
                                           url="https://example.org/noisy")),
                       ("hostile", ModelCard(name=HOSTILE_NAME, saw_test_data="yes"))):  # fmt: skip
        source = find_runs([str(lab.runs / name)])[0]
        run = read_run(source, lab.dataset)
        sender = "" if name == "noisy" else "another team"
        pack(source, run.records, lab.dataset, card, root / "inbox" / sender / f"{name}.zip")
    (root / "inbox" / "broken.zip").write_bytes(b"PK nothing")
    build_board(root / "inbox", lab.dataset, root / "board", OPTIONS, reruns=lab.runs, progress=False)
    return root / "board" / "index.html"
