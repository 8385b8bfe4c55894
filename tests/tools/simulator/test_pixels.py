"""Planted errors are in the pixels of an encoded exam: the reader of utils/ finds them without learning."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

READER = Path(__file__).parents[3] / "utils" / "pixel_reader.py"


@pytest.mark.skipif(not READER.is_file(), reason="utils/ is in the checkout only")
def test_planted_errors_are_read_back_from_the_video(tmp_path):
    command = [sys.executable, str(READER), "--looks", "1", "--jobs", "1", "--quick", "--json", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "out").read_text())
    assert summary["n"] >= 15
    assert summary["recovered"] >= 0.9
    assert summary["false_alarms"] <= 0.1
