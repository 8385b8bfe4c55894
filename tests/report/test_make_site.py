"""The site of `utils/make_site.py`: whole, labelled, without a broken link."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.report.conftest import Lab

pytestmark = pytest.mark.weekly

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_site", ROOT / "utils" / "make_site.py")
    assert spec and spec.loader
    sys.modules["make_site"] = module = importlib.util.module_from_spec(spec)  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    shutil.copyfile(ROOT / "docs" / "conf.py", tmp_path / "docs" / "conf.py")
    shutil.copytree(ROOT / "docs" / "pictures", tmp_path / "docs" / "pictures")
    (tmp_path / "docs" / "index.md").write_text("# One\n\n[below](#two)\n\n## Two\n")
    return tmp_path / "docs"


def test_a_site_is_whole_and_says_that_it_is_synthetic(
    script: ModuleType, lab: Lab, docs: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    script.make_site(out, docs, lab.dataset.root, [lab.runs / "noisy"])
    assert "SYNTHETIC exams" in (page := (out / "index.html").read_text(encoding="utf-8"))
    for place in ("docs/index", "docs/readme", "docs/readme.zh", "report/index", "board/index"):
        assert f'href="{place}.html"' in page and (out / f"{place}.html").is_file()
    assert list((out / "report").rglob("*.mp4")), "videos go with the pages"
    (out / "board" / "index.html").unlink()
    assert "index.html: board/index.html" in list(script.broken_links(out))


def test_broken_links_are_named(script: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.html").write_text(
        '<a id="here" href="#here"></a><a href="#gone"></a><a href="../b.html#x"></a>'
    )
    (tmp_path / "b.html").write_text('<img src="gone.png"><a href="docs/a.html#here"></a><a href="/etc/passwd"></a>')
    assert list(script.broken_links(tmp_path)) == [
        "b.html: gone.png",
        "b.html: /etc/passwd",
        "docs/a.html: #gone (no such place)",
    ]
