"""One inbox of hostile archives beside good ones: each is refused by name, and the good ones are shown."""

import copy
import hashlib
import json
import os
import random
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
from tests.study.report.conftest import host, packed

EVIL = "\x1b[2J\u202e\u200b\x00"


@dataclass(frozen=True)
class Kit:
    """A good archive's parts, and the zip of any others."""

    about: dict[str, Any]
    lines: list[dict[str, Any]]

    def zip(self, path: Path, about: Any = None, data: bytes | None = None) -> Path:
        """``about``: submission.json as data or bytes; the digest of the predictions is put in."""
        data = "".join(json.dumps(line) + "\n" for line in self.lines).encode() if data is None else data
        if not isinstance(about, bytes):
            about = json.dumps({**(about or self.about), "predictions_sha256": "DIGEST"}).encode()
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("submission.json", about.replace(b"DIGEST", hashlib.sha256(data).hexdigest().encode()))
            archive.writestr("predictions.jsonl", data)
        return path


@pytest.fixture(scope="session")
def kit(lab, tmp_path_factory: pytest.TempPathFactory) -> Kit:
    with zipfile.ZipFile(packed(lab, "noisy", tmp_path_factory.mktemp("kit") / "good.zip", name="Good")) as archive:
        about, lines = (archive.read(name).decode() for name in ("submission.json", "predictions.jsonl"))
    return Kit(json.loads(about), [json.loads(line) for line in lines.splitlines()])


Make = Callable[[Kit, Path], Any]


def deep(n: int) -> str:
    return '{"a":' * n + "1" + "}" * n


def about(**changes: str) -> Make:
    """submission.json with JSON texts in place of values."""

    def make(kit: Kit, path: Path) -> None:
        text = json.dumps({**kit.about, "predictions_sha256": "DIGEST"} | dict.fromkeys(changes, "\u00a7"))
        for value in changes.values():
            text = text.replace(json.dumps("\u00a7"), value, 1)
        kit.zip(path, text.encode())

    return make


def data(text: bytes) -> Make:
    return lambda kit, path: kit.zip(path, data=text)


def raw(text: str) -> Make:
    """The first line replaced."""
    return lambda kit, path: kit.zip(path, data="\n".join([text, *map(json.dumps, kit.lines[1:]), ""]).encode())


def line(**changes: Any) -> Make:
    return lambda kit, path: raw(json.dumps({**kit.lines[0], **changes}))(kit, path)


def patched(signature: bytes, offset: int, value: bytes) -> Make:
    """Bytes of the archive's own structure overwritten."""

    def make(kit: Kit, path: Path) -> None:
        content = bytearray(kit.zip(path).read_bytes())
        at = content.index(signature) + offset
        content[at : at + len(value)] = value
        path.write_bytes(content)

    return make


def table_of_contents(kit: Kit, path: Path) -> None:
    """Half a million entries in the table of contents."""
    entry, n = b"PK\x01\x02" + b"\0" * 24 + struct.pack("<HHH", 1, 0, 0) + b"\0" * 12 + b"a", 500_000
    path.write_bytes(entry * n + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 65535, 65535, n * len(entry), 0, 0))


def member(name: str, content: bytes = b"x", mode: int = 0o600) -> Make:
    def make(kit: Kit, path: Path) -> None:
        item = zipfile.ZipInfo(name)
        item.external_attr = mode << 16
        with zipfile.ZipFile(kit.zip(path), "a") as archive:
            archive.writestr(item, content)

    return make


