"""Folder that a command makes: its place is checked first, and it appears there only when it is complete.

Every command that makes a folder does it here: :func:`output_folder` for a new one or in place of an older one of its
kind, :func:`make_once` for long work that can be resumed.
"""

from __future__ import annotations

import glob
import logging
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from siming_tasks.common.errors import DISK_FULL, DataError, system_message
from siming_tasks.common.processes import locked
from siming_tasks.common.sanitize import one_line

_T = TypeVar("_T")
_log = logging.getLogger(__name__)
_KEY = ".begun"
"""File of an unfinished folder that says what is being made in it."""
_LEFT_SECONDS = 86_400
"""Age at which an unfinished folder that cannot be resumed is nobody's work any more."""
_OWN = ".files"
"""File that lists the files of a folder that a new one may replace."""


def check_place(out: Path, kind: str = "", is_one: Callable[[Path], bool] | None = None) -> bool:
    """Check the place of a folder to be made, before any work; True if one of its kind already exists.

    Args:
        out: the folder; a link means its target.
        kind: what the folder is, for the message: ``a report``.
        is_one: recognises a folder of this kind; without it, any folder that is not empty is refused.

    Raises:
        DataError: the place is taken by something else (a file, a device, a folder with other things in it), a disk is
            mounted on it, or nothing can be written there.
    """
    place = _place(out)
    with _errors_about(out, place):
        try:
            mode = place.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            mode = 0
        if mode and not stat.S_ISDIR(mode):
            what = "a file" if stat.S_ISREG(mode) else "a pipe, a socket or a device"
            raise DataError(f"{out}: is {what}. Give a folder.")
        if mode and any(place.iterdir()):
            if is_one is None or not is_one(place):
                what = f"already exists and is not {kind}" if kind else "exists"
                raise DataError(f"{out}: {what}. Choose another folder, or delete this one if you no longer need it.")
            return True
        _refuse_mount(out, place)
        above = next(folder for folder in (*place.parents, Path()) if os.path.lexists(folder))
        with tempfile.TemporaryFile(dir=above):  # says whether something can be written there
            pass
    return False


def check_replaced(out: Path, kind: str, is_one: Callable[[Path], bool]) -> bool:
    """Check the place as :func:`check_place` does, and that a folder there has no file but those written into it.

    What is hidden does not count: it is kept.
    """
    if not check_place(out, kind, is_one):
        return False
    place = _place(out)
    with _errors_about(out, place):
        if not (place / _OWN).is_file():
            raise DataError(f"{out}: has no list of its own files ({_OWN}). Choose another folder, or delete this one.")
        own = (place / _OWN).read_text(encoding="utf-8", errors="replace").splitlines()
        if foreign := sorted({*_files(place)} - {*own}):
            more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
            raise DataError(
                f"{out}: contains {one_line(foreign[0], 100)}{more}, which siming did not write there. Move it away, "
                "or choose another folder."
            )
    return True


def _files(place: Path) -> list[str]:
    """Names of all files in a folder, without what is hidden, which is kept."""
    found = (path.relative_to(place) for path in place.rglob("*") if path.is_symlink() or not path.is_dir())
    return sorted(path.as_posix() for path in found if not any(part.startswith(".") for part in path.parts))


