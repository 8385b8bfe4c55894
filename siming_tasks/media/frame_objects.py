"""Exchange of prepared frames with an object store: what one machine has decoded, another one need not.

What a video's folder of the frame store has and no object holds yet becomes one archive (tar), named by its content,
and a list of its files beside it. Objects are written once and need no locks; the folders that they come from and go to
are written under the locks of the frame store.
"""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
from collections.abc import Iterator

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import atomic_write
from siming_tasks.common.object_store import ObjectFolder
from siming_tasks.media.store import LAYOUT, FrameStore

_FILE = re.compile(r"(timeline|signal)\.json|(\d+|full)q\d+/\d{6,}\.jpg|(clips|proxies)/[0-9a-f-]+\.mp4")
"""Name of a file of the frame store, below its video's folder; nothing else is taken out of an archive."""


def fetch_frames(store: FrameStore, objects: ObjectFolder, names: set[str]) -> int:
    """Write the files of a video that the object store has and its folder lacks; returns how many.

    Args:
        store: of the video.
        objects: see :class:`~siming_tasks.common.object_store.ObjectFolder`.
        names: of all objects.

    Raises:
        DataError: the object store cannot be used, or an archive is not what its name says.
    """
    count = 0
    for name, held in _archives(store, objects, names):
        if held <= _files(store):
            continue
        content = objects.get(name)
        if _digest(content) not in name:
            raise DataError(f"{objects.url}/{name}: damaged. Delete it, and prepare the video again.")
        with store.writing(), tarfile.open(fileobj=io.BytesIO(content)) as archive:
            for member in archive:
                wanted = member.isfile() and _FILE.fullmatch(member.name)
                stream = archive.extractfile(member) if wanted else None
                if stream is None or (path := store.folder / member.name).exists():
                    continue
                with atomic_write(path, "wb") as target:
                    target.write(stream.read())
                count += 1
    return count


def hand_over_frames(store: FrameStore, objects: ObjectFolder, names: set[str]) -> int:
    """Write the files of a video that the object store lacks into it; returns how many. Arguments as above."""
    new = sorted(_files(store).difference(*(held for _, held in _archives(store, objects, names))))
    if not new:
        return 0
    with io.BytesIO() as buffer:
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for name in new:
                content = (store.folder / name).read_bytes()
                member = tarfile.TarInfo(name)  # without owner and date: equal files are an equal archive
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        packed = buffer.getvalue()
    name = f"{LAYOUT}/{store.digest}/{_digest(packed)}"
    objects.put(f"{name}.tar", packed)
    objects.put(f"{name}.names", "\n".join(new).encode())  # last: whoever reads it finds the archive
    return len(new)


def _archives(store: FrameStore, objects: ObjectFolder, names: set[str]) -> Iterator[tuple[str, set[str]]]:
    """Archives of a video, each with the names of its files."""
    for name in sorted(names):
        if name.startswith(f"{LAYOUT}/{store.digest}/") and name.endswith(".names"):
            yield f"{name.removesuffix('.names')}.tar", set(objects.get(name).decode(errors="replace").split("\n"))


def _files(store: FrameStore) -> set[str]:
    paths = (path.relative_to(store.folder).as_posix() for path in store.folder.rglob("*"))
    return {name for name in paths if _FILE.fullmatch(name)}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
