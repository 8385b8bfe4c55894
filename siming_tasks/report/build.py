"""From runs on disk to a folder of pages, a Markdown summary and the JSON behind both."""

from __future__ import annotations

import functools
import json
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tqdm import tqdm

from siming_tasks import __version__
from siming_tasks.common.errors import DataError
from siming_tasks.common.files import atomic_write
from siming_tasks.common.redact import redact
from siming_tasks.common.sanitize import one_line
from siming_tasks.data import Dataset
from siming_tasks.data.minimal_pairs import read_pairs
from siming_tasks.options import Options
from siming_tasks.report.downloads import summary_markdown
from siming_tasks.report.pages.chapters import (
    Book,
    Linker,
    Media,
    difference_chapter,
    front,
    model_pages,
    pair_chapter,
    step_chapter,
    video_chapter,
)
from siming_tasks.report.pool import pool
from siming_tasks.report.study.standings import standings
from siming_tasks.report.study.study import Study, study
from siming_tasks.results.discovery import RunSource, find_runs, unique_names
from siming_tasks.tasks import UNALTERED_TASKS

__all__ = ["FORMAT", "TITLE", "write_report"]

FORMAT = "siming-report-1"
TITLE = "SiMing-Bench report"


def write_report(
    runs: Sequence[RunSource | str | Path],
    dataset: Dataset,
    out: Path,
    options: Options,
    *,
    media: Media = "link",
    jobs: int = 1,
    partial: bool = False,
    allow: Collection[str] = (),
    title: str = TITLE,
    progress: bool = True,
) -> Path:
    """Study the runs and write the report.

    The folder is built beside ``out`` and takes its place at the end; a report that is there already is replaced.

    Args:
        runs: at least one prediction file, lmms-eval output folder, or what
            :func:`siming_tasks.results.discovery.find_runs` made of them.
        dataset: what they were asked about.
        out: the report's folder.
        options: label mapping, positive class, rater, resamples, seed.
        media: ``link`` to the dataset's videos (relative), ``copy`` them into the report, or ``none``.
        jobs: worker processes.
        partial: count only the requests that have a record as asked.
        allow: differences between runs to accept (:data:`siming_tasks.results.comparable.DIFFERENCES`).
        title: at the head of every page.
        progress: show bars on stderr.

    Returns:
        ``out``.

    Raises:
        DataError: ``out`` holds something else, or a run cannot be read.

    Example:
        >>> from siming_tasks import Options, open_dataset, write_report
        >>> quick = Options(resamples=50)
        >>> written = write_report([physician, constant], open_dataset(exams), out, quick, media="none", progress=False)
        >>> (written / "index.html").is_file()
        True
    """
    if out.exists() and any(out.iterdir() if out.is_dir() else [out]) and not _is_report(out):
        raise DataError(f"{out}: exists and is not a report. Name another folder, or delete it.")
    found: list[RunSource] = []
    for run in runs:
        found += [run] if isinstance(run, RunSource) else find_runs([str(run)])
    sources = unique_names(found)
    pairs = read_pairs(dataset)
    with _in_place_of(out) as part, pool(jobs, max(len(sources), len(UNALTERED_TASKS))) as apply:
        ask = functools.partial(
            _study, dataset=dataset, options=options, pairs=pairs, folder=part / "data", partial=partial, allow=allow
        )
        studies = list(tqdm(apply(ask, sources), total=len(sources), unit="run", desc="Runs", disable=not progress))
        rank = functools.partial(_standings, studies=studies, dataset=dataset, options=options, allow=allow)
        tables = list(
            tqdm(
                apply(rank, UNALTERED_TASKS),
                total=len(UNALTERED_TASKS),
                unit="table",
                desc="Tables",
                disable=not progress,
            )
        )
        tabled = dict(zip(UNALTERED_TASKS, tables, strict=True))
        report = _report(studies, dataset, options, tabled) | {"title": one_line(title, 120)}
        with atomic_write(part / "report.json") as stream:
            stream.write(json.dumps(report, allow_nan=False))  # a string, on one line: ten times as fast
        with atomic_write(part / "report.md") as stream:
            stream.write(summary_markdown(report))
        book = Book(part, report, tuple(studies), dataset, tuple(pairs), Linker(media, dataset, out, part))
        book.site.static()
        write = functools.partial(_chapter, book)
        shares = range(jobs)
        chapters: list[tuple[Any, ...]] = [(step_chapter,), *((video_chapter, k, jobs) for k in shares)]
        chapters += [*((model_pages, k, jobs) for k in shares), (difference_chapter,), (pair_chapter,), (front,)]
        for _ in tqdm(apply(write, chapters), total=len(chapters), unit="part", desc="Pages", disable=not progress):
            pass
    return out


def _study(
    source: RunSource,
    *,
    dataset: Dataset,
    options: Options,
    pairs: Sequence[Mapping[str, Any]],
    folder: Path,
    partial: bool,
    allow: Collection[str],
) -> Study:
    return study(source, dataset, options, pairs, folder / source.slug, partial=partial, allow=allow)


def _standings(
    setting: str, *, studies: Sequence[Study], dataset: Dataset, options: Options, allow: Collection[str]
) -> dict[str, Any] | None:
    return standings(studies, dataset, setting, options, allow)


@contextmanager
def _in_place_of(out: Path) -> Iterator[Path]:
    """A new folder that takes the place of ``out`` when the block ends well, and vanishes when it fails."""
    out.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        yield part
        part.chmod(0o755)
        if out.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{out.name}.old.", dir=out.parent))
            os.replace(out, old / out.name)
            os.replace(part, out)
            shutil.rmtree(old)
        else:
            os.replace(part, out)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def _is_report(out: Path) -> bool:
    try:
        with (out / "report.json").open(encoding="utf-8") as stream:
            return f'"format": "{FORMAT}"' in stream.read(200)
    except (OSError, UnicodeDecodeError):
        return False


def _report(
    studies: Sequence[Study], dataset: Dataset, options: Options, tables: Mapping[str, dict[str, Any] | None]
) -> dict[str, Any]:
    """Everything the pages say, as plain JSON."""
    return {
        "format": FORMAT,
        "version": __version__,
        "synthetic": dataset.synthetic,
        "dataset": {
            "name": dataset.name,
            "version": dataset.version,
            "digest": dataset.digest,
            "license": dataset.meta.get("license"),
            "videos": len(dataset.videos),
            "steps": len(dataset.rubric.steps),
            "points": dataset.rubric.max_score,
            "withheld": dataset.withheld,
        },
        "rubric": {"id": dataset.rubric.rubric_id, "version": dataset.rubric.version},
        "options": {name: getattr(options, name) for name in ("rater", "mapping", "positive", "resamples", "seed")},
        "runs": [_run(item) for item in studies],
        "standings": tables,
    }


def _run(item: Study) -> dict[str, Any]:
    facts = {name: value for name, value in item.source.facts.items() if name != "data_folder"}
    return {
        "name": item.source.name,
        "slug": item.source.slug,
        "role": item.source.role,
        "source": redact(item.source.path.name),
        "facts": facts,
        "warnings": list(item.warnings),
        "replies": item.replies,
        "prompts": dict(item.prompts),
        "gains": dict(item.gains),
        "ablations": dict(item.ablations),
        "settings": dict(item.settings),
    }


def _chapter(book: Book, chapter: tuple[Any, ...]) -> None:
    write, *rest = chapter
    write(book, *rest)
