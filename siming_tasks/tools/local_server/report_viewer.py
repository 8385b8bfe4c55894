"""Viewer of a report that may be a stranger's: its pages and data, none of its scripts, videos of a named data set.

Scripts and styles are this package's own, whatever the folder contains instead. A data file is read as JSON and written
again (:func:`siming_tasks.study.report.viewer_files.data_calls`). A page is shown in a frame, because only the policy
of the page around it keeps a page from going elsewhere by itself (``frame-src``); its own policy keeps it from
fetching, from running anything of its own, and from opening windows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import inside, read_text
from siming_tasks.common.printed_value import counted
from siming_tasks.data import Dataset, open_dataset
from siming_tasks.study.report.pages.site import POLICY
from siming_tasks.study.report.viewer_files import MediaLinks, data_calls
from siming_tasks.tools.local_server.local_server import not_found, play, require_key

PAGE_POLICY = f"{POLICY}; frame-ancestors 'self'; sandbox allow-scripts allow-same-origin"
FRAME_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; frame-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {"content-security-policy": PAGE_POLICY, "cache-control": "no-store"}
_NO_KEY = "This is a report, and this is not its address. Open the whole address that `siming view` printed."
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
MAX_BYTES = 64_000_000
"""Bytes of a page or of a data file."""
_FOREIGN = re.compile(
    r"""<(?=(?:link|meta|iframe|object|embed)[\s/>])
    (?!link\ rel="(?:stylesheet|icon)"\ href="(?:\.\./)*static/[^">]*"[^>"]*(?:"[^>"]*")?>)
    (?!meta\ (?:charset|(?:name|http-equiv)="(?:viewport|referrer|Content-Security-Policy)"\ content)="[^"]*">)""",
    re.IGNORECASE | re.VERBOSE,
)
"""Links, instructions and frames of a page that are not ours: no policy keeps browsers from connecting early."""


@dataclass(frozen=True)
class ViewedReport:
    """A report with the data set whose videos it shows.

    Attributes:
        dataset: named by the user; None: no video of a data set is shown.
        cache: where copies are made of videos that browsers do not play.
    """

    folder: Path
    links: MediaLinks
    dataset: Dataset | None
    cache: Path

    @classmethod
    def of(cls, folder: Path, links: MediaLinks, named: Path | None, cache: Path) -> ViewedReport:
        """The report in a folder, and the data set that the user names.

        Raises:
            DataError: ``named`` is not a data set, or not the report's.
        """
        dataset = open_dataset(named, media=False) if named else None
        if dataset and dataset.digest != links.dataset:
            raise DataError(
                f"{named}: is {dataset.name} {dataset.digest[:12]}, and the report shows {links.name} "
                f"{links.dataset[:12]}. Give the data set that it was made from."
            )
        return cls(folder, links, dataset, cache)

    def remark(self) -> str:
        """A warning about the videos for the user; empty if all is well."""
        if not self.links.videos:
            return "" if (self.folder / "media").is_dir() else "The report was made without videos."
        if self.dataset is None:
            return "To see its videos, give --data DIR, the data set that it was made from."
        gone = [video for video in self.dataset.videos if not self.dataset.media_path(video).is_file()]
        of = f"{len(gone)} of {counted(len(self.dataset.videos), 'video')}"
        return f"Missing in {self.dataset.root}: {of}." if gone else ""

    def page(self, text: str) -> str:
        """A page of the report, one folder down, whose links to videos lead to those of the data set."""
        named = self.dataset.by_id if self.dataset else {}
        videos = {
            link: f"../../video/{quote(name, safe='')}" for name, link in self.links.videos.items() if name in named
        }
        text = re.sub(r'(?<=")[^"<>]+(?=")', lambda found: videos.get(found[0], found[0]), text) if videos else text
        return _FOREIGN.sub("<x-", text)


def application(viewed: ViewedReport, *, key: str) -> Starlette:
    """The application that serves a report: GET and HEAD, parts of files, no listing, nothing by a link out of it."""
    own = resources.files("siming_tasks.tools.local_server") / "static"
    frame = (own / "frame.html").read_text(encoding="utf-8").format(key=key)

    def around(request: Request) -> Response:
        return Response(frame, media_type="text/html", headers={"content-security-policy": FRAME_POLICY})

    def part(request: Request) -> Response:
        name = request.url.path.rpartition("/")[2]
        return Response((own / name).read_bytes(), media_type=KINDS[Path(name).suffix])

    def content(request: Request) -> Response:
        path = request.path_params["path"]
        if request.headers.get("sec-fetch-dest") == "document":  # its address was opened by itself
            return around(request)
        folder, _, name = path.rpartition("/")
        if folder == "static":
            ours = resources.files("siming_tasks.study.report") / "static" / name
            return Response(ours.read_bytes(), media_type=KINDS[Path(name).suffix]) if ours.is_file() else not_found()
        try:
            file = inside(viewed.folder, path)
            kind = KINDS[file.suffix]
            if not file.is_file() or kind == "text/css":
                return not_found()
            if kind == "text/javascript":
                return Response(data_calls(read_text(file, MAX_BYTES)), media_type=kind)
            if kind == "text/html":
                return Response(viewed.page(read_text(file, MAX_BYTES)), media_type=kind)
        except (ValueError, KeyError, DataError):
            return not_found()
        # An SVG or PDF opened by itself could connect; as a part of a page it is shown all the same.
        return FileResponse(file, media_type=kind, filename=None if kind.startswith("video/") else file.name)

    def video(request: Request) -> Response:
        name, dataset = request.path_params["name"], viewed.dataset
        if dataset is None or name not in dataset.by_id:
            return not_found()
        shown = dataset.video(name)
        # The digest refuses a file that is not the one stated.
        return play(lambda: (dataset.media_path(shown), dataset.media_digest(shown, viewed.cache)), viewed.cache, 404)

    routes = [
        Route("/", around),
        *(Route(f"/frame.{kind}", part) for kind in ("css", "js")),
        Route("/report/{path:path}", content, methods=["GET"]),
        Route("/video/{name}", video),
    ]
    return require_key(routes, key, HEADERS, _NO_KEY)
