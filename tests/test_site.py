"""The documentation builds as a site: without a warning, without a network, with every page reachable."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytestmark = pytest.mark.weekly

ROOT = Path(__file__).parents[1]

OFFLINE = """
import socket, sys
def refused(*words, **more): raise OSError("a network is used")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refused
from sphinx.cmd.build import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-c",
        OFFLINE,
        "-q",
        "-W",
        "--keep-going",
        "-d",
        out / "trees",
        ROOT / "docs",
        out / "html",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return out / "html"


class Loaded(HTMLParser):
    """What a browser fetches to show a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        wanted = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src"}.get(tag)
        self.found += [value for name, value in attrs if name == wanted and value]


def test_every_page_is_on_the_site_and_loads_nothing_from_elsewhere(site: Path) -> None:
    pages, styles = list((ROOT / "docs").rglob("*.md")), list(site.rglob("*.css"))
    assert len(pages) > 30 and styles
    for page in pages:
        built = site / page.relative_to(ROOT / "docs").with_suffix(".html")
        reader = Loaded()
        reader.feed(built.read_text(encoding="utf-8"))
        assert reader.found
        for address in reader.found:
            assert not re.match(r"(\w+:)?//", address), (built, address)
            path = built.parent / re.sub(r"[?#].*", "", address)
            assert path.exists() or address.startswith("#"), (built, address)
    for style in styles:
        assert not re.search(r"url\(['\"]?(https?:)?//|@import", style.read_text(encoding="utf-8")), style


def test_a_broken_link_fails_the_build(tmp_path: Path) -> None:
    (tmp_path / "conf.py").write_text((ROOT / "docs" / "conf.py").read_text())
    (tmp_path / "index.md").write_text("# One\n\n[gone](howto/gone.md)\n")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", str(tmp_path), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and "howto/gone.md" in done.stderr
