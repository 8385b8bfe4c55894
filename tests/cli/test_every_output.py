"""Every command that writes, and every kind of place that can be named: a sentence or the output, nothing in between.

Commands, flags and command lines are read from the commands themselves.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from siming_tasks.cli.main import COMMANDS, find_command
from siming_tasks.cli.parameters import OutputPath
from siming_tasks.data import open_dataset
from tests.cli.command_lines import example, flags, parse
from tests.cli.run_cases import run_cases
from tests.data.conftest import RUBRIC, STEPS, make_folder
from tests.runs import write_run

OUT = "{OUT}"
NAME = "out.xlsx"
"""The kind of name that `data template` insists on; to all others it is a name."""


def outputs() -> dict[tuple[str, str], bool]:
    """Every word and flag that names an output: whether it is a folder."""
    return {
        (name, param.opts[0]): param.type.folder
        for name in COMMANDS
        for param in find_command(name).params
        if isinstance(param.type, OutputPath)
    }


def command_line(name: str, flag: str, given: Path, new: Path) -> list[str]:
    """The command's example, reading what lies in ``given``, with an output as OUT and its others in ``new``."""
    data = str(given / "tiny")
    read = {"exams": data, "videos": f"{data}/media", "recordings": f"{data}/media", "sheet.xlsx": "labels.csv"}
    there = ("rubric.yaml", "runs/qwen", "runs/gpt", "inbox", "results.jsonl", "job_asked.jsonl")
    read = {word: str(given / read.get(word, word)) for word in (*there, *read)} | {"4": "1"}  # one exam of the demo
    words, outs = example(name), {}
    for param in find_command(name).params:
        if isinstance(param.type, OutputPath):
            place = OUT if param.opts[0] == flag else str(new / param.opts[0].strip("-"))
            if isinstance(param, click.Argument):
                outs[words.index(str(parse([*name.split(), *words])[str(param.name)]))] = place
            elif param.opts[0] in words:
                outs[words.index(param.opts[0]) + 1] = place
            elif place == OUT:
                words += [flag, ""]
                outs[len(words) - 1] = place
    line = [outs.get(at, read.get(word, word)) for at, word in enumerate(words)]
    more = {"--port": ["{BUSY PORT}"], "--no-browser": [], "--jobs": ["1"]}
    return [*name.split(), *line, *(word for each in more if each in flags(name) for word in (each, *more[each]))]


SLOW = {"data demo", "run baseline", "report", "data build", "board submit", "board build"}
"""These take seconds: of the places where they may succeed, they get three."""


@dataclass(frozen=True)
class Place:
    """A kind of place: what makes it in an empty folder and names it; whether no output can be there."""

    make: Callable[[Path], str]
    refused_as: tuple[bool, ...] = ()
    more: tuple[tuple[str, Any], ...] = ()


def _at(make: Callable[[Path], Any], name: str = NAME) -> Callable[[Path], str]:
    def named(at: Path) -> str:
        make(at / name)
        return str(at / name)

    return named


class NotHere(Exception):
    """A kind of place that this machine, or this account, cannot make."""


def _foreign(path: Path) -> None:
    path.mkdir()
    (path / "thesis.txt").write_text("years")


def _node(major: int, minor: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        try:
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(major, minor))
        except PermissionError:
            raise NotHere("no devices can be made here") from None

    return make


def _linked(make: Callable[[Path], Any]) -> Callable[[Path], None]:
    def link(path: Path) -> None:
        make(path.with_name("target"))
        path.symlink_to("target")

    return link


def _closed(path: Path) -> None:
    path.parent.mkdir()
    path.parent.chmod(0o555)


def _immutable(path: Path) -> None:
    path.parent.mkdir()
    if not _change("+i", path.parent):
        raise NotHere("no file system here keeps a folder from changing")


def _change(*arguments: object) -> bool:
    """Change attributes of files as ``chattr`` does, where there is one; whether that went well."""
    command = ["chattr", *map(str, arguments)]
    return bool(shutil.which("chattr")) and not subprocess.run(command, capture_output=True, check=False).returncode


def _nothing(path: Path) -> None:
    pass


