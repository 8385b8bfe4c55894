"""Server that has imported lmms-eval and runs its command in forks of itself: the import costs more than a run.

A client (``warm_client.py``) sends a job: ``argv``, ``cwd``, ``env``, perhaps a Python ``script`` to run instead, and
its standard files. It gets the fork's process id, and at the end the exit code. A fork goes through the console
script's own ``main`` and ends as any interpreter does. What is kept from fork to fork is what is imported, and the
index of lmms-eval's own 1,600 task files; ours are indexed anew. A client that goes away takes its fork with it, and
the server ends with the last client that holds a ``lease``.
"""

import functools
import gc
import json
import os
import resource
import runpy
import selectors
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from lmms_eval import tasks
from lmms_eval.cli.dispatch import main
from lmms_eval.models import MODEL_REGISTRY_V2

LATER = (
    "lmms_eval.__main__",
    "av",
    "lmms_eval.models.chat.openai",
    "nltk",
    "pytablewriter",
    "siming_tasks.plugin.reference_model",
    "torch.distributed.run",
)
"""Modules that a run imports late; runs share the modules and no other state."""


def index_once(manager: Any) -> None:
    own, index = f"{Path(tasks.__file__).parent}/", manager._get_task_and_group
    known = index(manager(include_defaults=False), own)

    @functools.wraps(index)
    def get_task_and_group(self: Any, task_dir: str) -> Any:
        return known if task_dir == own else index(self, task_dir)

    manager._get_task_and_group = get_task_and_group


def become(job: dict[str, Any], files: list[int]) -> None:
    """Make this fork what the command would be in its folder."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if "limit" in job:
        resource.setrlimit(resource.RLIMIT_FSIZE, job["limit"])
    os.chdir(job["cwd"])
    os.environ.clear()
    os.environ.update(job["env"])
    for target, descriptor in enumerate(files):
        os.dup2(descriptor, target)
        os.close(descriptor)
    sys.argv = [job["script"] or "lmms-eval", *job["argv"]]
    folders = [folder for folder in job["env"].get("PYTHONPATH", "").split(os.pathsep) if folder]
    sys.path[:0] = folders
    for distribution in distributions(path=folders):  # lmms-eval looked for models before this path was there
        for point in distribution.entry_points.select(group="lmms_eval.models"):
            for manifest in MODEL_REGISTRY_V2._coerce_payload_to_manifests(point.load()):
                MODEL_REGISTRY_V2.register_manifest(manifest)


def receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    header, files, _, _ = socket.recv_fds(connection, 8, 3)
    size, text = int(header), b""
    while len(text) < size:
        text += connection.recv(size - len(text))
    return json.loads(text), files


def serve(listener: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Start and watch forks until no lease is left; in a fork, return its job and files."""
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    leases = 0
    while True:
        for key, _ in selector.select():
            if key.fileobj not in selector.get_map():  # closed by an event just before
                continue
            if key.fileobj is listener:
                selector.register(listener.accept()[0], selectors.EVENT_READ, "new")
                continue
            selector.unregister(key.fileobj)
            if key.data == "new":
                job, files = receive(key.fileobj)
                if job.get("lease"):
                    leases += 1
                    selector.register(key.fileobj, selectors.EVENT_READ, "lease")
                    continue
                if (pid := os.fork()) == 0:
                    for open_file in [key.fileobj, *(other.fileobj for other in selector.get_map().values())]:
                        os.close(open_file) if isinstance(open_file, int) else open_file.close()
                    return job, files
                for descriptor in files:
                    os.close(descriptor)
                key.fileobj.sendall(f"{pid}\n".encode())
                selector.register(key.fileobj, selectors.EVENT_READ, pid)
                selector.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, key.fileobj))
            elif key.data == "lease":
                leases -= 1
                if not leases:
                    os.unlink(sys.argv[1])  # before the client's `close` returns: the next one starts a new server
                    os._exit(0)
                key.fileobj.close()
            elif isinstance(key.data, int):  # the client is gone before its fork
                with suppress(ProcessLookupError):
                    os.kill(key.data, signal.SIGKILL)
            else:
                pid, client = key.data
                os.close(key.fileobj)
                with suppress(KeyError):
                    selector.unregister(client)
                with suppress(OSError):
                    client.sendall(f"{os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}\n".encode())
                client.close()


if __name__ == "__main__":
    for name in LATER:
        import_module(name)
    index_once(tasks.TaskManager)
    gc.freeze()  # a fork's collector leaves what it was born with alone, so that those pages stay shared
    door = socket.socket(socket.AF_UNIX)
    door.bind(f"{sys.argv[1]}.part")
    door.listen(64)
    os.rename(f"{sys.argv[1]}.part", sys.argv[1])  # whoever sees it can connect
    job, files = serve(door)
    become(job, files)
    if job["script"]:
        sys.path.insert(0, str(Path(job["script"]).parent))
        runpy.run_path(job["script"], run_name="__main__")
    else:
        main()
