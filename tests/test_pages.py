"""The pages of the documentation as an installed package has them, their links and the commands that they name."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from siming_tasks.benchmark.metrics.catalogue import select
from siming_tasks.cli.main import COMMANDS, main
from siming_tasks.common.doc_pages import KINDS, pages, read_page, see
from siming_tasks.models.baselines import KINDS as KINDS_OF_JUDGES
from siming_tasks.options import OPTIONS
from tests.cli.command_lines import commands_in, flags, inline_commands, parse

ROOT = Path(__file__).parents[1]
TEXTS = {
    path: path.read_text(encoding="utf-8")
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
    if path.name != "CHANGELOG.md"
}
README, README_ZH = TEXTS[ROOT / "README.md"], TEXTS[ROOT / "README.zh.md"]
BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def test_messages_name_pages_that_exist_and_no_path_of_the_checkout() -> None:
    files = [path for path in (ROOT / "docs").rglob("*.md") if path.parent.name in KINDS]
    assert len(pages()) == len(files) and set(pages().values()) == set(files)  # by a name of its own
    named: set[str] = set()
    for path in (ROOT / "siming_tasks").rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "see":
                named |= {word.value for word in node.args if isinstance(word, ast.Constant)}
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                assert not re.search(r"\bdocs/|CONTRIBUTING\.md|CHANGELOG\.md", node.value), (path, node.value)
    assert len(named) > 5 and named <= set(pages())


def test_siming_docs_lists_the_pages_prints_one_and_puts_a_wrong_name_right(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert main(["docs"]) == 0
    assert re.findall(r"^  (\S+) +\S", capsys.readouterr().out, re.MULTILINE) == list(pages())
    assert see("cluster") == "`siming docs cluster`" and main(["docs", "cluster"]) == 0
    assert capsys.readouterr().out.rstrip() == read_page("cluster").rstrip()
    assert main(["docs", "clustre"]) == 1
    assert "no page 'clustre'. Did you mean `cluster`?" in capsys.readouterr().err
    # an installed package reads its own copy, in which links are commands
    (tmp_path / "docs" / "howto").mkdir(parents=True)
    monkeypatch.setattr("siming_tasks.common.doc_pages.__file__", str(tmp_path / "common" / "doc_pages.py"))
    text = "<!-- file: x -->\n![a](../pictures/a.png)"
    text += "See [this](../reference/data.md#check), [that](https://x.org/a.md), [pic](a.png)."
    (tmp_path / "docs" / "howto" / "one.md").write_text(text)
    assert read_page("one") == "See this (`siming docs data`), [that](https://x.org/a.md), pic."


def test_links_lead_somewhere() -> None:
    """Their anchors are followed where the site is built (``test_site.py``)."""
    links = [
        (path, link)
        for path, text in TEXTS.items()
        for link in re.findall(r"\]\((?!\w+:)([^)#\s]+)", BLOCK.sub("", text))
    ]
    assert len(links) > 100 and [link for path, link in links if not (path.parent / link).exists()] == []


def test_pages_of_commands_and_models_are_made_of_the_code() -> None:
    done = subprocess.run([sys.executable, ROOT / "utils" / "make_reference_pages.py", "--check"], check=False)
    assert done.returncode == 0, "run utils/make_reference_pages.py"
    judges = re.findall(r"^\| (`.*?) \|", read_page("models").split("## Reference judges")[1], re.MULTILINE)
    assert [name for row in judges for name in re.findall(r"`(\w+)`", row)] == list(KINDS_OF_JUDGES)


@pytest.mark.weekly
def test_the_figure_of_the_readme_is_what_the_code_draws(tmp_path: Path) -> None:
    """Drawn anew by its command: the same file, SYNTHETIC in it."""
    shown = (ROOT / "docs" / "pictures" / "verdict.svg").read_text(encoding="utf-8")
    command = [sys.executable, str(ROOT / "utils" / "make_pictures.py"), "verdict", "--out", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    assert (tmp_path / "verdict.svg").read_text(encoding="utf-8") == shown and "SYNTHETIC" in shown


def test_the_page_of_the_paper_names_each_column_and_code_that_exists() -> None:
    text = read_page("paper")
    rows = re.findall(r"^\| (.+?) \| `siming_\w+` \| `(\w+)` \| `[\w.]+\.(\w+)` \|$", text, re.MULTILINE)
    assert [column for column, *_ in rows] == ["PLCC", "SRCC", "Cohen's κ", "MCC", "P", "R", "F1"]
    assert {key for _, key, _ in rows} <= {*select(compared=True)}
    assert [code for *_, code in rows] == ["leave_out", "leave_out", "qwk", "mcc", "precision", "recall", "f1"]
    codes = re.findall(r"`(siming_tasks(?:\.\w+)+)\.(\w+)`", text)
    assert len(codes) > 12 and all(hasattr(importlib.import_module(module), name) for module, name in codes)
    assert set(re.findall(r"SIMING_\w+", text)) <= {option.variable for option in OPTIONS.values()}


def test_the_readmes_say_the_same_commands_links_names_and_numbers() -> None:
    def told(text: str) -> list[list[str]]:
        rest = BLOCK.sub("", text)
        links = [link for link in re.findall(r"\]\(([^)]*)\)", rest) if not link.startswith("README")]
        numbers = re.findall(r"\d+(?:\.\d+)?", re.sub(r"\]\([^)]*\)|`[^`]+`", "", rest))
        blocks = [re.sub(r" +# .*", "", block) for block in BLOCK.findall(text)]
        return [blocks, sorted(links), sorted(re.findall(r"`([^`]+)`", rest)), sorted(numbers)]

    assert told(README) == told(README_ZH) and [len(part) > 5 for part in told(README)] == [True] * 4


def test_every_command_and_flag_that_pages_and_messages_name_exists() -> None:
    """Those of the tutorials are run as well (``tests/plugin/test_tutorials.py``)."""
    for path, text in TEXTS.items():
        lines = commands_in(text) if path.stem != "commands" else []
        for line in lines:
            assert isinstance(parse(line), dict), (path, line)
        assert path.stem not in ("README", "cluster", "data", "rate") or len(lines) > 2
    kinds = {".py", ".html", ".js", ".md", ".yaml"}
    own = [path.read_text(encoding="utf-8") for path in (ROOT / "siming_tasks").rglob("*") if path.suffix in kinds]
    named = [mention for text in [*own, *TEXTS.values()] for mention in inline_commands(text)]
    assert len(named) > 100
    for mention, name, used in named:
        assert set(used) <= (flags(name) if name in COMMANDS else {"--help"}), mention
    for wrong in ("see `siming bild --spans`", "see `siming data bild`"):
        with pytest.raises(KeyError, match="names no command"):
            list(inline_commands(wrong))


def test_the_money_and_the_evidence_of_the_readme_are_those_of_run_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "plan", "--videos", "200", "--price-in", "2.5", "--price-out", "10"]) == 0
    printed = capsys.readouterr().out
    (most,) = re.findall(r"four settings, openai_tiles: .* at most ([\d.]+) at", printed)
    assert f"at most {float(most):.0f} dollars" in README
    assert "full video at 0.38 frames/s: 27 of 33 steps lack" in printed
    assert "too few to see the evidence of 27 of the 33 steps" in README
