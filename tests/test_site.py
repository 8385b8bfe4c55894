"""The documentation builds as a site: without a warning, without a network, with every page reachable."""

import re
import subprocess
import sys
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
LOADED = re.compile(r"<(?:link|script|img|iframe|source)\b[^>]*? (?:href|src)=\"([^\"]+)\"")
"""What a browser fetches to show a page."""


def build(docs: Path, out: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", OFFLINE, "-q", "-W", "--keep-going", "-d", out / "trees", docs, out / "html"]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_every_page_is_on_the_site_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    done, site = build(ROOT / "docs", tmp_path), tmp_path / "html"
    assert done.returncode == 0, done.stdout + done.stderr
    for page in (ROOT / "docs").rglob("*.md"):
        built = site / page.relative_to(ROOT / "docs").with_suffix(".html")
        addresses = LOADED.findall(built.read_text(encoding="utf-8"))
        assert addresses and not any(re.match(r"(\w+:)?//", address) for address in addresses)
        paths = [built.parent / re.sub(r"[?#].*", "", address) for address in addresses if address[0] != "#"]
        assert [path for path in paths if not path.exists()] == []
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//|@import", style.read_text(encoding="utf-8")), style
    # a broken link fails the build
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "conf.py").write_text((ROOT / "docs" / "conf.py").read_text())
    (tmp_path / "docs" / "index.md").write_text("# One\n\n[gone](howto/gone.md)\n")
    done = build(tmp_path / "docs", tmp_path)
    assert done.returncode == 1 and "howto/gone.md" in done.stderr
