"""Leases of requests: of several processes that want the same reply, one asks for it and the others wait.

A lease is a file that only one process can make, so that no lock service of the file system is needed. Its holder
renews it while it waits for the reply. The next process takes the lease of a dead process on the same machine at once,
and that of a process which has renewed nothing for :data:`LEASE_SECONDS` (another machine went down) after that time.
A process that is killed between the making of the file and the writing of its name leaves an empty file. filelock
waits for such a holder forever; here it is taken to be dead after :data:`EMPTY_SECONDS`.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from filelock import SoftFileLease, Timeout

LEASE_SECONDS = 60.0
"""Seconds without a sign of life of its holder after which a lease may be taken; all processes must agree on it."""
EMPTY_SECONDS = 5.0
"""Seconds after which a lease may be taken that names no holder; to write the name takes less than a millisecond."""


class Leases:
    """Leases that one process holds or waits for, as files in a folder, each named by the key of its request."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._leases: dict[str, SoftFileLease] = {}
        self._empty_since: dict[tuple[str, int, int], float] = {}

    def take(self, key: str) -> bool:
        """Take the lease of a request, if this process does not hold it; False if another process does.

        A folder in which nothing can be written has no leases: a request that is asked twice costs less than one that
        is never asked.
        """
        try:
            if key not in self._leases:
                self.folder.mkdir(parents=True, exist_ok=True)
                # a thread may give back what another has taken; an object remembers how long a lease was not renewed
                self._leases[key] = SoftFileLease(self.folder / key, lease_duration=LEASE_SECONDS, thread_local=False)
            if not self._leases[key].is_locked:
                self._leases[key].acquire(blocking=False)
        except Timeout:
            self._remove_if_abandoned(key)
            return False
        except OSError:
            pass
        return True

    def _remove_if_abandoned(self, key: str) -> None:
        """Remove a lease that has been empty for :data:`EMPTY_SECONDS` of this process's own clock."""
        with suppress(OSError):
            if not (state := (self.folder / key).stat()).st_size:
                since = self._empty_since.setdefault((key, state.st_ino, state.st_ctime_ns), time.monotonic())
                if time.monotonic() - since >= EMPTY_SECONDS:
                    (self.folder / key).unlink()

    def give_back(self, key: str) -> None:
        """Let other processes ask a request; nothing happens if its lease is not held."""
        if lease := self._leases.pop(key, None):
            with suppress(OSError):  # it expires
                lease.release()

    def close(self) -> None:
        """Give back all leases."""
        for key in list(self._leases):
            self.give_back(key)
