"""Which videos a report's pages link to, and of which data set: what ``siming view`` needs to know."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import atomic_write, read_text

__all__ = ["Links", "read_links", "write_links"]

NAME = "media.json"
MOST = 64_000_000


@dataclass(frozen=True)
class Links:
    """What the pages link to.

    Attributes:
        dataset: digest of the data set.
        name: its name.
        videos: by id, the link as seen from one folder down; none for a report without videos or with copies of them.
    """

    dataset: str
    name: str
    videos: Mapping[str, str]


class _File(BaseModel):
    dataset: str
    name: str
    videos: dict[str, str]


def write_links(folder: Path, links: Links) -> None:
    """Write them into the report."""
    with atomic_write(folder / NAME) as stream:
        json.dump(vars(links), stream)


def read_links(folder: Path) -> Links:
    """The links of a report.

    Raises:
        DataError: the folder is no report, or one of an older version.
    """
    if not (folder / "index.html").is_file():
        raise DataError(f"{folder}: no report. Give the folder that `siming report --out` wrote.")
    path = folder / NAME
    if not path.is_file():
        raise DataError(f"{folder}: has no {NAME}. Write the report again with this version of siming-tasks.")
    try:
        return Links(**_File.model_validate_json(read_text(path, MOST)).model_dump())
    except ValidationError:
        raise DataError(f"{path}: cannot be read. Write the report again.") from None
