"""``siming data push``: what a hub is sent, in which order, and what stays here. The hub is a server on loopback."""

import base64
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pytest
import yaml

from siming_tasks.cli import main
from siming_tasks.data import open_dataset, withhold
from siming_tasks.data.withholding import public_files
from tests.data.conftest import _good, folder, unstate
from tests.data.test_hub import COMMIT, Handler, Hub, asking, fetch, serving
from tests.records import change_rows, read_rows

__all__ = ["_good", "folder"]

FILES = ["README.md", "dataset.yaml", "rubric.yaml", "videos.jsonl"]


class Writable(Hub):
    """A hub that takes commits into a folder; ``org/closed`` belongs to somebody else."""

    sent: list[tuple[str, Any]]
    blobs: dict[str, bytes]


class Taking(Handler):
    server: Writable

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def json(self, value: Any, code: int = 200) -> None:
        self.reply(code, json.dumps(value).encode(), {}, True)

    def do_PUT(self) -> None:
        path, data = urlparse(self.path).path, self.body()
        if path.endswith("/settings"):
            self.server.sent.append(("settings", json.loads(data)))
            return self.json({})
        self.server.blobs[path.rpartition("/")[2]] = data
        return self.json({})

    def do_POST(self) -> None:
        path, data = unquote(urlparse(self.path).path), self.body()
        home = f"http://127.0.0.1:{self.server.server_port}"
        if "/org/closed" in path or b'"closed"' in data:
            return self.json({"error": "no"}, 403)
        if path.endswith("/repos/create"):
            self.server.sent.append(("create", json.loads(data)))
            return self.json({"url": f"{home}/datasets/org/exams"})
        if "/preupload/" in path:
            files = json.loads(data)["files"]
            modes = [
                {"path": file["path"], "uploadMode": "lfs" if file["path"].endswith(".mp4") else "regular",
                 "shouldIgnore": False} for file in files
            ]  # fmt: skip
            return self.json({"files": modes})
        if path.endswith("/info/lfs/objects/batch"):
            asked = json.loads(data)["objects"]
            given = [{**one, "actions": {"upload": {"href": f"{home}/blob/{one['oid']}"}}} for one in asked]
            return self.json({"transfer": "basic", "objects": given})
        if "/commit/" in path:
            self.take([json.loads(line) for line in data.decode().splitlines()])
            return self.json({"commitUrl": f"{home}/datasets/org/exams/commit/{COMMIT}", "commitOid": COMMIT})
        if path.endswith("/validate-yaml"):
            return self.json({"errors": [], "warnings": []})
        return self.json({"error": path}, 404)

    def take(self, lines: list[dict[str, Any]]) -> None:
        for line in lines:
            kind, value = line["key"], line["value"]
            self.server.sent.append((kind, value.get("path") or value.get("summary")))
            target = self.server.root / value.get("path", "")
            if kind == "deletedFile":
                target.unlink()
            elif kind in ("file", "lfsFile"):
                target.parent.mkdir(parents=True, exist_ok=True)
                content = base64.b64decode(value["content"]) if kind == "file" else self.server.blobs[value["oid"]]
                target.write_bytes(content)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Writable]:
    server = Writable(("127.0.0.1", 0), Taking)
    server.root, server.seen, server.sent, server.blobs = tmp_path / "hub", [], [], {}
    server.root.mkdir()
    with serving(server):
        yield server


