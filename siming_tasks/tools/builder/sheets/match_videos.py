"""Matching of a sheet's video names with files: by the same letters first, then by another form of them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from pathlib import Path

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import inside
from siming_tasks.tools.builder.sheets.cell_values import spelled

__all__ = ["SUFFIXES", "VideoFiles", "one_spelling"]

SUFFIXES = frozenset(
    (
        *(
            ".mp4",
            ".mov",
            ".m4v",
            ".avi",
            ".mkv",
            ".webm",
            ".mpg",
            ".mpeg",
            ".mpe",
            ".wmv",
            ".asf",
            ".flv",
            ".mts",
            ".m2ts",
        ),
        *(".ts", ".3gp", ".3g2", ".dav", ".mxf", ".ogv", ".vob"),
    )
)


def one_spelling(name: str) -> str:
    """A name where there are no files to compare it with."""
    return spelled(name)


class VideoFiles:
    """The video files below a folder, by path, file name and stem.

    Raises:
        DataError: the folder is missing or holds no video.
    """

    def __init__(self, folder: Path) -> None:
        if folder.is_file():
            raise DataError(f"{folder}: is a file. Give the folder of the video files.")
        if not folder.is_dir():
            raise DataError(f"{folder}: no such folder. Give the folder of the video files.")
        self.folder = folder
        self.files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
        if not self.files:
            raise DataError(f"{folder}: holds no video file ({', '.join(sorted(SUFFIXES))}).")
        self._exactly: dict[str, list[Path]] = {}
        self._nearly: dict[str, list[Path]] = {}
        for path in self.files:
            for name in {path.relative_to(folder).as_posix(), path.name, path.stem}:
                self._exactly.setdefault(name, []).append(path)
                self._nearly.setdefault(spelled(name), []).append(path)

    def find(self, name: str) -> list[Path]:
        """The files that a name may mean: those of exactly this name, else those of the same normal form."""
        return self._exactly.get(name) or self._file(name) or list(dict.fromkeys(self._nearly.get(spelled(name), [])))

    def _file(self, name: str) -> list[Path]:
        """A file below the folder that is named in full, whatever its suffix: what it is, is known by its content."""
        try:
            path = inside(self.folder, name)
            return [path] if path.is_file() else []
        except (OSError, ValueError):
            return []

    def similar(self, name: str) -> list[str]:
        """Up to three file names that resemble a name."""
        names = [path.relative_to(self.folder).as_posix() for path in self.files]
        near = difflib.get_close_matches(spelled(name), [spelled(Path(each).stem) for each in names], 3, 0.75)
        return [each for each in names if spelled(Path(each).stem) in near][:3]

    def speller(self) -> Callable[[str], str]:
        """Gives all spellings of one name in a sheet that mean the same file the first of them."""
        first: dict[tuple[str, ...], str] = {}
        return lambda name: first.setdefault((spelled(name), *map(str, self.find(name))), name)

    def same(self, name: str, names: Iterable[str]) -> str | None:
        """The one among ``names`` that means the same file as ``name`` (itself, if it is there)."""
        names = list(names)
        if name in names:
            return name
        file = self.find(name)
        same = [each for each in names if len(file) == 1 and self.find(each) == file]
        return same[0] if len(same) == 1 else None
