"""`siming data rate` before it serves: what does not go together, what is no folder of exams, what is in the way."""

import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.cli import main
from siming_tasks.common.errors import OptionsError
from siming_tasks.tools.station.worklist import rater_name


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give the rater's name: --rater NAME."),
        (["--rater", "consensus"], "--rater consensus is reserved for --adjudicate"),
        (["--rater", "a\u202eb"], "must be 1 to 60 visible characters"),
        (["--rater", "unbekannt"], "'unbekannt' is not a name"),
        (["--rater", "Final"], "'Final' is not a person"),
        (["--rater", "x", "--adjudicate"], "leave out --rater"),
        (["--adjudicate"], "--adjudicate needs two raters; in"),
    ],
)
def test_who_cannot_rate_is_told_why(
    words: list[str], said: str, videos: Path, rubric: Path, tmp_path: Path, capsys: Any
) -> None:
    more = ["--rubric", str(rubric), "--store", str(tmp_path / "s.sqlite")]
    assert main(["data", "rate", str(videos), *words, *more]) == 2
    assert said in capsys.readouterr().err
    with pytest.raises(OptionsError, match=r"'Dr Li': 'Dr\. Li' has rated in this file.*--different 'Dr\. Li' 'Dr Li'"):
        rater_name("Dr Li", ["Dr. Li", "Wu"])
    assert rater_name("Dr Li", ["Dr. Li", "Dr Li"]) == rater_name("Dr Li", ["Dr. Li"], [("Dr Li", "Dr. Li")]) == "Dr Li"
    assert (rater_name("  Dr.  Li "), rater_name("e\u0301"), rater_name("李医生")) == ("Dr. Li", "é", "李医生")


def test_what_is_no_folder_of_exams_and_a_port_that_is_taken(
    videos: Path, rubric: Path, tmp_path: Path, capsys: Any
) -> None:
    (tmp_path / "empty").mkdir()
    shutil.copytree(videos, tmp_path / "twice")
    shutil.copy(videos / "exam a.mp4", tmp_path / "twice" / "exam c.mp4")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "x.mp4").write_bytes((videos / "exam a.mp4").read_bytes()[:900])
    words = ["--rater", "x", "--rubric", str(rubric), "--store", str(tmp_path / "s.sqlite"), "--no-browser"]
    for name, said in {
        "empty": "no video file found", "twice": "'exam c.mp4' is the same video as 'exam a.mp4'", "broken": "x.mp4"
    }.items():  # fmt: skip
        assert main(["data", "rate", str(tmp_path / name), *words]) == 1
        assert said in capsys.readouterr().err
    assert not (tmp_path / "s.sqlite").exists()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["data", "rate", str(videos), *words, "--port", str(port)]) == 2
    assert f"--port {port}: Address already in use." in capsys.readouterr().err
