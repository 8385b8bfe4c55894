"""The pages of a report as parts that can be written side by side."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from siming_tasks.analysis.run_analyses import DETAIL_RESAMPLES
from siming_tasks.common.schema import Video
from siming_tasks.data import Dataset
from siming_tasks.report.downloads import write_downloads
from siming_tasks.report.links import Links, write_links
from siming_tasks.report.pages.disagreements import disagreement_pages
from siming_tasks.report.pages.model import model_page
from siming_tasks.report.pages.overview import leaderboard
from siming_tasks.report.pages.pairs import pair_pages
from siming_tasks.report.pages.site import Site
from siming_tasks.report.pages.steps import rubric_note, step_pages
from siming_tasks.report.pages.videos import video_pages
from siming_tasks.report.study.study import Study

__all__ = [
    "Book",
    "Linker",
    "Media",
    "difference_chapter",
    "front",
    "model_pages",
    "pair_chapter",
    "step_chapter",
    "video_chapter",
]

Media = Literal["link", "copy", "none"]


@dataclass(frozen=True)
class Linker:
    """How a page one folder down names a video's file: a relative link, a copy in the report, or not at all.

    Attributes:
        media: which of the three.
        dataset: where the files are.
        out: where the report will be.
        part: where it is being written.
    """

    media: Media
    dataset: Dataset
    out: Path
    part: Path

    def __call__(self, video: Video) -> str | None:
        """The link, percent-encoded; None without videos."""
        if self.media == "none":
            return None
        source = self.dataset.media_path(video)
        if self.media == "link":
            return quote(Path(os.path.relpath(source.resolve(), (self.out / "videos").resolve())).as_posix())
        target = self.part / "media" / f"{video.video_id}{source.suffix}"
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(source, target)
        return quote(f"../media/{target.name}")


@dataclass(frozen=True)
class Book:
    """What every part of the report is written from."""

    part: Path
    report: Mapping[str, Any]
    studies: Sequence[Study]
    dataset: Dataset
    pairs: Sequence[Mapping[str, Any]]
    link: Linker

    @property
    def site(self) -> Site:
        """The folder of pages with its navigation."""
        links = {"Leaderboard": "index.html", "Steps": "steps/index.html", "Videos": "videos/index.html"}
        links |= {"Disagreements": "disagreements/index.html"}
        links |= {"Pairs": "pairs/index.html"} if self.pairs else {}
        about = {key: self.report[key] for key in ("synthetic", "dataset", "rubric", "options", "version")}
        pages = [{"name": name, "href": href} for name, href in {**links, "How to read this": "methods.html"}.items()]
        about |= {"title": self.report["title"], "pages": pages, "detail_resamples": DETAIL_RESAMPLES}
        return Site(self.part, about)


def model_pages(book: Book, part: int, parts: int) -> None:
    """Every ``parts``-th run's page, beginning with the ``part``-th."""
    site = book.site
    for run in book.report["runs"][part::parts]:
        model_page(site, book.report, run, book.dataset.rubric)


def step_chapter(book: Book) -> None:
    """The rubric's steps."""
    step_pages(book.site, book.report, book.dataset.rubric, book.studies)


def video_chapter(book: Book, part: int, parts: int) -> None:
    """Every ``parts``-th video's page."""
    video_pages(book.site, book.dataset, book.studies, book.link, book.report["options"]["mapping"], part, parts)


def difference_chapter(book: Book) -> None:
    """Every answer that differs from the reference."""
    options = book.report["options"]
    disagreement_pages(book.site, book.dataset, book.studies, book.link, options["mapping"], options["rater"])


def pair_chapter(book: Book) -> None:
    """The minimal_pairs, if there are any."""
    if book.pairs:
        pair_pages(book.site, book.dataset, book.pairs, book.report, book.studies, book.link)


def front(book: Book) -> None:
    """The leaderboard, what can be taken away, the page on how to read it all, and where the videos are."""
    write_downloads(book.part, book.report)
    site, about = book.site, book.report["dataset"]
    leaderboard(site, book.report)
    videos = {video.video_id: book.link(video) or "" for video in book.dataset.videos if book.link.media == "link"}
    write_links(book.part, Links(book.dataset.digest, book.dataset.name, videos))
    rubric = f"{book.dataset.rubric.rubric_id} {book.dataset.rubric.version}"
    facts = [
        ("dataset", f"{about['name']} {about['version']}{' (synthetic)' if book.report['synthetic'] else ''}"),
        ("digest", about["digest"]),
        ("license", str(about["license"] or "not stated")),
        ("videos", str(about["videos"])),
        ("rubric", f"{rubric}, {about['steps']} steps, {about['points']:g} points"),
        ("scored with", ", ".join(f"{key} {value}" for key, value in book.report["options"].items())),
        ("siming-tasks", book.report["version"]),
    ]
    site.page("methods.html", "methods.html", facts=facts, rubric_note=rubric_note(book.dataset.rubric))
