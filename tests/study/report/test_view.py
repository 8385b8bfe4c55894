"""`siming view`: the report as data, and the videos of the named data set, to this machine, and nothing else."""

import re
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.cli import main
from tests.conftest import NEEDS_BROWSER
from tests.study.report.conftest import Lab
from tests.study.report.serving import Served, viewing


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("view-cache")


@pytest.fixture(scope="module")
def moved(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report alone, somewhere else: its links lead nowhere. It holds what must not be served, too."""
    root = tmp_path_factory.mktemp("moved")
    out = shutil.copytree(lab.out, root / "far" / "away" / "report")
    (out.parent / "secret.html").write_text("secret")
    (out / "loose.html").symlink_to(out.parent / "secret.html")
    (out / "loose").symlink_to(out.parent)
    (out / "notes.sqlite").write_text("secret")
    return out


@pytest.fixture(scope="module")
def served(moved: Path, lab: Lab, cache: Path) -> Iterator[Served]:
    with viewing(moved, "--data", lab.dataset.root, cache=cache) as found:
        assert found.said == "Open this address in a browser on this machine (Ctrl+C stops the server):\n"
        yield found


def test_pages_and_data_come_as_they_are_and_scripts_are_the_packages(served: Served, moved: Path, lab: Lab) -> None:
    data = sorted(path.relative_to(moved).as_posix() for path in moved.glob("data/*/*.js"))
    assert len(data) >= 4
    for name in ("index.html", "report.json", "answers.csv", "rubric.js", *data):
        status, headers, body = served.ask(f"/report/{name}")
        assert (status, body) == (200, (moved / name).read_bytes()), name
        policy = headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff" and "script-src 'self'" in policy
        assert "sandbox allow-scripts allow-same-origin" in policy and "frame-ancestors 'self'" in policy
    (moved / "static" / "viewer.js").write_text("fetch('//evil.example')")
    (moved / "static" / "more.js").write_text("1")
    own = files("siming_tasks.study.report") / "static"
    for name in ("viewer.js", "report.css"):
        assert served.ask(f"/report/static/{name}")[2] == (own / name).read_bytes()
    status, headers, body = served.ask("/")
    assert status == 200 and b"<iframe" in body and "frame-src 'self'" in headers["content-security-policy"]
    assert served.ask("/report/index.html", {"sec-fetch-dest": "document"})[2] == body, "opened by itself: the frame"


NO_DATA = (
    "alert(1)\n",
    "SIMING.rubric({});alert(1);\n",
    "SIMING.rubric(alert(1));\n",
    'SIMING.load("//evil.example");\n',
    "SIMING.rubric({});\nalert(1)\n",
    "SIMING.rubric(" + "[" * 20_000 + "]" * 20_000 + ");\n",
)
ELSEWHERE = (
    *("/report/../secret.html", "/report/static/..%2f..%2fpages%2fsite.py", "/report/%2e%2e/secret.html"),
    *("/report/loose.html", "/report/loose/secret.html", "/report/notes.sqlite", "/report//etc/passwd", "/etc/passwd"),
    *(
        "/index.html",
        "/report/videos/",
        "/report/a%00.html",
        "/report/videos\\..\\index.html",
        "/report/static/more.js",
    ),
    *("/video/none", "/video/..%2fdataset.yaml"),
)


def test_nothing_else_is_reachable(served: Served, moved: Path, lab: Lab) -> None:
    """Neither scripts in place of data, nor other files, nor anything without the key or from another page."""
    for text in NO_DATA:
        (moved / "data" / "odd.js").write_text(text)
        assert served.ask("/report/data/odd.js")[0] == 404, text[:40]
    for path in ELSEWHERE:
        status, _, body = served.ask(path)
        assert status == 404 and b"secret" not in body and b"root:" not in body, path
    for path in ("/", "/report/index.html", f"/video/{lab.dataset.videos[0].video_id}", f"/{served.key}"):
        status, headers, body = served.ask(path, key=False)
        assert status == 403 and b"whole address that `siming view` printed" in body and "set-cookie" not in headers
    assert served.ask("/report/index.html", {"host": "evil.example"})[0] == 400
    assert served.ask("/report/index.html", {"origin": "http://evil.example"})[0] == 403
    assert served.ask("/report/index.html", method="POST")[0] == 405
    tables = "".join(Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6"))
    rows = [line.split() for line in tables.splitlines()]
    listening = [row[1] for row in rows if row[1].endswith(f":{served.port:04X}") and row[3] == "0A"]
    assert [address.partition(":")[0] for address in listening] == ["0100007F"], "this machine alone"


def test_videos_come_in_parts(served: Served, lab: Lab) -> None:
    for video in lab.dataset.videos:
        page = served.ask(f"/report/videos/{video.video_id}.html")[2].decode()
        assert f'src="../../video/{video.video_id}"' in page
        data = lab.dataset.media_path(video).read_bytes()
        status, headers, body = served.ask(f"/video/{video.video_id}")
        assert (status, body, headers["content-type"]) == (200, data, "video/mp4")
        status, headers, body = served.ask(f"/video/{video.video_id}", {"range": "bytes=100-199"})
        assert (status, body) == (206, data[100:200])
        assert headers["content-range"] == f"bytes 100-199/{len(data)}"


def test_videos_are_those_of_a_named_data_set_alone(moved: Path, lab: Lab, cache: Path, tmp_path: Path) -> None:
    with viewing(lab.out, cache=cache) as served:
        assert "To see its videos, give --data DIR, the data set that it was made from." in served.said
        assert served.ask(f"/video/{lab.dataset.videos[0].video_id}")[0] == 404, "though the links lead to it"
        assert served.ask("/report/index.html")[0] == 200
    shutil.copytree(lab.dataset.root, tmp_path / "data")
    first, second = lab.dataset.videos[:2]
    (tmp_path / "data" / first.media).unlink()
    shutil.copy(lab.dataset.media_path(lab.dataset.videos[2]), tmp_path / "data" / second.media)
    with viewing(moved, "--data", tmp_path / "data", cache=cache) as served:
        assert f"Missing in {tmp_path / 'data'}: 1 of 4 videos." in served.said
        assert served.ask(f"/video/{first.video_id}")[0] == 404
        status, _, body = served.ask(f"/video/{second.video_id}")
        assert status == 404 and second.video_id in body.decode(), "another video in its place is not shown as it"


@NEEDS_BROWSER
@pytest.mark.weekly
def test_a_strangers_page_runs_nothing_and_goes_nowhere(
    lab: Lab, shared_browser: Any, cache: Path, tmp_path: Path
) -> None:
    """Each way by which a page runs, fetches or leaves, at a server that counts who comes: nobody does."""
    out = shutil.copytree(lab.out, tmp_path / "report")
    came: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as outside:
        threading.Thread(target=_note, args=(outside, came), daemon=True).start()
        elsewhere = f"http://127.0.0.1:{outside.getsockname()[1]}"
        hostile = f"""<script>document.title = "ran"; new Image().src = "{elsewhere}/inline";</script>
<script src="own.js"></script><script src="{elsewhere}/script.js"></script><img src="{elsewhere}/image.png">
<img src="x" onerror="document.title = 'ran'"><link rel="stylesheet" href="{elsewhere}/style.css">
<link rel="preconnect" href="{elsewhere}"><link rel="prefetch" href="{elsewhere}/prefetch">
<meta http-equiv="refresh" content="0;url={elsewhere}/refresh"><iframe src="{elsewhere}/frame"></iframe>
<object data="{elsewhere}/object"></object><video src="{elsewhere}/video" autoplay></video>
<form id="f" action="{elsewhere}/form"><input type="submit" id="s"></form>
<a id="same" href="{elsewhere}/same">a</a><a id="top" target="_top" href="{elsewhere}/top">a</a>
<a id="blank" target="_blank" href="{elsewhere}/blank">a</a><a id="svg" href="e.svg">a</a>"""
        link = f'<h:link xmlns:h="http://www.w3.org/1999/xhtml" rel="preconnect" href="{elsewhere}"/>'
        (out / "e.svg").write_text(f'<svg xmlns="http://www.w3.org/2000/svg">{link}</svg>')
        (out / "own.js").write_text(f'document.title = "ran"; fetch("{elsewhere}/own");')
        page = (out / "index.html").read_text()
        page = re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
        (out / "index.html").write_text(page.replace("<head>", "<head>" + hostile.partition("<form")[0]))
        (out / "click.html").write_text(page.replace("</main>", f"{hostile.partition('</object>')[2]}</main>"))
        with viewing(out, "--data", lab.dataset.root, cache=tmp_path / "cache") as served:
            for click in ("", "svg", "s", "same", "top", "blank"):
                shared_browser.get(f"{served.base}/{'click' if click else 'index'}.html")
                shared_browser.switch_to.frame(0)
                assert shared_browser.title != "ran"
                if click:
                    shared_browser.execute_script(f"document.getElementById('{click}').click()")
                time.sleep(1)  # for what comes late
                assert len(shared_browser.window_handles) == 1
                assert shared_browser.current_url.startswith(served.address)
                assert came == [] or click not in ("", "svg")
        assert set(came) <= {"a connection", ""}, "a click that is refused may open one, and says nothing on it"


def _note(outside: socket.socket, came: list[str]) -> None:
    with suppress(OSError):
        while True:
            connection, _ = outside.accept()
            came.append("a connection")
            with connection, suppress(TimeoutError):
                connection.settimeout(0.5)
                came.append(connection.recv(200).decode("latin-1").partition("\r")[0])


def test_another_data_set_and_a_broken_report_are_not_viewed(lab: Lab, moved: Path, tmp_path: Path, capsys) -> None:
    other = shutil.copytree(lab.dataset.root, tmp_path / "other")
    (other / "videos.jsonl").write_text("".join((other / "videos.jsonl").read_text().splitlines(keepends=True)[1:]))
    about = (other / "dataset.yaml").read_text().splitlines(keepends=True)
    (other / "dataset.yaml").write_text("".join(line for line in about if not line.startswith("digest")))
    broken = shutil.copytree(moved, tmp_path / "broken", symlinks=True)
    (broken / "media.json").write_text('{"videos": 3}')
    for words, why in (((tmp_path,), "no report. Give the folder that `siming report --out` wrote."),
                       ((moved, "--data", other), "Give the data set that it was made from."),
                       ((broken,), "media.json: cannot be read. Write the report again.")):  # fmt: skip
        assert main(["view", *map(str, words), "--no-browser"]) in (1, 2)
        assert why in capsys.readouterr().err