@contextmanager
def output_folder(
    out: Path, kind: str = "", is_one: Callable[[Path], bool] | None = None, *, private: bool = False
) -> Iterator[Path]:
    """Provide a new folder that takes the place of ``out`` when the block ends well, and vanishes when it does not.

    An older one of its kind stays whole until then. What is hidden in it (``.git``, ``.nojekyll``) is kept. What a
    killed call left is removed a day later, by the next one.
    Arguments and errors are those of :func:`check_replaced`; a full or failing disk is a DataError, too. Nobody else
    can look into a ``private`` one, at no moment.
    """
    if is_one:
        check_replaced(out, kind, is_one)
    else:
        check_place(out)
    place = _place(out)
    with _errors_about(out, place), _parents(place):
        _refuse_mount(out, place)
        prefix = f".{place.name[:60]}.siming-"
        for left in place.parent.glob(f"{glob.escape(prefix)}*"):  # by a call that was killed
            with suppress(OSError):  # another call has just finished it
                if time.time() - left.stat().st_mtime > _LEFT_SECONDS:
                    shutil.rmtree(left, ignore_errors=True)
        part = Path(tempfile.mkdtemp(prefix=prefix, dir=place.parent))
        try:
            yield part
            if is_one:
                (part / _OWN).write_text("\n".join(_files(part)), encoding="utf-8")
            _swap(part, place, 0o700 if private else 0o755)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def make_once(
    out: Path, kind: str, is_one: Callable[[Path], bool], make: Callable[[Path], _T], key: str = ""
) -> _T | None:
    """Make a folder unless it exists, one process at a time; an interrupted call is continued.

    Args:
        out: the folder.
        kind: what it is, for messages: ``this demo``.
        is_one: tells whether a folder is the expected one; any other is refused.
        make: fills the unfinished folder ``.<name>.part`` next to ``out``, which is kept if that fails.
        key: identifies what is being made; unfinished work with another key is deleted.

    Returns:
        What ``make`` returned; None if the folder was there.

    Raises:
        DataError: as :func:`check_place`; the disk is full or fails.
    """
    if check_place(out, kind, is_one):  # without a lock: the folder around it may not be ours to write
        return None
    place = _place(out)
    part, lock = (place.with_name(f".{place.name}.{suffix}") for suffix in ("part", "lock"))
    with ExitStack() as held, _errors_about(out, place):
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            held.enter_context(locked(lock, timeout=1))
        except TimeoutError:
            _log.warning("Another process is working on %s; waiting for it.", out)
            held.enter_context(locked(lock))
        made = None if check_place(out, kind, is_one) else _go_on(part, place, make, key)
        with suppress(OSError):
            lock.unlink()  # whoever waits for it finds the folder
        return made


def _go_on(part: Path, place: Path, make: Callable[[Path], _T], key: str) -> _T:
    """Fill the unfinished folder, from the beginning if it is of another key, and put it in its place."""
    if os.path.lexists(part) and (part.is_symlink() or not part.is_dir()):
        raise DataError(f"{part}: is not a folder. Choose another place, or delete that file.")
    note = part / _KEY
    if not note.is_file() or note.read_text(encoding="utf-8") != key:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        note.write_text(key, encoding="utf-8")
    _sweep(part, note)
    made = make(part)
    _sweep(part)  # once more: a worker of a killed call may have been at work until now
    _swap(part, place)
    return made


def _place(out: Path) -> Path:
    """The folder itself: where a link leads to, and with a name of its own."""
    return Path(os.path.realpath(out)) if os.path.islink(out) or out.name in ("", "..") else out


def _refuse_mount(out: Path, place: Path) -> None:
    if os.path.ismount(place):
        raise DataError(f"{out}: a disk is mounted there and cannot be replaced. Give a folder inside it.")


@contextmanager
def _parents(place: Path) -> Iterator[None]:
    """Make the folders above a place; those that were made go when the block fails."""
    new = [folder for folder in place.parents if not os.path.lexists(folder)]
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for folder in new:
            with suppress(OSError):
                folder.rmdir()
        raise


def _sweep(part: Path, keep: Path | None = None) -> None:
    """Remove the hidden files of an unfinished folder: what killed workers left half-written."""
    for path in part.rglob(".*"):
        if path != keep:
            path.unlink(missing_ok=True)


def _swap(part: Path, place: Path, mode: int = 0o755) -> None:
    """Put a finished folder in its place; the older one is there until then, and again if that fails."""
    part.chmod(mode)  # mkdtemp makes its folder 0700
    if place.is_dir() and not any(place.iterdir()):
        place.rmdir()
    if not place.exists():
        os.replace(part, place)
        return
    beside = Path(tempfile.mkdtemp(prefix=f".{place.name[:60]}.old.", dir=place.parent))
    old = beside / "old"
    try:
        os.replace(place, old)
        os.replace(part, place)
    except BaseException:
        if old.exists() and not place.exists():
            os.replace(old, place)
        raise
    else:
        for path in sorted(old.rglob(".*")):  # a folder before what is in it
            target = place / path.relative_to(old)
            if path.exists() and target.parent.is_dir() and not target.exists():
                os.replace(path, target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


@contextmanager
def _errors_about(out: Path, place: Path) -> Iterator[None]:
    """Turn what the system says about ``out``, and what lies beside it, into a sentence about ``out``."""
    try:
        yield
    except OSError as error:
        named = [Path(os.fsdecode(name)) for name in (error.filename, error.filename2) if isinstance(name, str | bytes)]
        ours = error.errno in DISK_FULL or any(path.is_relative_to(above) for path in named for above in place.parents)
        if not ours or not (message := system_message(error)):
            raise
        raise DataError(f"{out}: cannot be written: {message}") from error
