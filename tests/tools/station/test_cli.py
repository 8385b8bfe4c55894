"""`siming data rate` before it serves: what does not go together, what is no folder of exams, what is in the way."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.cli import main
from siming_tasks.tools.local_server.local_server import AccessKey
from siming_tasks.tools.station.app import application
from siming_tasks.tools.station.worklist import rater_name


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--rater NAME: say who rates."),
        (["--rater", "consensus"], "--rater consensus is kept for --adjudicate"),
        (["--rater", " "], "must be 1 to 60 visible characters"),
        (["--rater", "a\u202eb"], "must be 1 to 60 visible characters"),
        (["--rater", "x", "--adjudicate"], "leave out --rater"),
        (["--rater", "x", "--raters", "a", "b"], "--raters A B goes with --adjudicate"),
        (["--adjudicate"], "--adjudicate needs two raters; in"),
    ],
)
def test_flags_that_exclude_each_other_are_refused(
    words: list[str], said: str, videos: Path, rubric: Path, tmp_path: Path, capsys: Any
) -> None:
    more = ["--rubric", str(rubric), "--store", str(tmp_path / "s.sqlite")]
    assert main(["data", "rate", str(videos), *words, *more]) == 2
    assert said in capsys.readouterr().err


def test_rate_refuses_a_folder_without_exams(videos: Path, tmp_path: Path, capsys: Any) -> None:
    def refused(folder: Path) -> str:
        assert main(["data", "rate", str(folder), "--rater", "x", "--store", str(tmp_path / "s.sqlite")]) == 1
        return str(capsys.readouterr().err)

    assert "no such folder" in refused(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    assert "holds no video file" in refused(tmp_path / "empty")
    shutil.copytree(videos, tmp_path / "twice")
    shutil.copy(videos / "exam a.mp4", tmp_path / "twice" / "exam c.mp4")
    assert "'exam c.mp4' is the same video as 'exam a.mp4'" in refused(tmp_path / "twice")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "x.mp4").write_bytes((videos / "exam a.mp4").read_bytes()[:900])
    assert "x.mp4" in refused(tmp_path / "broken")
    assert not (tmp_path / "s.sqlite").exists()


def test_rate_names_a_port_that_is_taken(videos: Path, rubric: Path, tmp_path: Path, capsys: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        words = ["--rater", "x", "--rubric", rubric, "--store", tmp_path / "s.sqlite", "--no-browser"]
        port = taken.getsockname()[1]
        assert main(list(map(str, ["data", "rate", videos, *words, "--port", port]))) == 2
    assert f"--port {port}: Address already in use. Leave it out for a free one." in capsys.readouterr().err


def test_names_of_raters() -> None:
    assert rater_name("  Dr.  Li ") == "Dr. Li"
    assert rater_name("e\u0301") == "é", "one spelling for one name"
    assert rater_name("李医生") == "李医生"


def test_a_ticket_is_accepted_once(videos: Path, rubric: Path, tmp_path: Path) -> None:
    """By the application's own client: who reads a browser's command line in the list of processes comes too late."""
    from starlette.testclient import TestClient

    from siming_tasks.tools.station.event_log import EventLog
    from siming_tasks.tools.station.station_exams import find_exams
    from siming_tasks.tools.station.worklist import Rating

    exams = find_exams(videos, tmp_path, rubric)
    work = Rating(EventLog.begin(tmp_path / "s.sqlite", exams.rubric), "x", exams)
    app = application(work, key=AccessKey("T" * 40, "K" * 40), cache=tmp_path)

    client = TestClient(app, base_url="http://127.0.0.1", follow_redirects=False)
    first = client.get(f"/?ticket={'K' * 40}")
    assert (first.status_code, first.headers["location"]) == (303, f"/{'T' * 40}/")
    assert client.get(first.headers["location"]).status_code == 200
    assert client.get(f"/?ticket={'K' * 40}").status_code == client.get(f"/?ticket={'T' * 40}").status_code == 403
