"""A video that this account may not read: one sentence from every command that opens a data set, never a traceback."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run_cases import run_cases
from tests.data.conftest import make_folder


@pytest.fixture(scope="module")
def ends() -> Iterator[dict[str, dict[str, Any]]]:
    """How each command ended that was given the data set."""
    root = Path(tempfile.mkdtemp(prefix="siming-unreadable-"))
    root.chmod(0o755)
    data = make_folder(root / "tiny", videos=2)
    (root / "open").mkdir()
    (root / "open").chmod(0o777)
    (data / "media" / "v001.mp4").chmod(0)
    out = root / "open"
    rate = ["data", "rate", str(data), "--rater", "x", "--no-browser", "--port", "{BUSY PORT}", "--store"]
    lines = {
        "data check": ["data", "check", str(data)],
        "leaks": ["data", "check", str(data), "--leaks"],
        "data rate": [*rate, str(out / "log")],
        "data split": ["data", "split", str(data), str(out / "public"), "--key", str(out / "key")],
        "data push": ["data", "push", str(data), "org/name"],
        "data build": ["data", "build", str(out / "built"), "--rubric", str(data / "rubric.yaml"), "--labels",
                       str(root / "labels.csv"), "--videos", str(data / "media")],
        "run plan": ["run", "plan", "--data", str(data)],
        "run prepare": ["run", "prepare", "--data", str(data)],
        "run requests": ["run", "requests", str(out / "requests"), "--data", str(data), "--model", "m", "--limit", "1"],
    }  # fmt: skip
    rows = (
        f"{video},{step},consensus,2\n"
        for video in ("v001", "v002")
        for step in ("cpr_01", "cpr_02", "cpr_03", "aed_01")
    )
    (root / "labels.csv").write_text("video_id,step_id,rater,points\n" + "".join(rows))
    cases = [{"argv": words, "cwd": str(out), "plain": True} for words in lines.values()]
    yield dict(zip(lines, run_cases(cases, out / "cache"), strict=True))
    shutil.rmtree(root)


@pytest.mark.parametrize(
    "name",
    ["data check", "leaks", "data rate", "data split", "data push", "data build", "run plan",
     "run prepare", "run requests"],
)  # fmt: skip
def test_a_video_that_may_not_be_read_is_a_sentence(ends: dict[str, dict[str, Any]], name: str) -> None:
    ended = ends[name]
    assert "Traceback" not in ended["said"], ended["said"]
    assert ended["code"] == 1, ended["said"]
    if name != "data check":  # its findings stand on standard output
        assert "v001.mp4" in ended["said"]
        assert "Permission denied" in ended["said"]
