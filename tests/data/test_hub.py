"""Datasets from a hub: a small server on loopback answers as huggingface.co does."""

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest

from siming_tasks.data import open_dataset

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FETCH = """
import json, sys
from siming_tasks.data import open_dataset, resolve_dataset
from siming_tasks.common.errors import DataError
from siming_tasks.options import Options
for data in sys.argv[1:]:
    try:
        root = resolve_dataset(Options(data=data))
        dataset = open_dataset(root)
        size = dataset.media_path(dataset.videos[0]).stat().st_size
        print(json.dumps([root.name, dataset.digest, dataset.meta.get("revision"), size]))
    except DataError as error:
        print(json.dumps(str(error)))
"""


class Hub(ThreadingHTTPServer):
    """One repository ``org/exams``, a gated one, and nothing else."""

    daemon_threads = True
    root: Path
    seen: list[str]


class Handler(BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.answer(False)

    def do_GET(self) -> None:
        self.answer(True)

    def answer(self, body: bool) -> None:
        path = unquote(urlparse(self.path).path)
        self.server.seen.append(path)
        if "/org/gated" in path:
            return self.reply(403, b"{}", {"X-Error-Code": "GatedRepo"}, body)
        if "/org/exams" not in path:
            return self.reply(404, b"{}", {"X-Error-Code": "RepoNotFound"}, body)
        if path.startswith("/api/datasets/"):
            revision = path.partition("/revision/")[2] or path.partition("/tree/")[2] or "main"
            if revision.split("/")[0] not in ("main", "v1", COMMIT):
                return self.reply(404, b"{}", {"X-Error-Code": "RevisionNotFound"}, body)
            return self.reply(200, json.dumps(self.listing("/tree/" in path)).encode(), {}, body)
        file = self.server.root / path.partition(f"/resolve/{COMMIT}/")[2]
        if not file.is_file():
            return self.reply(404, b"", {"X-Error-Code": "EntryNotFound"}, body)
        data = file.read_bytes()
        headers = {"ETag": f'"{hashlib.sha256(data).hexdigest()}"', "X-Repo-Commit": COMMIT}
        return self.reply(200, data, headers, body)

    def listing(self, tree: bool) -> object:
        files = sorted(path for path in self.server.root.rglob("*") if path.is_file())
        names = [path.relative_to(self.server.root).as_posix() for path in files]
        if tree:
            digests = [hashlib.sha1(name.encode()).hexdigest() for name in names]
            rows = zip(names, files, digests, strict=True)
            return [{"type": "file", "path": n, "size": f.stat().st_size, "oid": digest} for n, f, digest in rows]
        return {"id": "org/exams", "sha": COMMIT, "private": False, "siblings": [{"rfilename": name} for name in names]}

    def reply(self, code: int, data: bytes, headers: dict[str, str], body: bool) -> None:
        self.send_response(code)
        for name, value in {"Content-Length": str(len(data)), "Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(data)


@contextmanager
def serving(server: Hub) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def hub(folder: Path) -> Iterator[Hub]:
    server = Hub(("127.0.0.1", 0), Handler)
    server.root, server.seen = folder, []
    with serving(server):
        yield server


def asking(hub: Hub, home: Path, **more: str) -> dict[str, str]:
    """The environment of a process that asks this hub."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "SIMING_", "HUGGING"))}
    at = {"HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}", "HF_HOME": str(home), "NO_PROXY": "*"}
    return {**kept, **at, **more}


def fetch(hub: Hub, home: Path, *data: str, **more: str) -> list[object]:
    """Resolve and open each of ``data`` in a fresh process: the hub's library reads its environment when imported."""
    command = [sys.executable, "-c", FETCH, *data]
    done = subprocess.run(command, env=asking(hub, home, **more), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_repository_is_fetched_once_and_found_offline(hub: Hub, folder: Path, tmp_path: Path) -> None:
    size = (folder / "media/v001.mp4").stat().st_size
    expected = [COMMIT, open_dataset(folder).digest, COMMIT, size]
    assert fetch(hub, tmp_path / "home", "org/exams@v1", "org/exams") == [expected, expected]
    hub.seen.clear()
    offline = fetch(hub, tmp_path / "home", "org/exams@v1", "org/other", HF_HUB_OFFLINE="1")
    reason = (
        "no such folder; a dataset of this name is not in the local cache, and the hub cannot be reached. Correct the "
        "path, or connect once (without HF_HUB_OFFLINE)."
    )
    assert offline == [expected, f"SIMING_DATA=org/other: {reason}"]
    assert hub.seen == []


def test_what_cannot_be_fetched_says_what_to_do(hub: Hub, tmp_path: Path) -> None:
    assert fetch(hub, tmp_path / "home", "org/gated", "org/nothing", "org/exams@v9") == [
        "SIMING_DATA=org/gated: access to this dataset is granted on request. Ask on its page "
        "(datasets/org/gated), then run `hf auth login` or set HF_TOKEN.",
        *(
            f"SIMING_DATA={name}: no such dataset or revision, or it is private. Check both; for a private one run "
            "`hf auth login`."
            for name in ("org/nothing", "org/exams@v9")
        ),
    ]
