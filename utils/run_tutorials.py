"""Run the commands of the tutorials as a reader does, and hold the printed outputs against what comes out.

    python utils/run_tutorials.py            # in an empty temporary folder; says what differs
    python utils/run_tutorials.py --write    # also puts today's outputs into the pages and notebooks

In a page, a block ``sh`` is run; a block ``text`` without a mark is what the one before it prints, to the digit
(``...`` stands for any lines; digests may differ where another encoder wrote the videos). A mark says more:

``<!-- file: NAME -->``: the reader saves it.
``<!-- edit: NAME -->``, before a block ``diff``: the reader changes these lines of a file.
``<!-- not run: WHY -->``: it is not run.
``<!-- exit 1: WHY -->``: it ends with an error, and the output is what it says on standard error.

The cells of the notebooks (docs/notebooks) are run likewise, and what they show is compared.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "docs" / "tutorials"
NOTEBOOKS = Path(__file__).parents[1] / "docs" / "notebooks"
CHAINS = (("first-model", "publish"), ("own-exams",), ("small-model",))
"""Pages that go on from each other, in one folder."""

BLOCK = re.compile(r"(?:^<!-- (?P<mark>[^>]*) -->\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
DIGEST, SPACE = re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{12,}\b"), re.compile(r"\s+")


def alike(line: str) -> str:
    """A line without what may differ: digests and widths."""
    return DIGEST.sub("#", SPACE.sub(" ", line.strip().replace("---", "").replace("--", "")))


def loosely(line: str) -> str:
    """A line without its numbers: the same line of another day."""
    return re.sub(r"\d[\d,.]*", "#", alike(line))


def today(shown: str, printed: str) -> str:
    """Text that a page should show: all that was printed, or with ``...`` those of its lines that were, as now."""
    if "...\n" not in shown:
        return printed.strip() + "\n"
    now = {loosely(line): line for line in reversed(printed.splitlines())}
    lines = (line if line == "..." else now.get(loosely(line)) for line in shown.strip().splitlines())
    return "".join(f"{line}\n" for line in lines if line is not None)


class Fault(Exception):
    """A block that cannot be done; the reader stops."""


@dataclass
class Reader:
    """Somebody who does what the pages say, in one folder and one environment."""

    folder: Path
    env: dict[str, str]
    printed: str = ""

    def do(self, block: re.Match[str]) -> str:
        """Save, change or run what a block says; the block with what it shows today."""
        mark, kind, text = block["mark"] or "", block["kind"], block["text"]
        if mark.startswith("file: "):
            (self.folder / mark.removeprefix("file: ")).write_text(text, encoding="utf-8")
        elif mark.startswith("edit: "):
            self.edit(self.folder / mark.removeprefix("edit: "), text)
        elif kind == "sh" and not mark.startswith("not run: "):
            self.run(text, int(mark.split()[1].rstrip(":")) if mark.startswith("exit ") else 0)
        elif kind == "text" and not mark:
            return f"```text\n{today(text, self.printed)}```"
        return block[0]

    def edit(self, path: Path, change: str) -> None:
        """Change lines of a file: those with ``-`` are there, one below the other, and become those with ``+``."""
        old, new = ("".join(f"{line[1:]}\n" for line in change.splitlines() if line[0] == sign) for sign in "-+")
        text = path.read_text(encoding="utf-8-sig")
        if text.count(old) != 1:
            raise Fault(f"{path.name} has not once the lines\n{old}\nbut is\n{text}")
        path.write_text(text.replace(old, new), encoding="utf-8")

    def run(self, commands: str, wanted: int) -> None:
        """Run commands that end with an exit code; exported variables last, as in a terminal."""
        keep = self.folder / ".exported"
        script = f"set -e\n{commands}\n[ $? = 0 ] && env -0 > {shlex.quote(str(keep))}"
        done = subprocess.run(
            ["bash", "-c", script], cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=3600
        )
        self.printed = done.stderr if wanted else done.stdout
        if done.returncode != wanted:
            raise Fault(f"exit code {done.returncode}:\n{commands}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
        if not wanted:
            pairs = (line.partition("=") for line in keep.read_text(encoding="utf-8").split("\0") if line)
            self.env = {name: value for name, _, value in pairs}


def environment(folder: Path, more: Mapping[str, str] = {}) -> dict[str, str]:
    """Environment of a newcomer: no settings, a cache of its own, this Python's commands first."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SIMING_", "OPENAI_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}"
    ours = {"PATH": path, "SIMING_CACHE": str(folder / ".cache"), "HF_HUB_OFFLINE": "1"}
    return {**kept, **ours, **more}


