"""A report served to this machine: its pages, the videos of the data set where the pages link to, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import inside
from siming_tasks.data import Dataset, open_dataset
from siming_tasks.report.pages.site import POLICY
from siming_tasks.report.viewer_files import MediaLinks
from siming_tasks.tools.local_server.local_server import AccessKey, ServedSite, not_found, play, require_key

HEADERS = {"content-security-policy": f"{POLICY}; frame-ancestors 'none'", "cache-control": "no-cache"}
_NO_KEY = "This is a report, and this browser has not got its key. Open the whole address that `siming view` printed."
SITE = ServedSite("Report", "/static/icon.svg", HEADERS, _NO_KEY)
KINDS = {
    **{f".{name}": f"text/{name}" for name in ("html", "css")},
    **{f".{name}": f"application/{name}" for name in ("json", "pdf")},
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".webm": "video/webm",
    **dict.fromkeys((".md", ".csv", ".tex"), "text/plain"),
    **dict.fromkeys((".mp4", ".m4v", ".mov"), "video/mp4"),
}
"""File types of a report with their media types; other files are not served."""
ABOVE = 4
"""Number of folders above a video in which its data set is looked for."""


@dataclass(frozen=True)
class ViewedReport:
    """A report with the data set whose videos it shows.

    Attributes:
        dataset: None: the videos were not found, or the report needs none.
        cache: where copies are made of videos that browsers do not play.
    """

    folder: Path
    links: MediaLinks
    dataset: Dataset | None
    cache: Path

    @property
    def addresses(self) -> Mapping[str, str]:
        """By path on the server, the id of the video that pages link to there.

        A link may lead out of the report (``../../data/media/x.mp4``); a browser ends it at the top of the server.
        """
        return {
            unquote(urlsplit(urljoin("http://h/videos/", link)).path): name for name, link in self.links.videos.items()
        }

    def remark(self) -> str:
        """A warning about the videos for the user; empty if all is well."""
        if not self.links.videos:
            return "" if (self.folder / "media").is_dir() else "The report was made without videos."
        if self.dataset is None:
            return "Its videos are not where the report links to: give their data set with --data DIR."
        gone = [video for video in self.dataset.videos if not self.dataset.media_path(video).is_file()]
        return f"{len(gone)} of {len(self.dataset.videos)} videos are missing in {self.dataset.root}." if gone else ""


def find_dataset(folder: Path, links: MediaLinks, named: Path | None) -> Dataset | None:
    """The data set that a report was made of; None if none is named and the links lead to none.

    Raises:
        DataError: the folder ``named`` by the user is no data set, or another one.
    """
    if named:
        dataset = open_dataset(named, media=False)
        if dataset.digest != links.dataset:
            raise DataError(
                f"{named}: is {dataset.name} {dataset.digest[:12]}, and the report shows {links.name} "
                f"{links.dataset[:12]}. Give the data set that it was made of."
            )
        return dataset
    first = next(iter(links.videos.values()), None)
    parents = (folder / "videos" / unquote(first)).resolve().parents[:ABOVE] if first else ()
    root = next((root for root in parents if (root / "dataset.yaml").is_file()), None)
    try:
        found = open_dataset(root, media=False) if root else None
    except DataError:
        return None
    return found if found and found.digest == links.dataset else None


def application(viewed: ViewedReport, *, key: AccessKey) -> Starlette:
    """The application that serves a report: GET and HEAD, parts of files, no listing, nothing by a link out of it."""
    dataset = viewed.dataset
    videos = {} if dataset is None else {at: name for at, name in viewed.addresses.items() if name in dataset.by_id}

    def page(request: Request) -> Response:
        address = f"/{request.path_params['path']}"
        if dataset and address in videos:
            video = dataset.video(videos[address])
            # The digest refuses a file that is not the one stated.
            path = dataset.media_path(video)
            return play(lambda: (path, dataset.media_digest(video, viewed.cache)), viewed.cache, 404)
        try:
            file = inside(viewed.folder, address.lstrip("/") or "index.html")
        except ValueError:
            return not_found()
        kind = KINDS.get(file.suffix)
        return FileResponse(file, media_type=kind) if kind and file.is_file() else not_found()

    return require_key([Route("/{path:path}", page, methods=["GET"])], key, SITE)
