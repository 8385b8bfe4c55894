"""One inbox of hostile archives beside good ones: each is refused by name, and the good ones are shown."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import random
import shutil
import stat
import struct
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.cli import main
from siming_tasks.options import Options
from siming_tasks.results.discovery import find_runs
from siming_tasks.results.run import read_run
from siming_tasks.tools.board.build import build_board
from siming_tasks.tools.board.submission import ModelCard, pack

OPTIONS = Options()
EVIL = "\x1b[2J\u202e\u200b\x00"


@dataclass(frozen=True)
class Kit:
    """A good archive's parts, and the zip of any others."""

    about: dict[str, Any]
    lines: list[dict[str, Any]]

    def zip(self, path: Path, about: Any = None, data: bytes | None = None, **members: bytes) -> Path:
        """``about``: submission.json as data or bytes; the digest of the predictions is put in."""
        data = "".join(json.dumps(line) + "\n" for line in self.lines).encode() if data is None else data
        if not isinstance(about, bytes):
            about = {**(self.about if about is None else about), "predictions_sha256": hashlib.sha256(data).hexdigest()}
            about = json.dumps(about).encode()
        elif b"DIGEST" in about:
            about = about.replace(b"DIGEST", hashlib.sha256(data).hexdigest().encode())
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("submission.json", about)
            archive.writestr("predictions.jsonl", data)
            for name, content in members.items():
                archive.writestr(name, content)
        return path

    def with_about(self, **changes: Any) -> bytes:
        """submission.json with JSON texts in place of values."""
        text = json.dumps({**self.about, "predictions_sha256": "DIGEST"} | dict.fromkeys(changes, "\u00a7"))
        for value in changes.values():
            text = text.replace(json.dumps("\u00a7"), value, 1)
        return text.encode("utf-8", "surrogatepass")

    def with_line(self, text: str, number: int = 0) -> bytes:
        """predictions.jsonl with one line replaced."""
        lines = [json.dumps(line) for line in self.lines]
        lines[number] = text
        return "\n".join([*lines, ""]).encode("utf-8", "surrogatepass")

    def line(self, number: int = 0, **changes: Any) -> str:
        return json.dumps({**self.lines[number], **changes})


@pytest.fixture(scope="session")
def kit(lab, tmp_path_factory: pytest.TempPathFactory) -> Kit:
    run = read_run(find_runs([str(lab.runs / "noisy")])[0], lab.dataset)
    path = tmp_path_factory.mktemp("kit") / "good.zip"
    pack(run.source, run.records, lab.dataset, ModelCard(name="Good"), path)
    with zipfile.ZipFile(path) as archive:
        about, lines = (archive.read(name).decode() for name in ("submission.json", "predictions.jsonl"))
    return Kit(json.loads(about), [json.loads(line) for line in lines.splitlines()])


def deep(n: int) -> str:
    return '{"a":' * n + "1" + "}" * n


Make = Callable[[Kit, Path], Any]


def about(**changes: str) -> Make:
    return lambda kit, path: kit.zip(path, kit.with_about(**changes))


def data(text: str | bytes) -> Make:
    return lambda kit, path: kit.zip(path, data=text if isinstance(text, bytes) else text.encode())


def line(number: int = 0, **changes: Any) -> Make:
    return lambda kit, path: kit.zip(path, data=kit.with_line(kit.line(number, **changes), number))


def raw(text: str) -> Make:
    return lambda kit, path: kit.zip(path, data=kit.with_line(text))


def patched(signature: bytes, offset: int, value: bytes, nth: int = 0) -> Make:
    """Bytes of the archive's own structure overwritten."""

    def make(kit: Kit, path: Path) -> None:
        content = bytearray(kit.zip(path).read_bytes())
        at = -1
        for _ in range(nth + 1):
            at = content.index(signature, at + 1)
        content[at + offset : at + offset + len(value)] = value
        path.write_bytes(content)

    return make


def table_of_contents(kit: Kit, path: Path) -> None:
    """Half a million entries in the table of contents."""
    entry = b"PK\x01\x02" + b"\0" * 24 + struct.pack("<HHH", 1, 0, 0) + b"\0" * 12 + b"a"
    n = 500_000
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 65535, 65535, n * len(entry), 0, 0)
    path.write_bytes(entry * n + end)