FULL = '{"setting": "full_score", "video_id": "sim001", '
HOSTILE: dict[str, tuple[Make, str]] = {
    # submission.json
    "run-huge": (about(run='{"seconds": 1e999}'), "1e999 is not a finite number"),
    "run-digits": (about(run='{"seconds": ' + "9" * 5000 + "}"), "a number of 5,000 digits"),
    "run-deep": (about(run=deep(20)), "run: nested more than 6 deep"),
    "run-abyss": (about(run=deep(100_000)), "is not JSON (nested too deeply)"),
    "claims": (about(claims="{}"), "claims: unknown field `claims`"),
    "half-surrogate": (about(run='{"model": "\\ud800"}'), "half of a surrogate pair"),
    "key-twice": (about(run='{"a": 1, "a": 2}'), "key 'a' appears twice"),
    "url-script": (about(model='{"name": "x", "url": "data:text/html,x"}'), "model.url"),
    "url-user": (about(model='{"name": "x", "url": "https://me:pw@host.example"}'), "model.url"),
    "name-long": (about(model=json.dumps({"name": "n" * 101})), "model.name"),
    "other-data": (about(dataset=json.dumps({"name": "x", "version": "1", "digest": "0" * 64, "synthetic": True})),
                   "made on dataset 000000000000"),
    "other-digest": (about(predictions_sha256=json.dumps("0" * 64)), "is not the file that submission.json was made"),
    "utf16": (lambda kit, path: kit.zip(path, "{}".encode("utf-16")), "submission.json:1: this line is not UTF-8"),
    "a-list": (lambda kit, path: kit.zip(path, b"[]"), "submission.json is not JSON (found list)"),
    # predictions
    "media-list": (line(media={"mode": ["frames"]}), "predictions.jsonl:1: media"),
    "media-huge": (raw(FULL + '"scores": {}, "media": {"fps": 1e999}}'), "1e999 is not a finite number"),
    "media-many": (line(media={f"k{n}": n for n in range(1000)}), "`media` has 1,000 facts; at most 40"),
    "missing-number": (line(missing={"cpr_01": 5}), "predictions.jsonl:1: missing.cpr_01"),
    "unknown-video": (data(FULL.replace("sim001", "x").encode() + b'"scores": {}}\n'), "no line is a prediction"),
    "nothing": (data(b""), "the file is empty; it has no predictions"),
    "blank-lines": (data(b"\n" * 2_000), "2,001 lines; siming-demo asks"),
    "twice": (data((FULL + '"scores": {}}\n').encode() * 2), "is already in predictions.jsonl:1"),
    "a-reply": (raw(FULL + '"response": "{}"}'), "key 'response'; a submission contains answers"),
    "asked-otherwise": (raw(FULL + '"scores": {}, "asking": "reasoned"}'), "asked in another way (reasoned); a board"),
    "long-line": (line(prompt="x" * 30_000), "at most 20,000 are read"),
    "many-steps": (line(scores={f"s{n}": 1 for n in range(500)}), "more than one short answer for each of 33 steps"),
    "nested-answer": (line(scores={"cpr_01": {"score": 1}}), "more than one short answer"),
    "deep-line": (raw("[" * 19_000), "predictions.jsonl:1: not a JSON object"),
    "nan-answer": (raw(FULL + '"scores": {"cpr_01": NaN}}'), "NaN is not a finite number"),
    "line-list": (raw("[1]"), "predictions.jsonl:1: not a JSON object"),
    "no-setting": (raw("{}"), "neither a prediction nor a record"),
    "lines-latin": (data(b'{"setting": "\xff"}\n'), "is not UTF-8"),
    "lines-utf16": (data((FULL + '"scores": {}}\n').encode("utf-16")), "the file is UTF-16"),
    "bomb": (data(b"\n" * 50_000_000), "predictions.jsonl unpacks to more than"),
    "bomb-about": (lambda kit, path: kit.zip(path, b" " * 50_000_000), "unpacks to more than 1,000,000 bytes"),
    # the archive itself
    "no-zip": (lambda kit, path: path.write_bytes(b"PK\x03\x04" + b"\0" * 100), "not a readable zip archive"),
    "a-pipe": (lambda kit, path: os.mkfifo(path), "a pipe; only regular files can be read"),
    "endless": (lambda kit, path: path.symlink_to("/dev/zero"), "a device; only regular files can be read"),
    "dangling": (lambda kit, path: path.symlink_to("nowhere"), "no such file"),
    "parent": (member("../../evil"), "a submission contains exactly"),
    "link": (member("evil", b"/etc/passwd", stat.S_IFLNK | 0o777), "a submission contains exactly"),
    "evil-name": (member("e\x1b[2J\u202evil"), "a submission contains exactly"),
    "table-of-contents": (table_of_contents, "its table of contents has more than"),
    "crc": (patched(b"PK\x03\x04", 60, b"\xff\xff\xff"), "not a readable zip archive"),
    "name-differs": (patched(b"PK\x03\x04", 30, b"XX"), "not a readable zip archive"),
    "name-nul": (patched(b"PK\x01\x02", 46 + 10, b"\0"), "a submission contains exactly"),
    "encrypted": (patched(b"PK\x01\x02", 8, b"\x01\x00"), "encrypted. Send it without a password"),
    "size-lies": (patched(b"PK\x01\x02", 24, struct.pack("<I", 100)), "not a readable zip archive"),
    "method-99": (patched(b"PK\x01\x02", 10, b"\x63\x00"), "is packed by method 99"),
}  # fmt: skip


