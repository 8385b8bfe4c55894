"""``siming data push``: what a hub is sent, in which order, and what stays here. The hub is a server on loopback."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import mlcroissant
import pytest
import yaml

from siming_tasks.cli import main
from siming_tasks.data import open_dataset, withhold
from siming_tasks.data.staging import stage
from tests.data.conftest import _good, folder
from tests.data.test_hub import COMMIT, Handler, Hub, fetch

__all__ = ["_good", "folder"]

FILES = ["README.md", "croissant.json", "dataset.yaml", "eval.yaml", "rubric.yaml", "steps.jsonl", "videos.jsonl"]


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
        """Write the content of a commit into the hub's folder."""
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
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def push(hub: Writable, home: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own: the hub's library reads its environment when imported."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "SIMING_", "HUGGING"))}
    at = {"HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}", "HF_HOME": str(home), "NO_PROXY": "*"}
    at |= {"HF_TOKEN": "hf_notarealtoken", "HF_HUB_DISABLE_XET": "1", "SIMING_CACHE": str(home / "cache")}
    code = "import sys; from siming_tasks.cli import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.run(
        [sys.executable, "-c", code, "data", "push", *words],
        env={**kept, **at, **more}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def test_what_is_pushed_is_what_withhold_makes_public(hub: Writable, folder: Path, tmp_path: Path) -> None:
    """Closed before anything is in it; fetched back it is the public data set, digest and all."""
    (folder / "ratings").mkdir()
    (folder / "ratings" / "li.jsonl").write_text('{"secret": 1}\n')
    stale = hub.root / "media" / "old.mp4"
    stale.parent.mkdir()
    stale.write_bytes(b"old")
    done = push(hub, tmp_path / "home", str(folder), "org/exams", "--gated", "manual")
    assert done.returncode == 0, done.stderr
    public = withhold(folder, tmp_path / "public", tmp_path / "key.json")
    media = sorted(f"media/{video.video_id}.mp4" for video in public.videos)
    kinds = [kind for kind, _ in hub.sent]
    assert kinds[:2] == ["create", "settings"] and hub.sent[1][1] == {"gated": "manual"}
    names = sorted(name for kind, name in hub.sent if kind in ("file", "lfsFile"))
    assert names == sorted([*FILES, *media]) and ("deletedFile", "media/old.mp4") in hub.sent
    assert f"org/exams: SYNTHETIC tiny, without labels, {len(names)} files, revision {COMMIT}." in done.stdout
    assert f"SIMING_DATA=org/exams@{COMMIT}" in done.stdout
    ((revision, digest, _, size),) = fetch(hub, tmp_path / "reader", "org/exams")
    assert (revision, digest) == (COMMIT, public.digest)
    assert size == (folder / public.videos[0].media).stat().st_size
    for row in map(json.loads, (hub.root / "videos.jsonl").read_text().splitlines()):
        assert {value for step in row["steps"] for value in step.get("score", {}).values()} <= {None}
    assert "consensus" not in (hub.root / "steps.jsonl").read_text()
    assert "rater_" not in "".join((hub.root / name).read_text() for name in FILES)


def test_labels_are_pushed_only_on_request(hub: Writable, folder: Path, tmp_path: Path) -> None:
    done = push(hub, tmp_path / "home", str(folder), "org/exams", "--with-labels")
    assert done.returncode == 0, done.stderr
    assert "with labels" in done.stdout and hub.sent[1][1] == {"gated": False}  # SYNTHETIC: open unless told otherwise
    assert fetch(hub, tmp_path / "reader", "org/exams")[0][1] == open_dataset(folder).digest
    rows = [json.loads(line) for line in (hub.root / "steps.jsonl").read_text().splitlines()]
    video = open_dataset(folder).videos[0]
    assert [row["consensus"] for row in rows[: len(video.steps)]] == [step.consensus for step in video.steps]


def test_a_public_folder_has_none_to_push(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    public = withhold(folder, tmp_path / "public", tmp_path / "key.json")
    assert main(["data", "push", str(public.root), "org/exams", "--with-labels", "--dry-run"]) == 1
    assert "holds no labels. Leave --with-labels out." in capsys.readouterr().err
    assert main(["data", "push", str(public.root), "org/exams", "--dry-run"]) == 0
    listed = capsys.readouterr().out
    media = [f"media/{video.video_id}.mp4" for video in public.videos]
    assert listed.splitlines()[:-1] == sorted([*FILES, *media]) and "nothing was sent" in listed


@pytest.mark.parametrize(
    ("repo", "said", "code"),
    [
        ("org/closed", "org/closed: no right to write there. Run `hf auth login` with a token that may write", 1),
        ("exams", "'exams' is no name of a repository (org/name).", 2),
        ("org/exams@v1", "'org/exams@v1' is no name of a repository (org/name).", 2),
    ],
)
def test_a_failed_push_names_its_reason(
    repo: str, said: str, code: int, hub: Writable, folder: Path, tmp_path: Path
) -> None:
    done = push(hub, tmp_path / "home", str(folder), repo)
    assert done.returncode == code and said in done.stderr
    assert "Traceback" not in done.stderr and "hf_not" not in done.stderr and not list(hub.root.iterdir())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # mlcroissant's use of rdflib
def test_the_layout_is_one_that_viewers_and_croissant_read(folder: Path, tmp_path: Path) -> None:
    import datasets

    out = tmp_path / "staged"
    out.mkdir()
    (folder / "README.md").write_text("---\nlicense: cc0-1.0\n---\n\n# Ours\n\nWho was filmed: nobody.\n")
    dataset = open_dataset(folder)
    stage(dataset, out, labels=True, gated=True)
    for name, number in (
        ("default", len(dataset.videos)),
        ("steps", sum(len(video.steps) for video in dataset.videos)),
    ):
        rows = datasets.load_dataset(str(out), name, cache_dir=str(tmp_path / "cache"))["test"]
        assert len(rows) == number
    assert set(rows.column_names) >= {"video_id", "step_id", "skill", "name", "max_score", "consensus", "synthetic"}
    card = (out / "README.md").read_text()
    head = yaml.safe_load(card.split("---\n")[1])
    assert head["license"] == "cc0-1.0" and "not to train models" in head["extra_gated_prompt"]
    assert "Who was filmed: nobody." in card and card.count("SIMING-BENCH-CANARY-") == 1
    described = mlcroissant.Dataset(jsonld=str(out / "croissant.json"))
    assert "SIMING-BENCH-CANARY-" in described.metadata.description
    known = json.loads((out / "croissant.json").read_text())["distribution"]
    for file in known:
        assert hashlib.sha256((out / file["contentUrl"]).read_bytes()).hexdigest() == file["sha256"]


def test_the_registration_names_a_leaderboard_for_each_setting(folder: Path, tmp_path: Path) -> None:
    """The fields that https://huggingface.co/docs/hub/eval-results asks for, and no framework the hub does not know."""
    (out := tmp_path / "staged").mkdir()
    stage(open_dataset(folder), out)
    benchmark = yaml.safe_load((out / "eval.yaml").read_text())
    assert set(benchmark) == {"name", "description", "tasks"} and benchmark["name"] == "SYNTHETIC tiny"
    assert [task["id"] for task in benchmark["tasks"]] == ["full_score", "full_error", "clip_score", "clip_error"]
    configs = yaml.safe_load((out / "README.md").read_text().split("---\n")[1])["configs"]
    known = {(config["config_name"], file["split"]) for config in configs for file in config["data_files"]}
    assert {(task["config"], task["split"]) for task in benchmark["tasks"]} <= known
    assert "no finding about any model" in benchmark["description"] and "by MCC" in benchmark["description"]
