"""Text that is not UTF-8: every reader of other people's files names the file, the row and the way out."""

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.benchmark.rubrics import load_rubric, rubric_from
from siming_tasks.common.errors import SimingError
from siming_tasks.data import check_dataset, open_dataset, with_labels
from siming_tasks.data.dataset import read_pairs
from siming_tasks.options import Options
from siming_tasks.study.report.viewer_files import LINKS_FILE, read_media_links
from siming_tasks.study.results.discovery import run_at
from siming_tasks.study.results.run import read_run
from siming_tasks.study.results.usage import load_prices
from siming_tasks.tools.board.ledger import open_ledger, read_senders
from siming_tasks.tools.board.submission import read_submission
from siming_tasks.tools.builder.label_tables import read_labels
from siming_tasks.tools.builder.transcripts import read_transcript
from siming_tasks.tools.exchange.batch_results import import_results
from tests.data.conftest import RUBRIC

TINY = rubric_from(RUBRIC)


def ledger(folder: Path) -> None:
    (folder.parent / "tiny.senders.txt").write_text("a\n")
    with open_ledger(folder, 1, open_dataset(folder), Options(), new=False):
        pass


def submission(folder: Path) -> None:
    with zipfile.ZipFile(folder.parent / "x.zip", "w") as archive:
        archive.write(folder.parent / "submission.json", "submission.json")
        archive.writestr("predictions.jsonl", "")
    read_submission(folder.parent / "x.zip", open_dataset(folder))


DOORS: dict[str, Callable[[Path], Any]] = {
    "tiny/dataset.yaml": lambda folder: check_dataset(folder, quick=True),
    "tiny/videos.jsonl": lambda folder: check_dataset(folder, quick=True),
    "tiny/rubric.yaml": lambda folder: load_rubric(folder / "rubric.yaml"),
    "tiny/pairs.jsonl": lambda folder: read_pairs(open_dataset(folder)),
    "key.json": lambda folder: with_labels(open_dataset(folder), folder.parent / "key.json"),
    "labels.csv": lambda folder: read_labels([folder.parent / "labels.csv"], TINY),
    "v.vtt": lambda folder: read_transcript(folder.parent / "v.vtt"),
    "v.json": lambda folder: read_transcript(folder.parent / "v.json"),
    "run.jsonl": lambda folder: read_run(folder.parent / "run.jsonl", folder),
    "run/a_samples_siming_full_score.jsonl": lambda folder: read_run(folder.parent / "run", folder),
    "results/a_results.json": lambda folder: run_at(folder.parent / "results"),
    "prices.yaml": lambda folder: load_prices(folder.parent / "prices.yaml"),
    LINKS_FILE: lambda folder: read_media_links(folder.parent),
    "tiny.senders.txt": read_senders,
    "tiny.ledger.jsonl": ledger,
    "submission.json": submission,
    "asked.jsonl": lambda folder: import_results([], folder.parent / "asked.jsonl", folder.parent / "out"),
}
"""Readers by the file that they read; ``tiny`` is the folder of the data set."""


@pytest.mark.parametrize("file", DOORS)
def test_the_file_the_row_and_the_way_out_are_named(folder: Path, file: str) -> None:
    path = folder.parent / file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes("\n\nname: Zürich\n".encode("latin-1"))
    try:
        found = DOORS[file](folder)
        said = "\n".join(map(str, found.problems)) if file.startswith("tiny/") else str(found)
    except SimingError as error:
        said = str(error)
    assert f"{path.name}:3: this line is not UTF-8. Save the file as UTF-8." in said