def member(name: str, content: bytes = b"x", mode: int | None = None) -> Make:
    def make(kit: Kit, path: Path) -> None:
        kit.zip(path)
        item = zipfile.ZipInfo(name)
        if mode is not None:
            item.external_attr = mode << 16
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(item, content)

    return make


def packed_by(method: int) -> Make:
    def make(kit: Kit, path: Path) -> None:
        good = kit.zip(path.with_suffix(".tmp"))
        with zipfile.ZipFile(good) as old, zipfile.ZipFile(path, "w", method) as new:
            for name in old.namelist():
                new.writestr(name, old.read(name))
        good.unlink()

    return make


FULL = '{"setting": "full_score", "video_id": "sim001", '
HOSTILE: dict[str, tuple[Make, str]] = {
    # the seven of the issue, and their kin
    "run-huge": (about(run='{"seconds": 1e999}'), "1e999 is beyond every scale"),
    "run-infinite": (about(run='{"seconds": -Infinity}'), "-Infinity is not a JSON number"),
    "run-digits": (about(run='{"seconds": ' + "9" * 5000 + "}"), "a number of 5,000 digits"),
    "run-deep": (about(run=deep(20)), "run: Value error, nested more than 6 deep"),
    "run-deeper": (about(run=deep(900)), "nested"),
    "run-abyss": (about(run=deep(100_000)), "is not JSON (nested too deeply)"),
    "run-list": (about(run="[1]"), "run: Input should be a valid dictionary"),
    "claims": (about(claims="{}"), "claims: Extra inputs are not permitted"),
    "half-surrogate": (about(run='{"model": "\\ud800"}'), "half of a surrogate pair"),
    "key-twice": (about(run='{"a": 1, "a": 2}'), "key 'a' appears twice"),
    "name-blank": (about(model='{"name": "  "}'), "model.name"),
    "url-script": (about(model='{"name": "x", "url": "data:text/html,x"}'), "model.url"),
    "url-key": (about(model='{"name": "x", "url": "https://host.example/?key=1"}'), "model.url"),
    "url-user": (about(model='{"name": "x", "url": "https://me:pw@host.example"}'), "model.url"),
    "name-long": (about(model=json.dumps({"name": "n" * 101})), "model.name"),
    "saw-maybe": (about(model='{"name": "x", "saw_test_data": "maybe"}'), "model.saw_test_data"),
    "card-rank": (about(model='{"name": "x", "rank": 1}'), "model.rank"),
    "other-data": (about(dataset=json.dumps({"name": "x", "version": "1", "digest": "0" * 64, "synthetic": True})),
                   "made on dataset 000000000000"),
    "maker": (about(created_with='"Authorization: Bearer x"'), "created_with"),
    "other-digest": (about(predictions_sha256=json.dumps("0" * 64)), "is not the file that submission.json was made"),
    "not-utf8": (lambda kit, path: kit.zip(path, b'{"format": "\xff"}'), "submission.json is not JSON"),
    "utf16": (lambda kit, path: kit.zip(path, "{}".encode("utf-16")), "submission.json is not JSON"),
    "a-list": (lambda kit, path: kit.zip(path, b"[]"), "submission.json is not JSON (found list)"),
    "empty-about": (lambda kit, path: kit.zip(path, b""), "submission.json is not JSON"),
    # predictions
    "media-list": (line(media={"mode": ["frames"]}), "predictions.jsonl:1: media"),
    "media-text": (line(media={"mode": "frames", "n_frames": "many"}), "predictions.jsonl:1: media"),
    "media-mixed": (line(media={"n_frames": {"a": 1}}), "predictions.jsonl:1: media"),
    "media-huge": (raw(FULL + '"scores": {}, "media": {"fps": 1e999}}'), "1e999 is beyond every scale"),
    "media-digits": (raw(FULL + '"scores": {}, "media": {"fps": ' + "9" * 4000 + "}}"), "a number of 4,000 digits"),
    "media-large": (raw(FULL + '"scores": {}, "media": {"n_frames": ' + "9" * 18 + "}}"), "predictions.jsonl:1: media"),
    "media-many": (line(media={f"k{n}": n for n in range(1000)}), "`media` holds 1,000 facts; at most 40"),
    "media-long": (line(media={"sampler": "x" * 300}), "predictions.jsonl:1: media"),
    "status-list": (line(status=["ok"]), "predictions.jsonl:1: status"),
    "missing-number": (line(missing={"cpr_01": 5}), "predictions.jsonl:1: missing.cpr_01"),
    "prompt-long": (line(prompt="x" * 300), "predictions.jsonl:1: prompt"),
    "only-unknown-videos": (data(FULL.replace("sim001", "nope") + '"scores": {}}\n'), "no line holds a prediction"),
    "nothing": (data(b""), "no line holds a prediction"),
    "blank-lines": (data(b"\n" * 2_000), "2,001 lines; siming-demo asks"),
    "many-lines": (data((FULL + '"scores": {}}\n') * 5_000), "5,001 lines"),
    "twice": (data((FULL + '"scores": {}}\n') * 2), "stands in predictions.jsonl:1 already"),
    "a-reply": (raw(FULL + '"response": "{}"}'), "key 'response'; a submission holds answers"),
    "a-record": (raw('{"x": {"id": "full_score/sim001", "setting": "full_score"}}'), "key 'x'; a submission holds"),
    "long-line": (line(prompt="x" * 30_000), "at most 20,000 are read"),
    "many-steps": (line(scores={f"s{n}": 1 for n in range(500)}), "more than one short answer for each of 33 steps"),
    "nested-answer": (line(scores={"cpr_01": {"score": 1}}), "more than one short answer"),
    "long-answer": (line(scores={"cpr_01": "{" * 9_000}), "more than one short answer"),
    "not-json": (raw("{" * 300), "predictions.jsonl:1: not a JSON object"),
    "deep-line": (raw("[" * 19_000), "predictions.jsonl:1: not a JSON object"),
    "nan-answer": (raw(FULL + '"scores": {"cpr_01": NaN}}'), "NaN is not a JSON number"),
    "lines-utf16": (data((FULL + '"scores": {}}\n').encode("utf-16")), "the file is UTF-16"),
    "lines-latin": (raw(FULL.replace("sim001", "x\udcff") + '"scores": {}}'), "is not UTF-8"),
    "no-setting": (raw("{}"), "neither a prediction nor a record"),
    "setting-list": (raw('{"setting": [], "video_id": "sim001", "scores": {}}'), "predictions.jsonl:1: setting"),
    "bomb": (data(b"\n" * 50_000_000), "predictions.jsonl unpacks to more than"),
    "bomb-about": (lambda kit, path: kit.zip(path, b" " * 50_000_000), "unpacks to more than 1,000,000 bytes"),
    # the archive itself
    "nothing-there": (lambda kit, path: path.write_bytes(b""), "not a readable zip archive"),
    "no-zip": (lambda kit, path: path.write_bytes(b"PK\x03\x04" + b"\0" * 100), "not a readable zip archive"),
    "a-folder": (lambda kit, path: path.mkdir(), "a folder, and only regular files are read"),
    "a-pipe": (lambda kit, path: os.mkfifo(path), "a pipe, and only regular files are read"),
    "endless": (lambda kit, path: path.symlink_to("/dev/zero"), "a device, and only regular files are read"),
    "dangling": (lambda kit, path: path.symlink_to("nowhere"), "no such file"),
    "parent": (member("../../evil"), "a submission holds exactly"),
    "absolute": (member("/etc/passwd"), "a submission holds exactly"),
    "link": (member("evil", b"/etc/passwd", stat.S_IFLNK | 0o777), "a submission holds exactly"),
    "nested": (member("inner.zip", b"PK\x05\x06" + b"\0" * 18), "a submission holds exactly"),
    "case": (member("Predictions.jsonl"), "a submission holds exactly"),
    "evil-name": (member("e\x1b[2J\u202evil"), "a submission holds exactly"),
    "table-of-contents": (table_of_contents, "its table of contents has more than"),
    "crc": (patched(b"PK\x03\x04", 60, b"\xff\xff\xff"), "not a readable zip archive"),
    "offset": (patched(b"PK\x01\x02", 42, b"\xff\xff\xff\x7f"), "not a readable zip archive"),
    "name-differs": (patched(b"PK\x03\x04", 30, b"XX"), "not a readable zip archive"),
    "name-nul": (patched(b"PK\x01\x02", 46 + 10, b"\0"), "a submission holds exactly"),
    "name-not-utf8": (patched(b"PK\x01\x02", 8, b"\x00\x08"), ""),
    "encrypted": (patched(b"PK\x01\x02", 8, b"\x01\x00"), "encrypted. Send it without a password"),
    "size-lies": (patched(b"PK\x01\x02", 24, struct.pack("<I", 100)), "not a readable zip archive"),
    "bzip2": (packed_by(zipfile.ZIP_BZIP2), "is packed by method 12"),
    "lzma": (packed_by(zipfile.ZIP_LZMA), "is packed by method 14"),
    "method-99": (patched(b"PK\x01\x02", 10, b"\x63\x00"), "is packed by method 99"),
}  # fmt: skip
HARMLESS = {"name-not-utf8"}
"""A flag that says what is true of ASCII names: accepted."""


