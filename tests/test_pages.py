"""The pages of the documentation as an installed package has them, and the messages and links that lead to them."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from PIL import Image

import siming_tasks
from siming_tasks.cli.main import COMMANDS, main
from siming_tasks.common.doc_pages import KINDS, folder, pages, read_page, see
from siming_tasks.metrics.catalogue import select
from siming_tasks.models.baselines import KINDS as KINDS_OF_JUDGES
from siming_tasks.options import OPTIONS
from tests.cli.command_lines import commands_in, flags, inline_commands, parse

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "siming_tasks").rglob("*.py"))
TEXTS = [
    ROOT / "README.md",
    ROOT / "README.zh.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SKILL.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)")
WITHOUT_LINKS = {
    *("howto/elsewhere", "howto/recipes", "reference/api", "reference/commands"),
}
"""Pages below docs/ that may have no link to another file."""


def test_every_page_is_found_by_a_name_of_its_own() -> None:
    files = [path for path in (ROOT / "docs").rglob("*.md") if path.parent.name in KINDS]
    assert len(pages()) == len(files) and set(pages().values()) == set(files)


def sees(tree: ast.Module) -> list[str]:
    """The pages that a module's messages name."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    return [ast.literal_eval(call.args[0]) for call in calls if call.func.id == "see"]  # type: ignore[attr-defined]


def docstrings(tree: ast.Module) -> set[int]:
    """The nodes of a module's docstrings: read in a checkout, where paths are."""
    alone = [node for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)]
    return {id(node.value) for node in alone}