def push(hub: Writable, home: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own: the hub's library reads its environment when imported."""
    at = {"HF_TOKEN": "hf_notarealtoken", "HF_HUB_DISABLE_XET": "1", "SIMING_CACHE": str(home / "cache"), **more}
    code = "import sys; from siming_tasks.cli import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.run(
        [sys.executable, "-c", code, "data", "push", *words],
        env=asking(hub, home, **at), capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def refusal(text: str, root: Path, why: str) -> bool:
    """True if a text says in one sentence that a folder is not public, why, and the way out."""
    said = (
        f"{root}: not a public folder made by `siming data split` ({why}). Only what "
        f"`siming data split {root} OUT --key"
    )
    return said in text


def test_the_public_folder_is_pushed_as_it_is(hub: Writable, folder: Path, tmp_path: Path) -> None:
    """Closed before anything is in it; fetched back it is the public data set, digest and all."""
    stale = hub.root / "media" / "old.mp4"
    stale.parent.mkdir()
    stale.write_bytes(b"old")
    public = withhold(folder, tmp_path / "public", tmp_path / "key.json")
    done = push(hub, tmp_path / "home", str(public.root), "org/exams", "--gated", "manual")
    assert done.returncode == 0, done.stderr
    media = sorted(f"media/{video.video_id}.mp4" for video in public.videos)
    kinds = [kind for kind, _ in hub.sent]
    assert kinds[:2] == ["create", "settings"] and hub.sent[1][1] == {"gated": "manual"}
    names = sorted(name for kind, name in hub.sent if kind in ("file", "lfsFile"))
    assert names == sorted([*FILES, *media]) and ("deletedFile", "media/old.mp4") in hub.sent
    assert f"org/exams: SYNTHETIC tiny, without labels, revision {COMMIT}." in done.stdout
    assert f"SIMING_DATA=org/exams@{COMMIT}" in done.stdout
    ((revision, digest, _, size),) = fetch(hub, tmp_path / "reader", "org/exams")
    assert (revision, digest) == (COMMIT, public.digest)
    assert size == (folder / public.videos[0].media).stat().st_size
    for row in map(json.loads, (hub.root / "videos.jsonl").read_text().splitlines()):
        assert {value for step in row["steps"] for value in step.get("score", {}).values()} <= {None}
    texts = [(hub.root / name).read_text() for name in FILES]
    assert "rater_" not in "".join(texts) and "SIMING-BENCH-CANARY-" in texts[FILES.index("README.md")]


def test_a_folder_with_labels_sends_nothing(hub: Writable, folder: Path, tmp_path: Path) -> None:
    done = push(hub, tmp_path / "home", str(folder), "org/exams")
    assert done.returncode == 1 and refusal(done.stderr, folder, "its labels are in it")
    assert not hub.sent and not list(hub.root.iterdir())


def in_first_row(root: Path, **facts: Any) -> None:
    change_rows(root / "videos.jsonl", lambda rows: rows[0]["steps"][0].update(facts))
    assert main(["data", "check", str(root), "--restate"]) in (0, 1)  # else its digest tells


def in_info(root: Path) -> None:
    """State the raters, as a folder with labels does."""
    info = yaml.safe_load((root / "dataset.yaml").read_text())
    (root / "dataset.yaml").write_text(yaml.safe_dump({**info, "label_sources": {"raters": ["rater_a"]}}))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda root: (root / "key.json").write_text("{}"), "key.json is there"),
        (lambda root: (root / "media" / "notes.txt").write_text("v001 fails"), "media/notes.txt is there"),
        (lambda root: (root / "media" / "more").symlink_to("/etc"), "media/more is there"),
        (lambda root: (root / "README.md").unlink(), "README.md is missing"),
        (in_info, "dataset.yaml has 'label_sources'"),
        (lambda root: in_first_row(root, errors=[], reason="too shallow"), "videos.jsonl has more keys"),
        (lambda root: in_first_row(root, score={"consensus": None, "rater_a": None}), "videos.jsonl has more keys"),
    ],
)
def test_what_was_put_into_a_public_folder_does_not_leave(
    change: Callable[[Path], Any], why: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Nothing is sent, not even a request for the repository."""
    monkeypatch.setattr("huggingface_hub.HfApi", None)
    root = withhold(folder, tmp_path / "public", tmp_path / "key.json").root
    assert public_files(open_dataset(root))
    change(root)
    assert main(["data", "push", str(root), "org/exams"]) == 1
    assert refusal(capsys.readouterr().err, root, why)


@pytest.mark.parametrize(
    ("repo", "said", "code", "more"),
    [
        ("org/closed", "org/closed: no right to write there. Run `hf auth login` with a token that may write", 1, {}),
        ("exams", "'exams' is not a repository name. Give ORG/NAME.", 2, {}),
        ("org/exams", "not uploaded (ConnectError). Is the hub reachable", 1, {"HF_ENDPOINT": "http://127.0.0.1:9"}),
    ],
)
def test_a_failed_push_names_its_reason(
    repo: str, said: str, code: int, more: dict[str, str], hub: Writable, folder: Path, tmp_path: Path
) -> None:
    public = withhold(folder, tmp_path / "public", tmp_path / "key.json").root
    done = push(hub, tmp_path / "home", str(public), repo, **more)
    assert done.returncode == code and said in done.stderr
    assert "Traceback" not in done.stderr and "hf_not" not in done.stderr and not list(hub.root.iterdir())


def test_people_who_ask_for_real_recordings_are_told_what_they_agree_to(folder: Path, tmp_path: Path) -> None:
    info = yaml.safe_load((folder / "dataset.yaml").read_text())
    (folder / "dataset.yaml").write_text(yaml.safe_dump({**info, "simulated": {}}))
    public = withhold(folder, tmp_path / "public", tmp_path / "key.json").root
    head = yaml.safe_load((public / "README.md").read_text().split("---\n")[1])
    assert "not to train models" in head["extra_gated_prompt"]


def test_that_a_step_does_not_apply_is_public(folder: Path, tmp_path: Path) -> None:
    change_rows(folder / "videos.jsonl", lambda rows: rows[0]["steps"][0].update(applicable=False, score={}))
    unstate(folder)
    public = withhold(folder, tmp_path / "public", tmp_path / "key.json").root
    first, second = read_rows(public / "videos.jsonl")[0]["steps"][:2]
    assert first == {"step_id": read_rows(folder / "videos.jsonl")[0]["steps"][0]["step_id"], "applicable": False}
    assert second["step_id"] and "applicable" not in second
