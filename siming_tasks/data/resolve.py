"""Choice of a run's dataset: a folder, a Hugging Face repository, or the demo made on first use."""

from __future__ import annotations

import logging
import re
import shutil
from pathlib import Path

from siming_tasks.common.errors import DataError
from siming_tasks.common.locks import locked
from siming_tasks.data.dataset import open_dataset
from siming_tasks.data.hub import fetch
from siming_tasks.data.verify_media import verify_media
from siming_tasks.options import Options

__all__ = ["is_hub_name", "resolve_dataset"]

_log = logging.getLogger(__name__)
_HUB = re.compile(r"^(?P<repo>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:@(?P<revision>[\w./-]+))?$")


def is_hub_name(text: str) -> bool:
    """True if a text is ``org/name[@revision]``."""
    return _HUB.match(text) is not None


def resolve_dataset(settings: Options, named: str = "SIMING_DATA") -> Path:
    """The dataset folder that ``settings.data`` means; fetched or generated if need be.

    Args:
        settings: of the run.
        named: the variable, flag or word that named it, for the error.

    Raises:
        DataError: there is no such folder, or the repository cannot be fetched; says what to do.
    """
    if not settings.data:
        return _demo(settings)
    folder = Path(settings.data).expanduser()
    if folder.is_dir():
        return folder
    if (match := _HUB.match(settings.data)) and not folder.exists():
        return fetch(match["repo"], match["revision"])
    sign, undo = ("=", "unset") if named == "SIMING_DATA" else (" ", "leave out")
    raise DataError(
        f"{named}{sign}{settings.data!r}: no such folder, and not a Hugging Face dataset (org/name[@revision]). Give "
        f"a folder with dataset.yaml, or {undo} {named} for the synthetic demo."
    )


def _demo(settings: Options) -> Path:
    from siming_tasks.tools import simulator

    home = settings.cache_dir / "demo" / f"{simulator.GENERATOR_VERSION}-{settings.demo_videos}"
    home.parent.mkdir(parents=True, exist_ok=True)
    _log.warning("No SIMING_DATA: using the SYNTHETIC demo (%d simulated exams) in %s", settings.demo_videos, home)
    if _sound(home, settings.cache_dir):  # without a lock: a finished demo serves from a folder that cannot be written
        return home
    with locked(f"{home}.lock"):  # one process generates, the other ranks wait
        if not _sound(home, settings.cache_dir):
            shutil.rmtree(home, ignore_errors=True)
            simulator.make_demo(home, videos=settings.demo_videos, seed=0, jobs=2, progress=True)
    return home


def _sound(home: Path, cache: Path) -> bool:
    """True if the demo is there, whole and unchanged."""
    try:
        dataset = open_dataset(home)
        verify_media(dataset, cache)
    except DataError:
        return False
    return set(dataset.meta["media_sha256"]) == {video.media for video in dataset.videos}
