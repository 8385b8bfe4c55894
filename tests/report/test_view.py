"""`siming view`: the report and the videos of its data set, to this machine, and nothing else."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest

from siming_tasks.cli import main
from siming_tasks.report.build import write_report
from siming_tasks.report.viewer_files import read_media_links
from tests.report.serving import Served, viewing


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("view-cache")


@pytest.fixture(scope="module")
def moved(lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report alone, somewhere else: its links lead nowhere. It holds what must not be served, too."""
    root = tmp_path_factory.mktemp("moved")
    out = shutil.copytree(lab.out, root / "far" / "away" / "report")
    (out.parent / "secret.html").write_text("secret")
    (out / "loose.html").symlink_to(out.parent / "secret.html")
    (out / "notes.sqlite").write_text("secret")
    return out


@pytest.fixture(scope="module")
def served(moved: Path, lab, cache: Path) -> Iterator[Served]:
    with viewing(moved, "--data", lab.dataset.root, cache=cache) as found:
        assert found.said == "Open this address in a browser here; end with Ctrl+C:\n"
        yield found


def link(report: Path, video: str) -> str:
    """Address at which a browser looks for the video that a page of this report links to."""
    return urljoin(f"http://h/videos/{video}.html", read_media_links(report).videos[video]).removeprefix("http://h")


def test_pages_come_as_they_are(served: Served, moved: Path) -> None:
    for name in ("index.html", "static/viewer.js", "static/report.css", "report.json", "answers.csv"):
        status, headers, body = served.ask(f"/{name}")
        assert (status, body) == (200, (moved / name).read_bytes()), name
        assert (
            headers["x-content-type-options"] == "nosniff" and "script-src 'self'" in headers["content-security-policy"]
        )
    assert served.ask("/")[2] == (moved / "index.html").read_bytes()
    assert served.ask("/static/viewer.js")[1]["content-type"].startswith("text/javascript")


def test_videos_are_where_the_pages_link_to_and_come_in_parts(served: Served, moved: Path, lab) -> None:
    assert len(lab.dataset.videos) == 4
    for video in lab.dataset.videos:
        at, data = link(moved, video.video_id), lab.dataset.media_path(video).read_bytes()
        status, headers, body = served.ask(at)
        assert (status, body, headers["content-type"]) == (200, data, "video/mp4")
        status, headers, body = served.ask(at, {"range": "bytes=100-199"})
        assert (status, body) == (206, data[100:200])
        assert headers["content-range"] == f"bytes 100-199/{len(data)}"


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.html",
        "/static/../../secret.html",
        "/..%2fsecret.html",
        "/%2e%2e/secret.html",
        "/loose.html",
        "/notes.sqlite",
        "//etc/passwd",
        "/etc/passwd",
        "/videos/",
        "/static",
        "/a%00.html",
        "/videos\\..\\index.html",
    ],
)
def test_nothing_else_is_reachable(served: Served, path: str) -> None:
    status, _, body = served.ask(path)
    assert status == 404 and b"secret" not in body and b"root:" not in body


def test_files_beside_the_videos_are_not_served(served: Served, moved: Path, lab) -> None:
    at = link(moved, lab.dataset.videos[0].video_id)
    for other in ("videos.jsonl", "dataset.yaml", f"media/{lab.dataset.videos[0].video_id}.mp4x"):
        assert (lab.dataset.root / other).is_file() or other.endswith("x")
        assert served.ask(urljoin(at, f"../{other}"))[0] == 404


def test_requests_without_a_key_are_refused(served: Served, moved: Path, lab) -> None:
    for path in ("/", "/index.html", link(moved, lab.dataset.videos[0].video_id)):
        status, _, body = served.ask(path, key=False)
        assert status == 403 and b"whole address that `siming view` printed" in body
    assert served.ask("/index.html", {"host": "evil.example"})[0] == 400
    assert served.ask("/index.html", {"origin": "http://evil.example"})[0] == 403
    assert served.ask("/index.html", method="POST")[0] == 405
    assert served.ask("/index.html", method="HEAD")[0] == 200


def test_only_this_machine_is_served(served: Served) -> None:
    tables = "".join(Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6"))
    rows = [line.split() for line in tables.splitlines()]
    listening = [row[1] for row in rows if row[1].endswith(f":{served.port:04X}") and row[3] == "0A"]
    assert [address.partition(":")[0] for address in listening] == ["0100007F"]


def test_the_data_set_is_found_where_the_pages_link_to(lab, cache: Path) -> None:
    with viewing(lab.out, cache=cache) as served:
        video = lab.dataset.videos[0]
        assert served.ask(link(lab.out, video.video_id))[2] == lab.dataset.media_path(video).read_bytes()


def test_missing_videos_are_reported(moved: Path, lab, cache: Path, tmp_path: Path) -> None:
    with viewing(moved, cache=cache) as served:
        assert "Its videos are not where the report links to: give their data set with --data DIR." in served.said
        assert served.ask(link(moved, lab.dataset.videos[0].video_id))[0] == 404
        assert served.ask("/index.html")[0] == 200
    shutil.copytree(lab.dataset.root, tmp_path / "data")
    first, second = lab.dataset.videos[:2]
    (tmp_path / "data" / first.media).unlink()
    shutil.copy(lab.dataset.media_path(lab.dataset.videos[2]), tmp_path / "data" / second.media)
    with viewing(moved, "--data", tmp_path / "data", cache=cache) as served:
        assert f"1 of 4 videos are missing in {tmp_path / 'data'}." in served.said
        assert served.ask(link(moved, first.video_id))[0] == 404
        status, _, body = served.ask(link(moved, second.video_id))
        assert status == 404 and second.video_id in body.decode(), "another video in its place is not shown as it"


def test_what_cannot_be_viewed_is_said_in_a_sentence(lab, moved: Path, tmp_path: Path, capsys: Any) -> None:
    def refused(*words: Any) -> str:
        assert main(["view", *map(str, words), "--no-browser"]) in (1, 2)
        return str(capsys.readouterr().err)

    assert "no report. Give the folder that `siming report --out` wrote." in refused(tmp_path)
    other = shutil.copytree(lab.dataset.root, tmp_path / "other")
    lines = (other / "videos.jsonl").read_text().splitlines(keepends=True)
    (other / "videos.jsonl").write_text("".join(lines[1:]))
    about = (other / "dataset.yaml").read_text().splitlines(keepends=True)
    (other / "dataset.yaml").write_text("".join(line for line in about if not line.startswith("digest")))
    assert "Give the data set that it was made of." in refused(moved, "--data", other)
    broken = shutil.copytree(moved, tmp_path / "broken", symlinks=True)
    (broken / "media.json").write_text('{"videos": 3}')
    assert "media.json: cannot be read. Write the report again." in refused(broken)
    (broken / "media.json").unlink()
    assert "has no media.json. Write the report again" in refused(broken)


def test_copies_travel_with_the_report(lab, cache: Path, tmp_path: Path) -> None:
    out = write_report([lab.runs / "noisy"], lab.dataset, tmp_path / "report", media="copy", progress=False)
    assert json.loads((out / "media.json").read_text())["videos"] == {}
    video = lab.dataset.videos[0]
    with viewing(out, cache=cache) as served:
        assert served.said.startswith("Open this address"), "nothing is missing"
        assert served.ask(f"/media/{video.video_id}.mp4")[2] == lab.dataset.media_path(video).read_bytes()