ALL, FILE, FOLDER = (True, False), (False,), (True,)
ROOT = os.geteuid() == 0
PLACES: dict[str, Place] = {
    "new": Place(_at(_nothing)),
    "below new folders": Place(_at(_nothing, f"a/b/{NAME}")),
    "slash at its end": Place(lambda at: f"{at}/{NAME}/"),
    "name of 250 letters": Place(_at(_nothing, "x" * 245 + ".xlsx")),
    "name with a line break": Place(_at(_nothing, "a\nb.xlsx")),
    "dangling link": Place(_at(_linked(_nothing))),
    "file": Place(_at(lambda path: path.write_text("old")), FOLDER),
    "link to a file": Place(_at(_linked(lambda path: path.write_text("old"))), FOLDER),
    "empty folder": Place(_at(Path.mkdir), FILE),
    "link to an empty folder": Place(_at(_linked(Path.mkdir)), FILE),
    "foreign folder": Place(_at(_foreign), (True, False)),
    "link to a foreign folder": Place(_at(_linked(_foreign)), (True, False)),
    "pipe": Place(_at(os.mkfifo), ALL),
    "link to a pipe": Place(_at(_linked(os.mkfifo)), ALL),
    "circle": Place(_at(lambda path: path.symlink_to(path)), ALL),
    "below a file": Place(_at(lambda path: path.parent.write_text("old"), f"file/{NAME}"), ALL),
    "name of 300 letters": Place(_at(_nothing, "x" * 300), ALL),
    "nothing": Place(lambda at: "", ALL),
    "dash": Place(lambda at: "-", ALL),
    "proc": Place(lambda at: f"/proc/{NAME}", ALL),
    "vanished folder": Place(lambda at: NAME, ALL, (("gone", True),)),
    "read-only folder": Place(_at(_closed, f"closed/{NAME}"), ALL, (("plain", True),)),
    "no room": Place(_at(_nothing), (), (("room", 60),)),
    **(
        {
            "null device": Place(_at(_node(1, 3)), ALL),
            "full device": Place(_at(_node(1, 7)), ALL),
            "link to a device": Place(_at(_linked(_node(1, 3))), ALL),
            "immutable folder": Place(_at(_immutable, f"fixed/{NAME}"), ALL),
        }
        if ROOT
        else {}
    ),
}
GOES_ON = {"data build", "data demo"}
"""What these have begun waits for the next call, hidden beside the place."""


@pytest.fixture(scope="module")
def given() -> Iterator[Path]:
    """A small data set, a run, an archive and sheets."""
    root = Path(tempfile.mkdtemp(prefix="siming-outputs-"))
    data = open_dataset(make_folder(root / "tiny", videos=3))
    run = write_run(data, root / "runs/qwen", model="org/Model")
    write_run(data, root / "runs/gpt", model="org/Other")
    (root / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC))
    lines = [f"{video.video_id},{step},consensus,{top:g}" for video in data.videos for step, top in STEPS]
    (root / "labels.csv").write_text("\n".join(["video_id,step_id,rater,points", *lines]) + "\n")
    choice = {"message": {"content": "{}"}, "finish_reason": "stop"}
    result = {"custom_id": "full_score/v001#0", "response": {"status_code": 200, "body": {"choices": [choice]}}}
    asked = {"id": "full_score/v001", "asked": "0", "model": "m", "file": "j", "setting": "full_score"}
    (root / "results.jsonl").write_text(json.dumps(result) + "\n")
    (root / "job_asked.jsonl").write_text(json.dumps(asked) + "\n")
    (root / "inbox").mkdir()
    subprocess.run([sys.executable, "-c", "import sys; from siming_tasks.cli import main; sys.exit(main(sys.argv[1:]))",
                    "board", "submit", str(run), "--out", str(root / "inbox" / "m.zip"),
                    "--data", str(root / "tiny")], check=True, capture_output=True)  # fmt: skip
    yield root
    _change("-R", "-i", root)
    shutil.rmtree(root, ignore_errors=True)