@pytest.fixture(scope="module")
def hostile_board(kit: Kit, lab, tmp_path_factory: pytest.TempPathFactory):
    root = tmp_path_factory.mktemp("hostile")
    inbox = root / "inbox" / "team"
    inbox.mkdir(parents=True)
    for name, (make, _) in HOSTILE.items():
        make(kit, inbox / f"{name}.zip")
    kit.zip(inbox / "good-a.zip", {**kit.about, "model": {"name": f"Good {EVIL}"}})
    kit.zip(inbox / "good-b.ZIP")
    Path("/proc/self/clear_refs").write_text("5")  # the peak of memory is counted anew: other tests had theirs
    start, before = time.process_time(), memory("VmRSS")
    entries, refused = host(root / "inbox", lab.dataset, root / "board")
    assert time.process_time() - start < 60 and memory("VmHWM") - before < 1_000_000
    return root, entries, refused


def memory(what: str) -> int:
    """Memory of this process, in kB."""
    status = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in status if line.startswith(f"{what}:")).split()[1])


def test_hostile_archives_are_refused_by_name_and_good_ones_are_shown(hostile_board) -> None:
    root, entries, refused = hostile_board
    assert sorted(entry.received.path.name for entry in entries) == ["good-a.zip", "good-b.ZIP"]
    said = {line.partition(":")[0].removeprefix("team/").removesuffix(".zip"): line for line in refused}
    assert [name for name, (_, why) in HOSTILE.items() if why not in said.pop(name, "")] == [] == [*said]
    assert all(line.isprintable() and len(line) <= 2_000 for line in refused)
    assert json.loads((root / "board" / "board.json").read_text())["refused"] == refused
    page = (root / "board" / "index.html").read_text()
    assert all(f">team/{name}.zip" in page for name in HOSTILE) and not set("\x1b\u202e\u200b\x00") & set(page)


@pytest.mark.parametrize("name", ["good-a.zip", "evil-name.zip", "run-abyss.zip", "a-pipe.zip"])
def test_the_senders_check_decides_as_the_board(hostile_board, lab, capsys, name: str) -> None:
    root, entries, refused = hostile_board
    code = main(["board", "submit", "--check", str(root / "inbox" / "team" / name), "--data", str(lab.dataset.root)])
    out, err = capsys.readouterr()
    assert code == (name not in {entry.received.path.name for entry in entries})
    assert not set("\x1b\u202e\u200b\x00\r") & set(out + err)
    assert all(line.removeprefix("team/") in err for line in refused if line.startswith(f"team/{name}"))


@pytest.mark.weekly
def test_random_values_in_place_of_right_ones(kit: Kit, lab, tmp_path: Path) -> None:
    """Any JSON value anywhere in submission.json or a line: refused by name, or shown."""
    odd: list[Any] = [None, True, -1, 0, 2**63, 1e308, -0.0, "", "x" * 5_000, EVIL, [], {}, [[]], {"": {}}, ["a", 1],
                      {"mode": 1}, "1e999", "<b>", "../x", "\ud800"]  # fmt: skip
    rng, inbox = random.Random(2), tmp_path / "inbox" / "team"
    inbox.mkdir(parents=True)
    for number in range(150):
        about, lines = copy.deepcopy((kit.about, kit.lines[:40]))
        places: list[tuple[Any, Any]] = []
        _places(about if number % 2 else rng.choice(lines), places)
        holder, key = rng.choice(places)
        holder[key] = rng.choice(odd)
        kit.zip(inbox / f"{number}.zip", about, "".join(json.dumps(line) + "\n" for line in lines).encode())
    kit.zip(inbox / "good.zip")
    entries, refused = host(inbox.parent, lab.dataset, tmp_path / "out")
    assert len(entries) + len(refused) == 151 and "good.zip" in {entry.received.path.name for entry in entries}
    assert not any("cannot be scored" in line for line in refused)  # the net for unforeseen faults was not needed


def _places(value: Any, found: list[tuple[Any, Any]]) -> None:
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        found.append((value, key))
        _places(value[key], found)
