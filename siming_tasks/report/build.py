"""From runs on disk to a folder of pages, a Markdown summary and the JSON behind both."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from tqdm import tqdm

from siming_tasks import __version__
from siming_tasks.data import Dataset
from siming_tasks.errors import DataError
from siming_tasks.files import atomic_write
from siming_tasks.report.markdown import markdown
from siming_tasks.report.model_page import model_page
from siming_tasks.report.overview import leaderboard
from siming_tasks.report.pages import Site
from siming_tasks.report.sources import Source
from siming_tasks.report.standings import standings
from siming_tasks.report.step_pages import rubric_note, step_pages
from siming_tasks.report.study import DETAIL_RESAMPLES, Study, study
from siming_tasks.report.video_pages import video_pages
from siming_tasks.schema import SETTINGS, Video
from siming_tasks.settings import Settings

__all__ = ["FORMAT", "Media", "write_report"]

FORMAT = "siming-report-1"
Media = Literal["link", "copy", "none"]


def write_report(
    sources: Sequence[Source],
    dataset: Dataset,
    out: Path,
    options: Settings,
    *,
    media: Media = "link",
    jobs: int = 2,
    progress: bool = True,
) -> Path:
    """Study the runs and write the report.

    The folder is built beside ``out`` and takes its place at the end; a report that is there already is replaced.

    Args:
        sources: the runs, at least one.
        dataset: what they were asked about.
        out: the report's folder.
        options: label mapping, positive class, rater, resamples, seed.
        media: ``link`` to the dataset's videos (relative), ``copy`` them into the report, or ``none``.
        jobs: worker processes.
        progress: show bars on stderr.

    Returns:
        ``out``.

    Raises:
        DataError: ``out`` holds something else, or a run cannot be read.
    """
    if out.exists() and any(out.iterdir() if out.is_dir() else [out]) and not _is_report(out):
        raise DataError(f"{out}: exists and is not a report. Name another folder, or delete it.")
    with _in_place_of(out) as part:
        with _map(jobs, len(sources)) as apply:
            ask = partial(_study, dataset=dataset, options=options, folder=part / "data")
            studies = list(tqdm(apply(ask, sources), total=len(sources), unit="run", desc="Runs", disable=not progress))
            rank = partial(_standings, studies=studies, dataset=dataset, options=options)
            tables = list(tqdm(apply(rank, SETTINGS), total=4, unit="table", desc="Tables", disable=not progress))
        report = _report(studies, dataset, options, dict(zip(SETTINGS, tables, strict=True)))
        with atomic_write(part / "report.json") as stream:
            json.dump(report, stream, indent=1, allow_nan=False)
        with atomic_write(part / "report.md") as stream:
            stream.write(markdown(report))
        _pages(part, report, studies, dataset, options, _linker(media, dataset, out, part), progress)
    return out


def _study(source: Source, *, dataset: Dataset, options: Settings, folder: Path) -> Study:
    return study(source, dataset, options, folder / source.slug)


def _standings(setting: str, *, studies: Sequence[Study], dataset: Dataset, options: Settings) -> dict[str, Any] | None:
    return standings(studies, dataset, setting, options)


@contextmanager
def _map(jobs: int, tasks: int) -> Iterator[Callable[..., Any]]:
    """``map``, in worker processes if there is something to share."""
    if jobs < 2 or tasks < 3:
        yield map
        return
    # "spawn": forking a process that already runs threads can deadlock.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        try:
            yield pool.map
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


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


def _linker(media: Media, dataset: Dataset, out: Path, part: Path) -> Callable[[Video], str | None]:
    """How a page in ``videos/`` names a video's file."""
    if media == "none":
        return lambda video: None
    if media == "link":
        start = (out / "videos").resolve()
        return lambda video: quote(Path(os.path.relpath(dataset.media_path(video).resolve(), start)).as_posix())

    def copied(video: Video) -> str:
        target = part / "media" / f"{video.video_id}{Path(video.media).suffix}"
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(dataset.media_path(video), target)
        return quote(f"../media/{target.name}")

    return copied


def _report(
    studies: Sequence[Study], dataset: Dataset, options: Settings, tables: Mapping[str, dict[str, Any] | None]
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
        "role": "reference" if item.source.reference else "model",
        "source": item.source.path.name,
        "facts": facts,
        "warnings": list(item.warnings),
        "replies": item.replies,
        "prompts": dict(item.prompts),
        "gains": dict(item.gains),
        "settings": dict(item.settings),
    }


@dataclass(frozen=True)
class _Link:
    name: str
    href: str


def _pages(
    part: Path,
    report: Mapping[str, Any],
    studies: Sequence[Study],
    dataset: Dataset,
    options: Settings,
    media: Callable[[Video], str | None],
    progress: bool,
) -> None:
    links = [
        _Link("Leaderboard", "index.html"),
        _Link("Steps", "steps/index.html"),
        _Link("Videos", "videos/index.html"),
    ]
    site = Site(
        part,
        {
            "title": "SiMing-Bench report",
            "pages": [asdict(link) for link in [*links, _Link("How to read this", "methods.html")]],
            "detail_resamples": DETAIL_RESAMPLES,
            **{key: report[key] for key in ("synthetic", "dataset", "rubric", "options", "version")},
        },
    )
    site.static()
    with tqdm(total=len(dataset.videos) + len(studies) + 3, unit="page", desc="Pages", disable=not progress) as bar:
        leaderboard(site, report)
        bar.update()
        for run in report["runs"]:
            model_page(site, report, run, dataset.rubric)
            bar.update()
        step_pages(site, report, dataset.rubric, studies)
        bar.update()
        _methods(site, report, dataset)
        bar.update()
        video_pages(site, dataset, studies, media, options.mapping, bar.update)


def _methods(site: Site, report: Mapping[str, Any], dataset: Dataset) -> None:
    about = report["dataset"]
    facts = [
        ("dataset", f"{about['name']} {about['version']}{' (synthetic)' if report['synthetic'] else ''}"),
        ("digest", about["digest"]),
        ("license", str(about["license"] or "not stated")),
        ("videos", str(about["videos"])),
        (
            "rubric",
            f"{dataset.rubric.rubric_id} {dataset.rubric.version}, {about['steps']} steps, {about['points']:g} points",
        ),
        ("scored with", ", ".join(f"{key} {value}" for key, value in report["options"].items())),
        ("siming-tasks", report["version"]),
    ]
    site.page("methods.html", "methods.html", facts=facts, rubric_note=rubric_note(dataset.rubric))