def test_messages_name_pages_that_exist_and_no_path_of_the_checkout() -> None:
    named: set[str] = set()
    for path in SOURCES:
        tree = ast.parse(path.read_text())
        if path.name != "doc_pages.py":
            named |= set(sees(tree))
        read = docstrings(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in read:
                assert not re.search(r"\bdocs/|CONTRIBUTING\.md|CHANGELOG\.md", node.value), (path, node.value)
    assert len(named) > 5 and named <= set(pages())


def test_the_command_of_a_message_prints_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert see("cluster") == "`siming docs cluster`"
    assert main(["docs", "cluster"]) == 0
    assert capsys.readouterr().out.rstrip() == read_page("cluster").rstrip()
    assert read_page("cluster").startswith("# ")


def test_without_a_name_all_pages_are_listed_and_a_wrong_one_is_put_right(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs"]) == 0
    listed = capsys.readouterr().out
    assert re.findall(r"^  (\S+) +\S", listed, re.MULTILINE) == list(pages())
    assert main(["docs", "clustre"]) == 1
    assert "no page 'clustre'. Did you mean `cluster`?" in capsys.readouterr().err


def test_links_of_a_printed_page_become_commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "howto").mkdir()
    text = "<!-- file: x -->\n![a](../pictures/a.png)"
    text += "See [this](../reference/data.md#check), [that](https://x.org/a.md), [pic](a.png)."
    (tmp_path / "howto" / "one.md").write_text(text)
    monkeypatch.setattr("siming_tasks.common.doc_pages.folder", lambda: tmp_path)
    assert read_page("one") == "See this (`siming docs data`), [that](https://x.org/a.md), pic."


def test_an_installed_package_reads_its_own_copy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert folder() == ROOT / "docs"
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr("siming_tasks.common.doc_pages.__file__", str(tmp_path / "common" / "doc_pages.py"))
    assert folder() == tmp_path / "docs"


def targets(path: Path) -> list[str]:
    """The files that a page's links name, outside of its blocks of code; links within the page name none."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return [target for target, _ in LINK.findall(text) if target]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    for target in targets(path):
        assert (path.parent / target).exists(), target


def test_links_are_found_at_all() -> None:
    """The test above passes on pages without links: only those named have none, and a broken link is seen."""
    found = {path: len(targets(path)) for path in TEXTS}
    assert sum(found.values()) > 150 and found[ROOT / "README.md"] > 10
    assert {path for path, count in found.items() if not count} <= {
        ROOT / "docs" / f"{name}.md" for name in WITHOUT_LINKS
    }
    assert LINK.findall("[gone](howto/gone.md#part)") == [("howto/gone.md", "part")]


def test_the_page_of_reference_judges_has_every_kind() -> None:
    rows = re.findall(
        r"^\| (`.*?) \|", pages()["models"].read_text(encoding="utf-8").split("## Reference judges")[1], re.MULTILINE
    )
    assert [name for row in rows for name in re.findall(r"`(\w+)`", row)] == list(KINDS_OF_JUDGES)


def test_command_line_and_options_are_told_as_they_are() -> None:
    done = subprocess.run([sys.executable, ROOT / "utils" / "make_reference_pages.py", "--check"])
    assert done.returncode == 0, "run utils/make_reference_pages.py"


def test_the_page_of_commands_has_every_flag(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## siming ([a-z -]+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    for name, section in sections.items():
        assert main([*name.split(), "--help"]) == 0
        shown = set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", capsys.readouterr().out, re.MULTILINE)) - {"--help"}
        assert shown <= set(re.findall(r"--[\w-]+", section)), name
    assert list(sections) == list(COMMANDS)


def test_the_readme_is_short_and_its_badges_are_true() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    facts = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("pyproject.toml", "requirements-models.txt"))
    assert len(text.splitlines()) <= 150
    assert 'requires-python = ">=3.10,<3.13"' in facts and "badge/python-3.10_to_3.12-" in text
    assert "lmms-eval>=0.7.3,<0.8" in facts and "badge/lmms--eval-0.7.3-" in text
    assert 'license = "MIT"' in facts and "badge/license-MIT-" in text


def same_in_every_language(text: str) -> tuple[list[str], list[str], list[str], list[str]]:
    """Blocks of code without their comments, links, names in code, and numbers of a README outside of its words."""
    blocks = re.findall(r"^```.*?^```", text, re.MULTILINE | re.DOTALL)
    rest = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    links = [target for target in re.findall(r"\]\(([^)]*)\)", rest) if not target.startswith("README")]
    names, numbers = (
        re.findall(r"`([^`]+)`", rest),
        re.findall(r"\d+(?:\.\d+)?", re.sub(r"\]\([^)]*\)|`[^`]+`", "", rest)),
    )
    return [re.sub(r" +# .*", "", block) for block in blocks], sorted(links), sorted(names), sorted(numbers)


def test_the_readmes_say_the_same_commands_links_names_and_numbers() -> None:
    english, chinese = (
        same_in_every_language((ROOT / name).read_text(encoding="utf-8")) for name in ("README.md", "README.zh.md")
    )
    assert english == chinese and len(english[0]) == 6 and len(english[1]) > 15
    assert "**Limits.**" in (ROOT / "README.md").read_text(encoding="utf-8").split("hero.webp")[0]


def test_the_first_screen_of_the_readme_moves() -> None:
    hero = ROOT / "docs" / "pictures" / "hero.webp"
    assert "docs/pictures/hero.webp" in (ROOT / "README.md").read_text(encoding="utf-8").split("\n## ")[0]
    with Image.open(hero) as picture:
        assert picture.n_frames > 20 and hero.stat().st_size < 1_000_000


def test_figures_of_simulated_exams_say_so() -> None:
    assert "SYNTHETIC" in (ROOT / "docs" / "pictures" / "verdict.svg").read_text(encoding="utf-8")


def test_the_page_of_the_paper_names_each_column_and_code_that_exists() -> None:
    text = read_page("paper")
    rows = re.findall(r"^\| (.+?) \| `siming_\w+` \| `(\w+)` \| `[\w.]+\.(\w+)` \|$", text, re.MULTILINE)
    assert [column for column, *_ in rows] == ["PLCC", "SRCC", "Cohen's κ", "MCC", "P", "R", "F1"]
    assert tuple(key for _, key, _ in rows) == select(compared=True)
    assert [code for *_, code in rows] == ["pearson", "spearman", "qwk", "mcc", "precision", "recall", "f1"]
    codes = re.findall(r"`(siming_tasks(?:\.\w+)+)\.(\w+)`", text)
    assert len(codes) > 12 and all(hasattr(importlib.import_module(module), name) for module, name in codes)
    assert set(re.findall(r"SIMING_\w+", text)) <= {option.variable for option in OPTIONS.values()}


def test_the_citation_is_of_this_version_and_names_the_paper_as_the_readme_does() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    (paper,) = cited["references"]
    names = " and ".join(f"{one['family-names']}, {one['given-names']}" for one in paper["authors"])
    assert cited["version"] == siming_tasks.__version__ and cited["license"] == "MIT"
    assert names in readme and paper["title"] in readme and paper["journal"] in readme


def texts_of_the_package() -> dict[Path, str]:
    """The sources whose strings name commands to users: messages, help texts, templates, scripts of the pages."""
    kinds = {".py", ".html", ".js", ".md", ".yaml"}
    return {
        path: path.read_text(encoding="utf-8") for path in (ROOT / "siming_tasks").rglob("*") if path.suffix in kinds
    }


@pytest.mark.parametrize("path", [path for path in TEXTS if path.stem != "commands"], ids=lambda path: path.stem)
def test_the_command_lines_of_a_page_can_be_read(path: Path) -> None:
    """Those of the tutorials are run as well (``tests/plugin/test_tutorials.py``)."""
    lines = commands_in(path.read_text(encoding="utf-8"))
    for line in lines:
        assert isinstance(parse(line), dict), line
    assert path.stem not in ("README", "cluster", "data", "rate") or len(lines) > 2


def test_every_command_and_flag_that_is_named_exists() -> None:
    """In the documentation and in the package's own messages: `siming data build --spans`."""
    named = 0
    for path, text in {**texts_of_the_package(), **{path: path.read_text(encoding="utf-8") for path in TEXTS}}.items():
        for mention, name, used in inline_commands(text):
            assert set(used) <= (flags(name) if name in COMMANDS else {"--help"}), (path, mention)
            named += 1
    assert named > 150


def test_a_command_that_does_not_exist_is_noticed() -> None:
    with pytest.raises(KeyError, match="names no command"):
        list(inline_commands("see `siming bild --spans`"))
    with pytest.raises(KeyError, match="names no command"):
        list(inline_commands("see `siming data bild`"))
