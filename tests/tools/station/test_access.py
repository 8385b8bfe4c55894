"""Who gets in: the one with the key, by this machine's name, and to nothing but the station."""

import http.client
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.station.conftest import Station, start


@pytest.fixture(scope="module")
def folder(videos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(videos, tmp_path_factory.mktemp("videos") / "ward"))


@pytest.fixture(scope="module")
def station(folder: Path, rubric: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Station]:
    store = tmp_path_factory.mktemp("store") / "s.sqlite"
    found = start(folder, "--rater", "Dr. Li", "--rubric", rubric, "--store", store, cache=cache)
    yield found
    found.end()


def test_without_the_key_a_stranger_gets_nothing(station: Station) -> None:
    """Nor with a part of it, nor with a cookie, which other ports of this machine would get."""
    key = station.base.rpartition("/")[2]
    for path in ("/", "/work", "/station.js", "/media/0", "/nothing", f"/{key}x/work", f"/{key[:-1]}/work", "//work",
                 f"/{key}", f"/?ticket={key}"):  # fmt: skip
        status, headers, body = station.ask(path, headers={"cookie": f"siming_rate={key}"}, key=False)
        assert status == 403 and "default-src 'none'" in headers["content-security-policy"], path
        assert "whole address that `siming data rate` printed" in body.decode()
    for path in ("/", "/work"):
        status, headers, _ = station.ask(path)
        assert status == 200 and "set-cookie" not in headers and headers["referrer-policy"] == "no-referrer"


def test_other_names_of_this_machine_and_other_pages_are_refused(station: Station) -> None:
    """A page whose name was made to point here (DNS rebinding) says its own name in Host; a form sends text/plain."""
    port = station.server.rpartition(":")[2]
    for host, status in (("evil.example", 400), ("127.0.0.1.evil.example", 400), (f"localhost:{port}", 200)):
        assert station.ask("/work", headers={"host": host})[0] == status
    body = {"item": 0, "id": "abcdefgh", "step": "look", "kind": "points", "value": 2}
    for name, text, status in (
        ("origin", "http://evil.example", 403),
        ("origin", "http://127.0.0.1:1", 403),
        ("content-type", "text/plain", 400),
    ):
        assert station.ask("/act", body, {name: text})[0] == status
    assert json.loads(station.ask("/work")[2])["items"][0]["left"] == 3


def test_nothing_else_is_reachable(station: Station) -> None:
    """Sent as it stands (urllib would tidy the path), and to this machine's own address alone."""
    host, _, key = station.base.removeprefix("http://").partition("/")
    for path in ("/media/../station.js", "/media/..%2f..%2fetc%2fpasswd", "/../../../../etc/passwd", "/page.html",
                 "/media/exam%20a.mp4", "/media/99", "/media/-1", f"/media/{'9' * 5000}", "/docs"):  # fmt: skip
        connection = http.client.HTTPConnection(host, timeout=20)
        connection.putrequest("GET", f"/{key}{path}")
        connection.endheaders()
        assert connection.getresponse().status == 404, path
        connection.close()
    tables = "".join(Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6"))
    port = int(station.server.rpartition(":")[2])
    listening = [line.split()[1] for line in tables.splitlines() if f":{port:04X} " in line and " 0A " in line]
    assert [address.partition(":")[0] for address in listening] == ["0100007F"]


def test_the_key_stands_in_no_list_of_processes(videos: Path, rubric: Path, tmp_path: Path) -> None:
    """The browser is started with a file that its owner alone can read, and which leads on to the printed address."""
    told = tmp_path / "browser.told"
    (browser := tmp_path / "browser").write_text(
        """#!/bin/sh
        { tr '\\0' ' ' < /proc/$$/cmdline; echo; stat -c %a "${1#file://}"; cat "${1#file://}"; } > "$0.part"
        mv "$0.part" "$0.told"
        """
    )
    browser.chmod(0o755)
    more = ["--rater", "Dr. Li", "--rubric", rubric, "--store", tmp_path / "s.sqlite"]
    station = start(videos, *more, cache=tmp_path / "cache", browser=f"{browser} %s")
    try:
        while not told.is_file():
            time.sleep(0.05)
        argument, mode, page = told.read_text().splitlines()
        assert station.base.rpartition("/")[2] not in argument and mode == "600"
        assert f"url={station.base}/" in page
        assert station.ask("/work")[0] == 200
    finally:
        station.end()
    assert not Path(argument.split()[-1].removeprefix("file://")).exists()


def test_ranges_of_the_video(station: Station, folder: Path) -> None:
    data, path = (folder / "exam a.mp4").read_bytes(), f"/media/{station.number('exam a.mp4')}"
    status, headers, body = station.ask(path)
    assert (status, body, headers["content-type"]) == (200, data, "video/mp4")
    status, part, body = station.ask(path, headers={"range": "bytes=100-"})
    assert (status, body, part["content-range"]) == (206, data[100:], f"bytes 100-{len(data) - 1}/{len(data)}")


def test_an_act_that_makes_no_sense_is_refused_in_a_sentence(station: Station) -> None:
    number = station.number("exam a.mp4")
    for step, kind, value, said in (
        ("look", "points", 3, "3 is not on the scale of To look (look): 0, 1, 2."),
        ("look", "points", 0.5, "0.5 is not on the scale"),
        ("look", "points", True, "True is not on the scale"),
        ("look", "points", 10**400, "is not on the scale"),
        ("nowhere", "points", 1, "This exam has no step 'nowhere'."),
        (None, "points", 1, "The rubric has no step None."),
        ("look", ["points"], None, "does not take"),
        ("look", "start", 30, "The video has no frame 30."),
        ("look", "comment", "x" * 2001, "at most 2,000 characters"),
    ):
        answer = station.event(number, step, kind, value)
        assert answer["status"] == 409 and said in answer["error"], (kind, value, answer)
    for _ in range(2):  # sent twice, done once
        assert station.event(number, "look", "comment", "seen", "used-name")["status"] == 200
    assert station.event(number, "look", "points", 1, "used-name")["error"] == "Another event has this one's name."
    act = {"step": "look", "kind": "points", "value": 1, "item": station.item(0), "id": "abcdefgh"}
    for body, status in (
        ([1], 400), ({"x": "y" * 30_000}, 413), ({**act, "id": "a b"}, 409), ({**act, "item": 0}, 409),
        ({**act, "item": "0" * 16}, 409),
    ):  # fmt: skip
        assert station.ask("/act", body)[0] == status, body
    assert json.loads(station.ask("/work")[2])["items"][number]["left"] == 3, "nothing was written"


def test_a_video_that_changed_is_neither_shown_nor_scored(station: Station, folder: Path) -> None:
    number, before = station.number("exam a.mp4"), (folder / "exam a.mp4").read_bytes()
    shutil.copy(folder / "exam b.mp4", folder / "exam a.mp4")
    try:
        status, _, body = station.ask(f"/media/{number}")
        assert status == 409 and "was replaced or changed" in body.decode()
        assert station.event(number, "look", "points", 1)["status"] == 409
    finally:
        (folder / "exam a.mp4").write_bytes(before)
