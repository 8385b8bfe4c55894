"""Running the real lmms-eval command and reading what it leaves behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Run:
    """One finished lmms-eval command."""

    code: int
    output: str
    folder: Path

    def results(self) -> dict[str, Any]:
        """The results file; a crash exits 0 and leaves none, so its presence is part of every test."""
        files = sorted(self.folder.rglob("*_results.json"))
        assert len(files) == 1, self.output[-5000:]
        text = files[0].read_text()
        assert "NaN" not in text
        return json.loads(text)

    def task(self, name: str) -> dict[str, Any]:
        """The metrics of one task, without the filter in their names."""
        row = self.results()["results"][f"siming_{name}"]
        return {key.removesuffix(",none"): value for key, value in row.items()}

    def samples(self, name: str) -> list[dict[str, Any]]:
        """The logged samples of one task."""
        (file,) = self.folder.rglob(f"*_samples_siming_{name}.jsonl")
        return [json.loads(line) for line in file.read_text().splitlines()]


def lmms_eval(folder: Path, *arguments: str, data: Path | None, launcher: tuple[str, ...] = (), **env: str) -> Run:
    command = [*(launcher or (str(Path(sys.executable).with_name("lmms-eval")),)), *arguments]
    command += ["--output_path", str(folder / "out"), "--log_samples"]
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("SIMING_", "OPENAI_"))},
        **({"SIMING_DATA": str(data)} if data else {}),
        "SIMING_CACHE": str(folder.parent / "siming-cache"),
        "SIMING_RESAMPLES": "500",
        "HF_HUB_OFFLINE": "1",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        **env,
    }
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=800
    )
    return Run(done.returncode, done.stdout, folder / "out")


@pytest.fixture
def host(tmp_path: Path) -> Callable[..., Run]:
    """``host(*arguments, data=folder, name="run", launcher=(), ENV=...)`` runs lmms-eval in an empty folder."""

    def call(*arguments: str, name: str = "run", **options: Any) -> Run:
        (tmp_path / name).mkdir()
        return lmms_eval(tmp_path / name, *arguments, **options)

    return call
