"""Links from a report's pages to the videos, and the file from which ``siming view`` reads them again."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import atomic_write, read_text
from siming_tasks.common.schema import Video
from siming_tasks.data import Dataset

__all__ = ["Media", "MediaLinks", "VideoLinker", "read_media_links", "write_media_links"]

FILE_NAME = "media.json"
MAX_BYTES = 64_000_000

Media = Literal["link", "copy", "none"]


@dataclass(frozen=True)
class VideoLinker:
    """Address of a video's file for pages one folder down: a relative link, a copy in the report, or none at all.

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
        """The address, percent-encoded; None without videos."""
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
class MediaLinks:
    """The videos that the pages link to.

    Attributes:
        dataset: digest of the data set.
        name: its name.
        videos: by id, the link as seen from one folder down; none for a report without videos or with copies of them.
    """

    dataset: str
    name: str
    videos: Mapping[str, str]


class _LinksFile(BaseModel):
    dataset: str
    name: str
    videos: dict[str, str]


def write_media_links(folder: Path, links: MediaLinks) -> None:
    """Write the links into the report."""
    with atomic_write(folder / FILE_NAME) as stream:
        json.dump(vars(links), stream)


def read_media_links(folder: Path) -> MediaLinks:
    """The links of a report.

    Raises:
        DataError: the folder is no report, or one of an older version.
    """
    if not (folder / "index.html").is_file():
        raise DataError(f"{folder}: no report. Give the folder that `siming report --out` wrote.")
    path = folder / FILE_NAME
    if not path.is_file():
        raise DataError(f"{folder}: has no {FILE_NAME}. Write the report again with this version of siming-tasks.")
    try:
        return MediaLinks(**_LinksFile.model_validate_json(read_text(path, MAX_BYTES)).model_dump())
    except ValidationError:
        raise DataError(f"{path}: cannot be read. Write the report again.") from None
