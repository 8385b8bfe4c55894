"""Files that version 0.1 wrote, and the numbers that it gave for them."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
SKIPPED = ("filled_per_skill", "imputed_per_skill", "extra", "options", "media", "usage")
WHOLE = ("statuses", "requests", "missing", "digest", "summary", "failed", "finished")


@pytest.fixture(scope="session")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything that version 0.1 wrote: data sets, runs, predictions, replies, frames, ratings."""
    folder = tmp_path_factory.mktemp("landed")
    with tarfile.open(HERE / "version_0_1.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture(scope="session")
def expected() -> Any:
    """By kind, the numbers of version 0.1."""
    return json.loads((HERE / "expected.json").read_text(encoding="utf-8"))


def numbers(content: Any, path: str = "") -> dict[str, Any]:
    """Every estimate of a command's JSON by its path, as value and interval, and how replies were read."""
    found: dict[str, Any] = {}
    if isinstance(content, dict):
        if isinstance(content.get("value"), int | float) and not isinstance(content["value"], bool):
            interval = [content["low"], content["high"]] if content.get("low") is not None else []
            return {path: [content["value"], *interval]}
        for key, value in content.items():
            place = f"{path}.{key}".lstrip(".")
            if key in WHOLE and len(json.dumps(value)) < 600:
                found[place] = value
            elif key not in SKIPPED:
                found |= numbers(value, place)
    elif isinstance(content, list) and len(content) < 40:
        for index, value in enumerate(content):
            found |= numbers(value, f"{path}[{index}]")
    return found
