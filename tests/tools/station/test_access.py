"""Who gets in: the one with the key, by this machine's name, and to nothing but the station."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.station.conftest import Station, start


@pytest.fixture(scope="module")
def station(videos: Path, rubric: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Station]:
    store = tmp_path_factory.mktemp("store") / "s.sqlite"
    found = start(videos, "--rater", "Dr. Li", "--rubric", rubric, "--store", store, cache=cache)
    yield found
    found.end()


PATHS = ("/", "/work", "/station.js", "/media/0", "/nothing")


@pytest.mark.parametrize("path", PATHS)
def test_a_stranger_gets_nothing(station: Station, path: str) -> None:
    status, headers, body = station.ask(path, key=False)
    assert status == 403
    assert "whole address that `siming data rate` printed" in body.decode()
    assert "default-src 'none'" in headers["content-security-policy"]


def test_a_wrong_key_is_no_key_and_there_is_no_cookie_that_other_ports_would_get(station: Station) -> None:
    key = station.base.rpartition("/")[2]
    for path in (f"/{key}x/work", f"/{key[:-1]}/work", "//work", f"/{key}", f"/?ticket={key}", "/?ticket="):
        assert station.ask(path, key=False)[0] == 403, path
    assert station.ask("/work", headers={"cookie": f"siming_rate={key}"}, key=False)[0] == 403
    for path in ("/", "/work"):
        status, headers, _ = station.ask(path)
        assert status == 200 and "set-cookie" not in headers and headers["referrer-policy"] == "no-referrer"


def test_another_name_for_this_machine_is_refused(station: Station) -> None:
    """A page whose name was made to point here (DNS rebinding) says its own name in Host."""
    for host in ("evil.example", "127.0.0.1.evil.example", "0.0.0.0"):
        assert station.ask("/work", headers={"host": host})[0] == 400
    port = station.server.rpartition(":")[2]
    assert station.ask("/work", headers={"host": f"localhost:{port}"})[0] == 200


def test_another_page_cannot_act(station: Station) -> None:
    body = {"item": 0, "id": "abcdefgh", "step": "look", "kind": "points", "value": 2}
    assert station.ask("/act", body, {"origin": "http://evil.example"})[0] == 403
    assert station.ask("/act", body, {"origin": "http://127.0.0.1:1"})[0] == 403
    assert station.ask("/act", body, {"content-type": "text/plain"})[0] == 400, "a form can send text/plain"
    assert json.loads(station.ask("/work")[2])["items"][0]["left"] == 3


@pytest.mark.parametrize(
    "path",
    [
        "/media/../station.js",
        "/media/..%2f..%2fetc%2fpasswd",
        "/../../../../etc/passwd",
        "/static/page.html",
        "/page.html",
        "/media/exam%20a.mp4",
        "/media/99",
        "/media/-1",
        f"/media/{'9' * 5000}",
        "/act/",
        "/docs",
    ],
)
def test_nothing_else_is_reachable(station: Station, path: str) -> None:
    """Sent as it stands: urllib would tidy the path."""
    host, _, key = station.base.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=20)
    connection.putrequest("GET", f"/{key}{path}")
    connection.endheaders()
    assert connection.getresponse().status == 404
    connection.close()


def test_only_this_machine_is_served(station: Station) -> None:
    tables = "".join(Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6"))
    port = int(station.server.rpartition(":")[2])
    listening = [line.split()[1] for line in tables.splitlines() if f":{port:04X} " in line and " 0A " in line]
    assert [address.partition(":")[0] for address in listening] == ["0100007F"]


def test_ranges_of_the_video(station: Station, videos: Path) -> None:
    number = station.number("exam a.mp4")
    data, path = (videos / "exam a.mp4").read_bytes(), f"/media/{number}"
    size = len(data)
    status, headers, body = station.ask(path)
    assert (status, body, headers["accept-ranges"], headers["content-type"]) == (200, data, "bytes", "video/mp4")
    for text, first, last in (
        ("0-3", 0, 3),
        ("100-", 100, size - 1),
        ("-7", size - 7, size - 1),
        ("5-999999999", 5, size - 1),
    ):
        status, part, body = station.ask(path, headers={"range": f"bytes={text}"})
        assert (status, body) == (206, data[first : last + 1]), text
        assert part["content-range"] == f"bytes {first}-{last}/{size}"
        assert part["content-length"] == str(last + 1 - first)
    status, refused, _ = station.ask(path, headers={"range": f"bytes={size}-"})
    assert (status, refused["content-range"]) == (416, f"bytes */{size}")
    for tag, expected in ((headers["etag"], 206), ('"another"', 200)):
        assert station.ask(path, headers={"range": "bytes=0-3", "if-range": tag})[0] == expected


def test_an_act_that_makes_no_sense_is_refused_in_a_sentence(station: Station) -> None:
    number = station.number("exam a.mp4")
    for step, kind, value, said in (
        ("look", "points", 3, "3 is not on the scale of look: 0, 1, 2."),
        ("look", "points", 0.5, "0.5 is not on the scale"),
        ("look", "points", True, "True is not on the scale"),
        ("look", "points", 10**400, "is not on the scale"),
        ("nowhere", "points", 1, "This exam has no step 'nowhere'."),
        (None, "points", 1, "The rubric has no step None."),
        ("look", "undo", None, "does not take 'undo'"),
        ("look", "start", 30, "The video has no frame 30."),
        ("look", "start", 1.5, "The video has no frame 1.5."),
        ("look", "comment", "x" * 2001, "at most 2,000 characters"),
        ("look", ["points"], None, "does not take"),
    ):
        answer = station.event(number, step, kind, value)
        assert answer["status"] == 409 and said in answer["error"], (kind, value, answer)
    assert station.event(number, "look", "comment", "seen", "used-name")["status"] == 200
    assert station.event(number, "look", "comment", "seen", "used-name")["status"] == 200, "sent twice, done once"
    assert station.event(number, "look", "points", 1, "used-name")["error"] == "Another event has this one's name."
    assert station.ask("/act", [1])[0] == 400
    act = {"step": "look", "kind": "points", "value": 1}
    assert station.ask("/act", {**act, "item": station.item(0), "id": "a b"})[0] == 409
    for unknown in (0, "0", None, ["x"], "0" * 16):
        assert station.ask("/act", {**act, "item": unknown, "id": "abcdefgh"})[0] == 409, unknown
    assert station.ask("/act", {"x": "y" * 30_000})[0] == 413
    assert json.loads(station.ask("/work")[2])["items"][number]["left"] == 3, "nothing was written"