def walk(names: tuple[str, ...], folder: Path, more: Mapping[str, str], write: bool = False) -> list[str]:
    """Do what some pages say, one after the other; the lines that differ from what the pages show."""
    reader, wrong = Reader(folder, environment(folder, more)), []
    for name in names:
        path = FOLDER / f"{name}.md"
        page = path.read_text(encoding="utf-8")
        try:
            new = BLOCK.sub(reader.do, page)
        except Fault as fault:
            return [*wrong, f"{name}.md: {fault}"]
        shown, now = (list(map(alike, text.splitlines())) for text in (page, new))
        wrong += [f"{name}.md: {line}" for line in difflib.unified_diff(shown, now, lineterm="", n=0)]
        if write:
            path.write_text(new, encoding="utf-8")
    return wrong


CELLS = """
import ast, contextlib, io, json, sys
cells, shown, names = json.load(sys.stdin), [], {"__name__": "__main__"}
for number, source in enumerate(cells, 1):
    *body, last = ast.parse(source).body
    value, printed = isinstance(last, ast.Expr), io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body if value else [*body, last], []), f"cell {number}", "exec"), names)
        value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names) if value else None
    html = getattr(value, "_repr_html_", lambda: None)()
    shown.append([printed.getvalue(), None if value is None else repr(value), html])
sys.stdout.write(json.dumps(shown))
"""
"""Program that runs the cells of a notebook in one namespace and writes what each shows: printed, text, HTML."""


def run_notebooks(folder: Path, write: bool = False) -> list[str]:
    """Run the notebooks in one folder, in a process each; what went wrong or differs from what they show."""
    wrong = []
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        book = json.loads(path.read_text(encoding="utf-8"))
        cells = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
        sources = json.dumps(["".join(cell["source"]) for cell in cells])
        command = [sys.executable, "-W", "ignore", "-c", CELLS]
        done = subprocess.run(
            command, cwd=folder, env=environment(folder), input=sources, capture_output=True, text=True, timeout=600
        )
        if done.returncode:
            wrong.append(f"{path.name}: {done.stderr[-2000:]}")
            continue
        for number, (cell, shown) in enumerate(zip(cells, json.loads(done.stdout), strict=True), 1):
            outputs = _outputs(*shown)
            kept = [{key: value for key, value in each.items() if key != "execution_count"} for each in cell["outputs"]]
            if alike(json.dumps(outputs, sort_keys=True)) != alike(json.dumps(kept, sort_keys=True)):
                wrong.append(f"{path.name}: cell {number} shows another output: {json.dumps(outputs)[:800]}")
            cell["outputs"], cell["execution_count"] = outputs, number
            for output in outputs:
                output |= {"execution_count": number} if output["output_type"] == "execute_result" else {}
        if write:
            path.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return wrong


def _outputs(printed: str, text: str | None, html: str | None) -> list[dict[str, Any]]:
    """Outputs of a cell as a notebook holds them."""
    found: list[dict[str, Any]] = []
    if printed:
        found.append({"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)})
    if text is not None:
        data = {"text/plain": text.splitlines(keepends=True)}
        data |= {"text/html": html.splitlines(keepends=True)} if html else {}
        found.append({"data": data, "metadata": {}, "output_type": "execute_result"})
    return found


def main() -> None:
    """Walk through all pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put today's outputs into the pages")
    write, wrong = parser.parse_args().write, []
    for names in (*CHAINS, ()):
        with tempfile.TemporaryDirectory() as folder:
            found = walk(names, Path(folder), {}, write) if names else run_notebooks(Path(folder), write)
        print(f"{', '.join(names) or 'notebooks'}: {len(found)} faults", *found, sep="\n", flush=True)
        wrong += found
    sys.exit(bool(wrong) and not write)


if __name__ == "__main__":
    main()