def look(at: Path) -> dict[str, tuple[int, bytes | str]]:
    """Everything below a folder: its kind, and its content or where it leads to."""
    seen: dict[str, tuple[int, bytes | str]] = {}
    for path in sorted(at.rglob("*")):
        mode = path.lstat().st_mode
        content: bytes | str = os.readlink(path) if stat.S_ISLNK(mode) else ""
        seen[path.relative_to(at).as_posix()] = (
            stat.S_IFMT(mode),
            path.read_bytes() if stat.S_ISREG(mode) else content,
        )
    return seen


@dataclass(frozen=True)
class Ended:
    """How a case ended, and what lay around its place before and after."""

    code: int
    said: str
    before: dict[str, tuple[int, bytes | str]]
    after: dict[str, tuple[int, bytes | str]]


Key = tuple[str, str, str]
KEYS = [
    # by default a third of the places for each command, in turn, for they share one way to a file
    pytest.param(
        (name, flag, kind),
        id=f"{name} {flag}-{kind}",
        marks=() if kind in ("new", "no room") or (row + column) % 3 == 0 else pytest.mark.weekly,
    )
    for row, ((name, flag), folder) in enumerate(outputs().items())
    for column, kind in enumerate(PLACES)
    if name not in SLOW or kind in ("new", "link to an empty folder", "no room") or folder in PLACES[kind].refused_as
]  # fmt: skip


@pytest.fixture(scope="module")
def ends(given: Path, request: pytest.FixtureRequest) -> dict[Key, Ended]:
    """All cases that are asked for, run one after the other by one process."""
    wanted = [item.callspec.params["case"] for item in request.session.items
              if "case" in getattr(item, "fixturenames", ()) and item.path == request.path]  # fmt: skip
    cases, at, before, tried = [], {}, {}, []
    for number, key in enumerate(wanted):
        name, flag, kind = key
        at[key] = given / "places" / f"{number}"
        standing, new = given / "standing" / f"{number}", given / "beside" / f"{number}"
        for folder in (at[key], standing, new):
            folder.mkdir(parents=True)
        for folder in (at[key], standing, new):
            folder.chmod(0o777)
        try:
            out = PLACES[kind].make(at[key])
        except NotHere:
            continue
        tried.append(key)
        words = [out if word == OUT else word for word in command_line(name, flag, given, new)]
        before[key] = look(at[key])
        cases.append({"argv": words, "cwd": str(standing), **dict(PLACES[kind].more)})
    results = run_cases(cases, given / "cache")
    return {
        key: Ended(result["code"], result["said"], before[key], look(at[key]))
        for key, result in zip(tried, results, strict=True)
    }


@pytest.mark.parametrize("case", KEYS)
def test_an_output_or_a_sentence(ends: dict[Key, Ended], case: Key) -> None:
    name, flag, kind = case
    if case not in ends:
        pytest.skip("this machine or account cannot make such a place")
    ended = ends[case]
    last = (ended.said.strip().splitlines() or [""])[-1]
    assert "Traceback" not in ended.said, ended.said
    assert ended.code in (0, 1, 2), ended.said
    if outputs()[name, flag] in PLACES[kind].refused_as:
        assert ended.code in (1, 2), "it went through"
    if ended.code:
        assert last.startswith((f"siming {name}: ", "Error: Invalid value for")), ended.said
        left = {path: seen for path, seen in ended.after.items() if ended.before.get(path) != seen}
        if name in GOES_ON and kind == "no room":
            kept = (f".{NAME}.part", f".{NAME}.lock")
            left = {path: seen for path, seen in left.items() if not path.startswith(kept)}
        if name == "data rate" and ended.code == 2 and "--port" in last:
            left = {}  # the event log was begun, and only then the port was found taken
        if name == "data rate" and kind == "no room":  # an empty log is begun the next time
            left = {path: seen for path, seen in left.items() if seen[1]}
        assert left == {}
        assert set(ended.before) <= set(ended.after)
    else:
        gone = {path for path, (mode, _) in ended.before.items() if ended.after.get(path, (0, ""))[0] != mode}
        assert gone == set(), "something else took its place"
        assert [path for path in ended.after if Path(path).name.startswith(".")] == []
