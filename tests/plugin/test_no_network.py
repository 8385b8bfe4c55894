"""A run that needs no network asks for none."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PATCH = '''
"""Every name that is looked up is written down, and found nowhere."""
import os, socket

def refuse(host, *args, **kwargs):
    with open(os.environ["LOOKED_UP"], "a") as stream:
        stream.write(f"{host}\\n")
    raise socket.gaierror("no network in this test")

socket.getaddrinfo = socket.gethostbyname = socket.gethostbyname_ex = refuse
'''


@pytest.mark.host
def test_a_plain_run_looks_up_no_name(
    host: Callable[..., Any], command: tuple[str, ...], short_demo: Path, tmp_path: Path
) -> None:
    """The whole command, in a process of its own: also what is asked while modules are imported."""
    (tmp_path / "sitecustomize.py").write_text(PATCH)
    looked_up = tmp_path / "names"
    looked_up.touch()
    run = host(
        "--model", "siming_reference", "--model_args", "kind=oracle", "--tasks", "siming_clip_score", "--limit", "1",
        data=short_demo, launcher=command, SIMING_FRAMES="2", SIMING_CLIP_FRAMES="2", HF_HUB_OFFLINE="0",
        PYTHONPATH=os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH")))),
        LOOKED_UP=str(looked_up),
    )  # fmt: skip
    assert run.task("clip_score")["coverage"] == 1.0
    assert looked_up.read_text().splitlines() == []
