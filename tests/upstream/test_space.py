"""The Space: a page that takes predictions and prints the checked table, run as the Space runs it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest

from siming_tasks.data import open_dataset

ROOT = Path(__file__).parents[2]


@pytest.fixture
def address(short_demo: Path, tmp_path: Path) -> Iterator[str]:
    out = tmp_path / "space"
    command = [
        sys.executable,
        str(ROOT / "utils" / "make_space.py"),
        str(out),
        "org/exams@main",
        "https://host/o/siming",
    ]
    subprocess.run(command, check=True, timeout=60)
    assert "sdk: docker" in (out / "README.md").read_text() and "org/exams@main" in (out / "Dockerfile").read_text()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    told = {"SPACE_DATA": str(short_demo), "SPACE_HOST": "127.0.0.1", "SPACE_PORT": str(port), "SPACE_LABELS": ""}
    served = subprocess.Popen(
        [sys.executable, str(out / "app.py")], env={**os.environ, **told, "SIMING_RESAMPLES": "50"}
    )
    url = f"http://127.0.0.1:{port}"
    try:
        while True:
            assert served.poll() is None
            try:
                assert b"check predictions" in urlopen(url, timeout=60).read()
                break
            except URLError:
                time.sleep(0.1)
        yield url
    finally:
        served.terminate()
        served.wait(30)


def test_a_file_of_predictions_gives_the_table_and_a_wrong_one_a_sentence(address: str, short_demo: Path) -> None:
    lines = []
    for video in open_dataset(short_demo).videos:
        scores = {step.step_id: step.scores["rater_b"] for step in video.steps}
        lines.append(json.dumps({"id": f"full_score/{video.video_id}", "reply": json.dumps({"scores": scores})}))
    with urlopen(Request(f"{address}/score", "\n".join(lines).encode()), timeout=120) as reply:
        table = reply.read().decode()
    assert "SYNTHETIC" in table and "qwk" in table and "1.000" in table  # all is answered
    with pytest.raises(HTTPError) as refused:
        urlopen(Request(f"{address}/score", b"<script>no predictions</script>"), timeout=120)
    assert refused.value.code == 422 and refused.value.headers["content-type"].startswith("text/plain")
    assert "predictions.jsonl" in refused.value.read().decode()
