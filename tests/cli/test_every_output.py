"""Every command that writes, given places that no output can take and a disk without room: a sentence, nothing else.

The command lines are read from the examples of the commands, so a new command is tried as well.
"""

import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from siming_tasks.benchmark.tasks import ABLATION_TASKS, BENCHMARK_TASKS
from siming_tasks.cli.main import COMMANDS, find_command, main
from siming_tasks.cli.parameters import OutputPath
from siming_tasks.data import open_dataset
from tests.cli.command_lines import example, flags, parse
from tests.cli.run_cases import run_cases
from tests.data.conftest import RUBRIC, STEPS, make_folder
from tests.runs import write_run

OUT = "{OUT}"
NAME = "out.xlsx"
"""The kind of name that `data template` insists on; to all others it is a name."""
GOES_ON = {"data build", "data demo"}
"""What these have begun waits for the next call, hidden beside the place."""


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
    more = {"--port": ["{BUSY-PORT}"], "--no-browser": [], "--jobs": ["1"]}
    return [*name.split(), *line, *(word for each in more if each in flags(name) for word in (each, *more[each]))]


@dataclass(frozen=True)
class Place:
    """A kind of place: what is made at the path in an empty folder, and how its case is run."""

    make: Callable[[Path], object] = lambda path: None
    name: str = NAME
    how: dict[str, Any] = field(default_factory=dict)


def _foreign(path: Path) -> None:
    path.mkdir()
    (path / "thesis.txt").write_text("years")


def _link_to_a_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("target"))
    path.symlink_to("target")


NO_ROOM = Place(how={"room": 60})
TAKEN = Place(_foreign)
IN_TURN = (
    Place(lambda path: path.parent.write_text("old"), name=f"file/{NAME}"),
    Place(_link_to_a_pipe),
    Place(lambda path: path.parent.mkdir(0o555), name=f"closed/{NAME}", how={"plain": True}),
    Place(lambda path: path.symlink_to(path)),
)
"""Places of which each command gets one, for all look at them in one way."""


@pytest.fixture(scope="module")
def given() -> Iterator[Path]:
    root = Path(tempfile.mkdtemp(prefix="siming-outputs-"))
    root.chmod(0o755)
    data = open_dataset(make_folder(root / "tiny", videos=3))
    settings = (*BENCHMARK_TASKS, next(iter(ABLATION_TASKS)))  # which is left out of an archive
    run = write_run(data, root / "runs/qwen", model="org/Model", settings=settings)
    write_run(data, root / "runs/gpt", model="org/Other")
    (root / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC))
    lines = [f"{video.video_id},{step},consensus,{top:g}" for video in data.videos for step, top in STEPS]
    (root / "labels.csv").write_text("\n".join(["video_id,step_id,rater,points", *lines]) + "\n")
    choice = {"message": {"content": "{}"}, "finish_reason": "stop"}
    result = {"custom_id": "full_score/v001#0", "response": {"status_code": 200, "body": {"choices": [choice]}}}
    asked = {"id": "full_score/v001", "asked": "0", "model": "m", "file": "j", "setting": "full_score"}
    (root / "results.jsonl").write_text(json.dumps(result) + "\n")
    (root / "job_asked.jsonl").write_text(json.dumps(asked) + "\n")
    (root / "inbox" / "lab").mkdir(parents=True)
    (root / "inbox.senders.txt").write_text("lab")
    archive = str(root / "inbox" / "lab" / "m.zip")
    assert main(["board", "submit", str(run), "--out", archive, "--data", str(data.root)]) == 0
    board = ["--out", str(root / "board"), "--data", str(data.root), "--new-ledger"]
    assert main(["board", "build", str(root / "inbox"), *board]) == 0
    yield root
    shutil.rmtree(root, ignore_errors=True)


def look(at: Path) -> dict[str, tuple[int, bytes | str]]:
    seen: dict[str, tuple[int, bytes | str]] = {}
    for path in sorted(at.rglob("*")):
        mode = path.lstat().st_mode
        content = path.read_bytes() if stat.S_ISREG(mode) else os.readlink(path) if stat.S_ISLNK(mode) else ""
        seen[path.relative_to(at).as_posix()] = (stat.S_IFMT(mode), content)
    return seen


def test_a_sentence_and_nothing_left_behind(given: Path) -> None:
    outputs = [(name, param.opts[0]) for name in COMMANDS for param in find_command(name).params
               if isinstance(param.type, OutputPath)]  # fmt: skip
    tried = [(*output, place) for row, output in enumerate(outputs)
             for place in (NO_ROOM, TAKEN, IN_TURN[row % len(IN_TURN)])]  # fmt: skip
    cases, places, before = [], [], []
    for number, (name, flag, place) in enumerate(tried):
        at, standing, new = (given / kind / str(number) for kind in ("places", "standing", "beside"))
        for folder in (at, standing, new):
            folder.mkdir(parents=True)
            folder.chmod(0o777)
        place.make(at / place.name)
        line = [str(at / place.name) if word == OUT else word for word in command_line(name, flag, given, new)]
        cases.append({"argv": line, "cwd": str(standing), **place.how})
        places.append(at)
        before.append(look(at))
    assert len(tried) > 30
    for (name, _, place), at, was, ended in zip(tried, places, before, run_cases(cases, given / "cache"), strict=True):
        said, code = ended["said"], ended["code"]
        last = (said.strip().splitlines() or [""])[-1]
        assert "Traceback" not in said and code in (0, 1, 2), (name, place, said)
        assert code or place is NO_ROOM, (name, place, "it went through")
        left = {path: seen for path, seen in look(at).items() if was.get(path) != seen}
        if not code:  # little was to be written
            continue
        assert last.startswith((f"siming {name}: ", "Error: Invalid value for")), (name, place, said)
        if place is NO_ROOM and name in GOES_ON:
            left = {
                path: seen for path, seen in left.items() if not path.startswith((f".{NAME}.part", f".{NAME}.lock"))
            }
        if place is NO_ROOM and name == "data rate":  # an empty log is begun the next time
            left = {path: seen for path, seen in left.items() if seen[1]}
        assert left == {} and set(was) <= set(look(at)), (name, place)