@pytest.fixture(scope="module")
def hostile_board(kit: Kit, lab, tmp_path_factory: pytest.TempPathFactory):
    root = tmp_path_factory.mktemp("hostile")
    (root / "inbox").mkdir()
    for name, (make, _) in HOSTILE.items():
        make(kit, root / "inbox" / f"{name}.zip")
    kit.zip(root / "inbox" / "good-a.zip", {**kit.about, "model": {"name": f"Good {EVIL}"}})
    kit.zip(root / "inbox" / "good-b.ZIP")
    Path("/proc/self/clear_refs").write_text("5")  # the peak of memory is counted anew: other tests had theirs
    start, before = time.monotonic(), memory("VmRSS")
    entries, refused = build_board(root / "inbox", lab.dataset, root / "board", OPTIONS, most=1000, progress=False)
    return root, entries, refused, time.monotonic() - start, memory("VmHWM") - before


def memory(what: str) -> int:
    """Memory of this process, in kB."""
    status = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in status if line.startswith(f"{what}:")).split()[1])


def test_hostile_archives_are_refused_by_name_and_good_ones_are_shown(hostile_board) -> None:
    root, entries, refused, seconds, more = hostile_board
    assert sorted(entry.received.path.name for entry in entries) == ["good-a.zip", "good-b.ZIP", "name-not-utf8.zip"]
    names = [line.partition(":")[0] for line in refused]
    assert sorted(names) == sorted(f"{name}.zip" for name in HOSTILE.keys() - HARMLESS)
    assert all(line.isprintable() and len(line) <= 2_000 for line in refused)
    said = dict(zip(names, refused, strict=True))
    assert [name for name in HOSTILE.keys() - HARMLESS if HOSTILE[name][1] not in said[f"{name}.zip"]] == []
    assert seconds < 60 and more < 1_000_000
    assert json.loads((root / "board" / "board.json").read_text())["refused"] == refused
    page = (root / "board" / "index.html").read_text()
    assert all(f">{name}" in page for name in names) and not set("\x1b\u202e\u200b\x00") & set(page)


