"""The version of PyAV that comes next: the tests of this folder, and every digest, with it in the place of ours."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NEXT = "av>=17.1,<18"


@pytest.mark.weekly
def test_all_of_media_holds_with_the_next_decoder(tmp_path: Path) -> None:
    """It is in a folder of its own, before the environment's; ``SIMING_NEXT_AV`` names one that is there already."""
    folder = os.environ.get("SIMING_NEXT_AV")
    if not folder:
        folder = str(tmp_path / "av")
        words = "-m pip install -q --no-deps --only-binary=:all: --target"
        pip = [sys.executable, *words.split(), folder, NEXT]
        if subprocess.run(pip, check=False).returncode:
            pytest.skip(f"{NEXT} cannot be installed here")
    environment = {**os.environ, "PYTHONPATH": folder}

    def run(*arguments: str) -> str:
        command = [sys.executable, *arguments]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
        return done.stdout

    assert run("-c", "import av; print(av.__version__)").startswith("17.")
    run("-m", "pytest", "-q", "-p", "no:xdist", "tests/media")
    run("-m", "pytest", "-q", "-p", "no:xdist", "-m", "weekly", "tests/media/test_pixels.py")
