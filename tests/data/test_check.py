"""The doctor beyond the corruption matrix: what it must not say, and what it does not do."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.data import check_dataset
from tests.data.conftest import write_video
from tests.data.test_corruption import flip

Edit = Callable[[Callable[[list[dict[str, Any]]], Any]], None]


def test_quick_does_not_decode(folder: Path) -> None:
    flip(folder)
    assert check_dataset(folder, quick=True).errors == ()
    assert {problem.code for problem in check_dataset(folder).errors} == {"media-damaged", "media-digest"}


def test_jobs_do_not_change_the_report(folder: Path) -> None:
    flip(folder)
    write_video(folder / "media/v002.mp4", audio=True, size=(62, 46))
    assert check_dataset(folder, jobs=1) == check_dataset(folder, jobs=3)


def test_one_rotten_row_does_not_hide_the_others(folder: Path, edit: Edit) -> None:
    edit(lambda rows: [rows[0].pop("steps"), rows[1].update(duration=9.0)])
    (folder / "media/v003.mp4").write_bytes(b"")
    codes = {problem.code for problem in check_dataset(folder).errors}
    assert codes == {"row-invalid", "media-duration", "media-empty"}


def test_the_report_is_json(folder: Path) -> None:
    flip(folder)
    report = json.loads(json.dumps(check_dataset(folder).to_json(), allow_nan=False))
    assert report["ok"] is False
    assert set(report["errors"][0]) == {"code", "what", "fix", "file", "line", "field", "severity"}
    assert report["summary"]["videos"] == 3


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.write_text("x"), lambda path: path.mkdir()])
def test_check_refuses_what_is_no_folder(tmp_path: Path, make: Callable[[Path], Any]) -> None:
    make(tmp_path / "x")
    assert check_dataset(tmp_path / "x").errors


def test_memory_of_the_check_does_not_grow_with_the_film(tmp_path: Path) -> None:
    """Sixty frames of 4K are 750 MB; all of them were held, since what lies beside each was looked at."""
    film = write_video(tmp_path / "film.mp4", frames=60, size=(3840, 2160), options={"preset": "ultrafast"})
    code = (
        "import sys; from pathlib import Path; from siming_tasks.data.check import media_checks as module\n"
        "from siming_tasks.common.schema import StepLabel, Video\n"
        "def peak(): return int(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0]) / 1024\n"
        "path, video = Path(sys.argv[1]), Video('v', 'film.mp4', 6.0, (StepLabel('s', 0.0, 6.0),))\n"
        "module.inspect(path, video, 1, quick=True); before = peak()\n"
        "module.inspect(path, video, 1); print(peak() - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(film)], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 300
