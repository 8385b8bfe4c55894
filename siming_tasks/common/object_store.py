"""Folder of an object store (``s3://bucket/folder``, ``gs://``, ``memory://``...), through fsspec.

An object appears whole or not at all and is never changed here: every name is written once, so that nothing needs the
locks that an object store does not have. The credentials are those of the store's own library and its environment.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager

from siming_tasks.common.errors import DataError
from siming_tasks.common.redact import redact


def is_url(place: str) -> bool:
    """Test whether a place is the address of an object store and no folder of this machine.

    Example:
        >>> is_url("s3://bucket/replies"), is_url("/shared/replies")
        (True, False)
    """
    return "://" in place


class ObjectFolder:
    """Objects below an address, by their names relative to it.

    Raises:
        DataError: there is no such kind of store, its library is not installed, or (from every method) it cannot be
            reached; names the address without its secrets.
    """

    def __init__(self, url: str) -> None:
        self.url = str(redact(url))
        with self._named():
            self._store, root = importlib.import_module("fsspec.core").url_to_fs(url)
        self._root = str(root).rstrip("/")

    def names(self) -> set[str]:
        """Names of all objects, as they are now."""
        with self._named():
            self._store.invalidate_cache()
            try:
                found = self._store.find(self._root)
            except FileNotFoundError:
                return set()
        return {str(path)[len(self._root) :].lstrip("/") for path in found}

    def get(self, name: str) -> bytes:
        """Content of an object."""
        with self._named():
            content: bytes = self._store.cat_file(f"{self._root}/{name}")
        return content

    def put(self, name: str, content: bytes) -> None:
        """Write an object of a new name."""
        path = f"{self._root}/{name}"
        with self._named():
            if "file" in self._store.protocol:  # elsewhere it would make a bucket that was only misspelt
                self._store.makedirs(path.rpartition("/")[0], exist_ok=True)
            self._store.pipe_file(path, content)

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001 - each store's library raises errors of its own
            said = str(redact(f"{type(error).__name__}: {error}"))[:300]
            raise DataError(f"{self.url}: the object store cannot be used ({said}).") from None
