"""From runs on disk to a folder of pages, a Markdown summary and the JSON behind both."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial as bind
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits
from tqdm import tqdm

from siming_tasks import __version__
from siming_tasks.benchmark.tasks import UNALTERED_TASKS
from siming_tasks.common.files import atomic_write
from siming_tasks.common.input_kinds import path_of
from siming_tasks.common.output_folder import check_replaced, output_folder
from siming_tasks.common.processes import worker_pool
from siming_tasks.common.public_facts import public_name
from siming_tasks.common.sanitize import one_line
from siming_tasks.data import Dataset, as_dataset
from siming_tasks.options import Options
from siming_tasks.study.report.exports import join_answers, summary_markdown, write_exports
from siming_tasks.study.report.pages import PAGES
from siming_tasks.study.report.pages.site import ReportContents
from siming_tasks.study.report.run_analysis import RunAnalysis, analyze_run
from siming_tasks.study.report.standings import Entrant, Standing, corrected, stand
from siming_tasks.study.report.viewer_files import Media, MediaLinks, VideoLinker, write_media_links
from siming_tasks.study.results.comparable import check_allowed
from siming_tasks.study.results.discovery import RunSource, find_runs, unique_names
from siming_tasks.study.results.run import Run

FORMAT = "siming-report-2"
TITLE = "SiMing-Bench report"


def write_report(
    runs: Sequence[Run | RunSource | str | Path],
    dataset: Dataset | str | Path,
    out: str | Path,
    options: Options | None = None,
    *,
    media: Media = "link",
    jobs: int = 1,
    partial: bool = False,
    allow: Collection[str] = (),
    title: str = TITLE,
    progress: bool = True,
) -> Path:
    """Analyze the runs and write the report.

    The folder is built next to ``out`` and takes its place at the end; an existing report is replaced.

    Args:
        runs: at least one prediction file, lmms-eval output folder, run that is loaded, or the result of
            :func:`siming_tasks.study.results.discovery.find_runs`.
        dataset: what they were asked about, or its folder.
        out: the report's folder.
        options: label mapping and rater.
        media: ``link`` to the dataset's videos (relative), ``copy`` them into the report, or ``none``.
        jobs: worker processes.
        partial: count only the requests that have a record as asked.
        allow: differences between runs to accept (:data:`siming_tasks.study.results.comparable.DIFFERENCES`).
        title: at the head of every page.
        progress: show bars on stderr.

    Returns:
        ``out``.

    Raises:
        DataError: ``out`` contains anything else, or a run cannot be read.

    Example:
        >>> from siming_tasks import open_dataset, write_report
        >>> written = write_report([physician, constant], open_dataset(exams), out, media="none", progress=False)
        >>> (written / "index.html").is_file()
        True
    """
    out, dataset, options = path_of(out, "out", "report"), as_dataset(dataset, "dataset"), Options.of(options)
    check_allowed(allow)
    check_replaced(out, *_REPORT)
    listed = [run.source if isinstance(run, Run) else run for run in ([runs] if isinstance(runs, str | Path) else runs)]
    groups = [[run] if isinstance(run, RunSource) else find_runs([str(path_of(run, "runs", "run"))]) for run in listed]
    sources = unique_names([source for group in groups or [find_runs([])] for source in group])
    with output_folder(out, *_REPORT) as part, _worker_map(jobs, max(len(sources), len(UNALTERED_TASKS))) as apply:

        def run_all(function: Callable[..., Any], items: Sequence[Any], unit: str, description: str) -> list[Any]:
            done = apply(function, items)
            return list(tqdm(done, total=len(items), unit=unit, desc=description, disable=not progress))

        analyze = bind(analyze_run, dataset=dataset, options=options, out=part, partial=partial, allow=allow)
        analyses = run_all(analyze, sources, "run", "Runs")
        join_answers(part, [source.slug for source in sources])
        settings = [name for name in UNALTERED_TASKS if any(name in run.settings for run in analyses)]
        compare = bind(_stand, analyses, dataset, options, allow)
        standings = corrected(dict(zip(settings, run_all(compare, settings, "table", "Tables"), strict=True)))
        report = _report_json(analyses, dataset, options, standings) | {"title": one_line(title, 120)}
        link = VideoLinker(media, dataset, out, part)
        _write_summary(part, report, standings, link)
        contents = ReportContents(part, page_facts(report), report, standings, tuple(analyses), dataset, link)
        contents.site.static()
        run_all(bind(_write_part, contents), _parts(jobs), "part", "Pages")
    return out


def _stand(
    analyses: Sequence[RunAnalysis], dataset: Dataset, options: Options, allow: Collection[str], setting: str
) -> Standing | None:
    entrants = [Entrant(run.task_runs[setting], run.source.slug, run.source.role, run.settings[setting])
                for run in analyses if setting in run.task_runs]  # fmt: skip
    return stand(entrants, dataset, setting, options, allow)


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _worker_map(jobs: int, tasks: int) -> Iterator[Callable[..., Any]]:
    """``map`` over at most ``jobs`` worker processes, and no more than there are tasks; below two, in this process."""
    number = min(jobs, tasks)
    if number < 2:
        with threadpool_limits(1):
            yield map
        return
    with worker_pool(number, _limit_threads) as executor:
        yield executor.map


def _limit_threads() -> None:
    """One core for each worker: small matrix products gain nothing from threads, which wait for one another busily."""
    import numpy  # noqa: F401 - its threads can be limited once it is there

    threadpool_limits(1)


def _parts(jobs: int) -> list[tuple[int | None, int, int]]:
    """Work that can be done side by side: place in :data:`PAGES`, share and shares; None stands for the exports.

    The longest parts come first, so that no worker begins one when the others are done.
    """
    parts: list[tuple[int | None, int, int]] = []
    for place, page in sorted(enumerate(PAGES), key=lambda item: not item[1].shared):
        shares = jobs if page.shared else 1
        parts += [(place, share, shares) for share in range(shares)]
    return [*parts, (None, 0, 1)]


def _write_part(contents: ReportContents, part: tuple[int | None, int, int]) -> None:
    place, share, shares = part
    if place is None:
        for standing in contents.standings.values():
            write_exports(contents.out, standing)
    else:
        PAGES[place].write(contents, share, shares)


def _is_report(out: Path) -> bool:
    try:
        with (out / "report.json").open(encoding="utf-8") as stream:
            return f'"format": "{FORMAT}"' in stream.read(200)
    except (OSError, UnicodeDecodeError):
        return False


_REPORT = ("a report", _is_report)
"""What may be replaced by a new report."""


def _report_json(
    analyses: Sequence[RunAnalysis], dataset: Dataset, options: Options, standings: Mapping[str, Standing]
) -> dict[str, Any]:
    """Everything that the pages show, as plain JSON: every number is a row of one of its lists of rows."""
    return {
        "format": FORMAT,
        "version": __version__,
        "synthetic": dataset.synthetic,
        "dataset": {
            **dataset.facts,
            "raters": dataset.raters_in_words,
            "machines": dataset.machine_raters,
            "people": dataset.people,
            "license": dataset.meta.get("license"),
            "videos": len(dataset.videos),
            "steps": len(dataset.rubric.steps),
            "points": dataset.rubric.max_score,
            "withheld": dataset.withheld,
        },
        "rubric": {"id": dataset.rubric.rubric_id, "version": dataset.rubric.version},
        "options": {name: getattr(options, name) for name in ("rater", "mapping")},
        "runs": [
            {
                "name": run.source.name,
                "slug": run.source.slug,
                "role": run.source.role,
                "source": public_name(run.source.path.name),
                "facts": run.source.facts,
                "warnings": run.warnings,
                "replies": run.replies,
                "prompts": run.prompts,
                "settings": run.settings,
                "tables": {name: rows.to_json() for name, rows in run.tables.items()},
            }
            for run in analyses
        ],
        "comparisons": {name: standing.to_json() for name, standing in standings.items()},
    }


def _write_summary(part: Path, report: Mapping[str, Any], standings: Mapping[str, Standing], link: VideoLinker) -> None:
    """Write ``report.json``, ``report.md`` and the links to the videos."""
    with atomic_write(part / "report.json") as stream:
        stream.write(json.dumps(report, allow_nan=False))  # a string, on one line: ten times as fast
    with atomic_write(part / "report.md") as stream:
        stream.write(summary_markdown(report, standings))
    videos = link.dataset.videos if link.media == "link" else ()
    links = {video.video_id: link(video) or "" for video in videos}
    write_media_links(part, MediaLinks(link.dataset.digest, link.dataset.name, links))


def page_facts(report: Mapping[str, Any]) -> dict[str, Any]:
    """The facts that every page shows, with the navigation."""
    links = [{"name": page.title, "href": page.href} for page in PAGES if page.title]
    facts = {key: report[key] for key in ("title", "synthetic", "dataset", "rubric", "options", "version")}
    return facts | {"pages": links}