def test_the_senders_check_decides_as_the_board(hostile_board, lab, capsys) -> None:
    root, entries, refused, *_ = hostile_board
    shown = {entry.received.path.name for entry in entries}
    assert shown and refused
    for path in sorted((root / "inbox").iterdir()):
        code = main(["board", "submit", "--check", str(path), "--data", str(lab.dataset.root)])
        out, err = capsys.readouterr()
        assert code == (0 if path.name in shown else 1), path.name
        assert not set("\x1b\u202e\u200b\x00\r") & set(out + err)
        if code:
            assert next(line for line in refused if line.startswith(path.name)) in err


@pytest.mark.parametrize("name", ["..zip", "...zip", ".zip", " .zip", "....zip"])
def test_a_name_of_dots_verifies_nothing(kit: Kit, lab, tmp_path: Path, name: str) -> None:
    """The re-run of ``..zip`` was the folder of all re-runs, that of ``...zip`` its parent."""
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    kit.zip(inbox / name)
    shutil.copytree(lab.runs / "noisy", tmp_path / "noisy")
    (tmp_path / "noisy" / "below").mkdir()
    for reruns in (tmp_path / "noisy", tmp_path / "noisy" / "below"):
        entries, _ = build_board(
            inbox, lab.dataset, tmp_path / "out", OPTIONS, reruns=reruns, most=1000, progress=False
        )
        assert [(entry.verified, entry.agreement) for entry in entries] == [(False, None)]
        assert "names no run" in entries[0].findings[-1]


