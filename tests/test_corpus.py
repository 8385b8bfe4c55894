"""Every input that ``utils/fuzz.py`` starts from or found is read within limits, and with deliberate errors alone."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from siming_tasks.common.errors import DataError
from tests.fuzz_targets import CORPUS, SECONDS, TARGETS, Target, attack

INPUTS = sorted(path for path in CORPUS.glob("*/*") if path.is_file())


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_an_input_of_the_corpus(path: Path) -> None:
    attack(path.parent.name, path.read_bytes())


def test_every_target_has_inputs_and_they_are_small() -> None:
    for name in TARGETS:
        sizes = [path.stat().st_size for path in INPUTS if path.parent.name == name]
        assert sizes and sum(sizes) < 60_000
    assert {path.parent.name for path in INPUTS} == set(TARGETS)


def burn(_: int, __: bytes) -> None:
    end = time.process_time() + SECONDS + 0.2
    while time.process_time() < end:
        pass


def refuse(_: int, content: bytes) -> None:
    raise {b"deliberate": DataError("line 1: no."), b"mute": DataError(" ")}.get(content, KeyError("x"))


@pytest.mark.parametrize(
    ("read", "content", "finding"),
    [
        (burn, b"", "s of CPU time"),
        (refuse, b"any", "x"),
        (refuse, b"mute", "without a word"),
        (refuse, b"deliberate", None),
    ],
)
def test_what_is_a_finding(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[int, bytes], None], content: bytes, finding: str | None
) -> None:
    monkeypatch.setitem(TARGETS, "other", Target(read, ()))
    with pytest.raises((AssertionError, KeyError), match=finding) if finding else nullcontext():
        attack("other", b"0" + content)


def test_the_job_runs_without_a_guide(tmp_path: Path) -> None:
    script = str(Path(__file__).parents[1] / "utils" / "fuzz.py")
    command = [sys.executable, script, "--random", "--minutes", "0.03", "--target", "parser", "--work", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"^parser +([\d,]+) executions .* 0 findings$", done.stdout, re.MULTILINE)
    assert found and int(found[1].replace(",", "")) > 0
