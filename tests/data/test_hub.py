"""Datasets from a hub: a small server on loopback answers as huggingface.co does."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FETCH = """
import sys
from siming_tasks.data import open_dataset, resolve_dataset
from siming_tasks.errors import SimingError
from siming_tasks.settings import Settings
try:
    root = resolve_dataset(Settings.from_env())
    dataset = open_dataset(root)
    print(root)
    print(dataset.digest)
    print(dataset.meta.get("revision"))
    print(dataset.media_path(dataset.videos[0]).stat().st_size)
except SimingError as error:
    sys.exit(f"{type(error).__name__}: {error}")
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
            return [
                {"type": "file", "path": name, "size": path.stat().st_size, "oid": hashlib.sha1(name.encode()).hexdigest()}
                for name, path in zip(names, files, strict=True)
            ]
        return {"id": "org/exams", "sha": COMMIT, "private": False, "siblings": [{"rfilename": name} for name in names]}

    def reply(self, code: int, data: bytes, headers: dict[str, str], body: bool) -> None:
        self.send_response(code)
        for name, value in {"Content-Length": str(len(data)), "Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(data)


@pytest.fixture
def hub(folder: Path) -> Iterator[Hub]:
    server = Hub(("127.0.0.1", 0), Handler)
    server.root, server.seen = folder, []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def fetch(hub: Hub, home: Path, data: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Resolve and open ``data`` in a fresh process, which is how the hub's own environment variables are read."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "SIMING_", "HUGGING"))}
    env = {
        **kept,
        "HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}",
        "HF_HOME": str(home),
        "NO_PROXY": "*",
        "SIMING_DATA": data,
        **more,
    }
    return subprocess.run([sys.executable, "-c", FETCH], env=env, capture_output=True, text=True, timeout=120)


def test_a_repository_is_fetched_once_and_found_offline(hub: Hub, folder: Path, tmp_path: Path) -> None:
    from siming_tasks.data import open_dataset

    first = fetch(hub, tmp_path / "home", "org/exams@v1")
    assert first.returncode == 0, first.stderr
    root, digest, revision, size = first.stdout.splitlines()
    assert Path(root).name == COMMIT == revision
    assert digest == open_dataset(folder).digest
    assert int(size) == (folder / "media/v001.mp4").stat().st_size
    hub.seen.clear()
    again = fetch(hub, tmp_path / "home", "org/exams@v1", HF_HUB_OFFLINE="1")
    assert again.stdout == first.stdout, again.stderr
    assert hub.seen == []


@pytest.mark.parametrize(
    ("data", "more", "words"),
    [
        ("org/gated", {}, "access to this dataset is granted person by person. Ask for it on its page (datasets/org/gated)"),
        ("org/gated", {}, "then run `hf auth login` or set HF_TOKEN."),
        ("org/nothing", {}, "no such dataset, or it is private"),
        ("org/exams@v9", {}, "the repository has no revision 'v9'. Leave out @v9 for the newest."),
        ("org/exams", {"HF_HUB_OFFLINE": "1"}, "not in the local cache and the hub cannot be reached"),
        ("org/exams", {"HF_ENDPOINT": "http://127.0.0.1:9"}, "SIMING_DATA=org/exams: "),
    ],
)
def test_what_cannot_be_fetched_says_what_to_do(
    hub: Hub, tmp_path: Path, data: str, more: dict[str, str], words: str
) -> None:
    done = fetch(hub, tmp_path / "home", data, **more)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"DataError: SIMING_DATA={data}: "), done.stderr
    assert words in done.stderr