def test_a_verified_row_needs_one_exact_rerun(kit: Kit, lab, tmp_path: Path) -> None:
    inbox, reruns = tmp_path / "inbox", tmp_path / "reruns"
    inbox.mkdir()
    reruns.mkdir()
    good = kit.zip(tmp_path / "good.zip")
    for name in ("exact", "Case", "top", "up", "many", "link-out", "plain", "pre", "*"):
        (inbox / f"{name}.zip").write_bytes(good.read_bytes())
    (reruns / "exact").symlink_to(lab.runs / "noisy")
    (reruns / "case").symlink_to(lab.runs / "noisy")
    (reruns / "top").symlink_to(reruns)
    (reruns / "up").symlink_to(tmp_path)
    (reruns / "many").symlink_to(lab.runs)
    (reruns / "link-out").symlink_to(tmp_path / "nowhere")
    (reruns / "plain").write_bytes(b"{}")
    (reruns / "prefix").symlink_to(lab.runs / "noisy")
    entries, refused = build_board(
        inbox, lab.dataset, tmp_path / "out", OPTIONS, reruns=reruns, most=1000, progress=False
    )
    found = {entry.received.path.stem: entry for entry in entries}
    assert not refused and {name for name, entry in found.items() if entry.verified} == {"exact"}
    said = {name: " ".join(note for note in entry.findings if "own run" in note) for name, entry in found.items()}
    assert "holds 3 runs" in said["many"] and str(tmp_path) not in "".join(said.values())
    assert all("leads to the folder of all re-runs" in said[name] for name in ("top", "up"))
    assert all("is no folder of a run" in said[name] for name in ("plain", "link-out"))
    assert said["Case"] == said["pre"] == said["*"] == "" and found["Case"].agreement is None


@pytest.mark.weekly
def test_random_values_in_place_of_right_ones(kit: Kit, lab, tmp_path: Path) -> None:
    """Any JSON value anywhere in submission.json or a line: refused by name, or shown."""
    odd: list[Any] = [None, True, -1, 0, 2**63, 1e308, -0.0, "", "x" * 5_000, EVIL, [], {}, [[]], {"": {}}, ["a", 1],
                      {"mode": 1}, "1e999", "<b>", "../x", "\ud800"]  # fmt: skip
    rng, inbox = random.Random(2), tmp_path / "inbox"
    inbox.mkdir()
    for number in range(150):
        about, lines = copy.deepcopy((kit.about, kit.lines[:40]))
        places: list[tuple[Any, Any]] = []
        _places(about if number % 2 else rng.choice(lines), places)
        holder, key = rng.choice(places)
        holder[key] = rng.choice(odd)
        kit.zip(inbox / f"{number}.zip", about, "".join(json.dumps(line) + "\n" for line in lines).encode())
    kit.zip(inbox / "good.zip")
    entries, refused = build_board(inbox, lab.dataset, tmp_path / "out", Options(), most=1000, progress=False)
    assert len(entries) + len(refused) == 151 and "good.zip" in {entry.received.path.name for entry in entries}
    assert not any("cannot be scored" in line for line in refused)  # the net for unforeseen faults was not needed
    assert json.loads((tmp_path / "out" / "board.json").read_text())["submissions"]


def _places(value: Any, found: list[tuple[Any, Any]]) -> None:
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        found.append((value, key))
        _places(value[key], found)
