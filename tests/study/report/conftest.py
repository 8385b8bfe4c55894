"""One report of small synthetic runs, and a board of them, that many tests look at."""

import base64
import gzip
import json
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.study.report.build import write_report
from siming_tasks.study.results.discovery import find_runs
from siming_tasks.study.results.run import read_run
from siming_tasks.tools.board.build import build_board
from siming_tasks.tools.board.submission import ModelCard, pack
from tests.runs import exams, make_run, write_run

__all__ = ["exams", "make_run", "write_run"]  # fixtures, and what the tests here write runs with

OPTIONS = Options()
HOSTILE_NAME = "org/<img src=x onerror=alert(1)>\u202egpj.7B"
HOSTILE_SLUG = "org-img-src-x-onerror-alert-1-u-202e-gpj.7b"
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


class Page(HTMLParser):
    """Parser of a page: its elements with their attributes, and its visible text."""

    def __init__(self, text: str, path: Path | None = None) -> None:
        super().__init__()
        self.path, self.elements, self.text = path, [], ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


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

    def report(self, out: Path, *runs: str | Path, dataset: Dataset | None = None, **how: Any) -> Path:
        """Another report, without videos."""
        sources = find_runs([str(self.runs / run) for run in runs])
        how = {"media": "none", "progress": False, **how}
        return write_report(sources, dataset or self.dataset, out, OPTIONS, **how)

    @property
    def json(self) -> dict[str, Any]:
        """report.json."""
        return dict(json.loads((self.out / "report.json").read_text()))


def packed(lab: Lab, run: str | Path, out: Path, **card: Any) -> Path:
    """The archive of a run of the lab."""
    (source,) = find_runs([str(lab.runs / run)])
    card_ = ModelCard(**{"name": "A model", **card})
    return pack(source, read_run(source, lab.dataset).records, lab.dataset, card_, out)


def host(inbox: Path, dataset: Dataset, out: Path, **how: Any) -> tuple[list[Any], list[str]]:
    """Build a board as its host: every folder of the inbox is a sender, and the first build begins the ledger."""
    folders = sorted(path.name for path in inbox.iterdir() if path.is_dir() and path.suffix.lower() != ".zip")
    inbox.with_name(f"{inbox.name}.senders.txt").write_text("\n".join(folders))
    new = not inbox.with_name(f"{inbox.name}.ledger.jsonl").exists()
    return build_board(inbox, dataset, out, OPTIONS, new_ledger=new, progress=False, **how)


@pytest.fixture(scope="session")
def lab(exams: Dataset, shared: Path) -> Lab:
    """Three runs (oracle, a noisy model, a hostile model) and their report, videos linked; made once per test run."""
    runs, out = shared / "lab" / "runs", shared / "lab" / "report"
    with FileLock(shared / "lab.lock"):
        if not out.exists():
            write_run(exams, runs / "oracle")
            write_run(exams, runs / "noisy", "rater_a", model="example/Noisy-7B", noise=0.6, seed=1)
            write_run(exams, runs / "hostile", "rater_b", model=HOSTILE_NAME, replies=HOSTILE, settings=("full_score",))
            plain, hostile = (str(runs / name) for name in ("oracle", "noisy")), f"{HOSTILE_NAME}={runs / 'hostile'}"
            write_report(find_runs([*plain, hostile]), exams, out, OPTIONS, jobs=2, progress=False)
    return Lab(exams, runs, out)


@pytest.fixture(scope="session")
def board(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board with two senders, findings, and a refused archive."""
    root = tmp_path_factory.mktemp("board")
    card = {"organization": "Example lab", "parameters": "7B", "url": "https://example.org/noisy"}
    packed(lab, "noisy", root / "inbox" / "a team" / "noisy.zip", name="Noisy 7B", **card)
    packed(lab, "hostile", root / "inbox" / "another team" / "hostile.zip", name=HOSTILE_NAME, saw_test_data="yes")
    (root / "inbox" / "a team" / "broken.zip").write_bytes(b"PK nothing")
    host(root / "inbox", lab.dataset, root / "board")
    return root / "board" / "index.html"
