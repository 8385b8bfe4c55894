"""Run the commands of the tutorials as a reader does, and hold the printed outputs against what comes out.

    python utils/run_tutorials.py            # in an empty temporary folder; says what differs
    python utils/run_tutorials.py --write    # also puts today's outputs into the pages and notebooks

In a page, a block ``sh`` is run; a block ``text`` right after one is what it prints, to the digit (``...`` stands for
any lines; digests may differ where another encoder wrote the videos). A mark before a block says more:

``<!-- file: NAME -->``: the reader saves it.
``<!-- edit: NAME -->``, before a block ``diff``: the reader changes these lines of a file.
``<!-- not run: WHY -->``: it is not run.
``<!-- exit 1: WHY -->``: it ends with an error, and the output is what it says on standard error.

The cells of the notebooks (docs/notebooks) are run likewise, and what they show is compared.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "docs" / "tutorials"
NOTEBOOKS = Path(__file__).parents[1] / "docs" / "notebooks"
CHAINS = (("first-model", "publish"), ("own-exams",))
"""Pages that go on from each other, in one folder."""

BLOCK = re.compile(r"(?:^<!-- (?P<mark>[^>]*) -->\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
DIGEST, SPACE = re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{12,}\b"), re.compile(r"\s+")


@dataclass(frozen=True)
class Block:
    """A block of a page: its mark, kind and text, and where its text begins; ``output``: of the block before."""

    mark: str
    kind: str
    text: str
    start: int
    output: bool


def blocks(page: str) -> Iterator[Block]:
    """Every block of a page in order."""
    end, before = 0, ""
    for match in BLOCK.finditer(page):
        mark, kind, text = match["mark"] or "", match["kind"], match["text"]
        adjacent = re.fullmatch(r"\s*(?:[^\n]+\n+){0,3}\s*", page[end : match.start()]) is not None
        output = kind == "text" and not mark and before == "sh" and adjacent
        yield Block(mark, kind, text, match.start("text"), output)
        end, before = match.end(), kind


def alike(line: str) -> str:
    """A line without what may differ: digests and widths."""
    return DIGEST.sub("#", SPACE.sub(" ", line.strip().replace("---", "").replace("--", "")))


def loosely(line: str) -> str:
    """A line without its numbers: the same line of another day."""
    return re.sub(r"\d[\d,.]*", "#", alike(line))


def missing(expected: str, printed: str) -> str | None:
    """The first expected line that was not printed in its place; None: all were."""
    lines, anywhere = [alike(line) for line in printed.strip().splitlines()], False
    for line in expected.strip().splitlines():
        if line == "...":
            anywhere = True
            continue
        if alike(line) not in lines[: None if anywhere else 1]:
            return line
        lines = lines[lines.index(alike(line)) + 1 :]
        anywhere = False
    return lines[0] if lines and not anywhere else None


def expected_text(expected: str, printed: str) -> str:
    """Text that the page should show: all that was printed, or with ``...`` the lines that it shows, as now."""
    if "...\n" not in expected:
        return printed.strip() + "\n"
    now = {loosely(line): line for line in reversed(printed.splitlines())}
    return "".join(now.get(loosely(line), line) + "\n" for line in expected.strip().splitlines())


@dataclass
class Reader:
    """Somebody who does what the pages say, in one folder and one environment."""

    folder: Path
    env: dict[str, str]
    printed: str = ""

    def do(self, block: Block) -> str | None:
        """Save or run a block; what went wrong, if anything did."""
        if block.mark.startswith("file: "):
            (self.folder / block.mark.removeprefix("file: ")).write_text(block.text, encoding="utf-8")
        elif block.mark.startswith("edit: "):
            return self.edit(self.folder / block.mark.removeprefix("edit: "), block.text)
        elif block.output:
            if (line := missing(block.text, self.printed)) is not None:
                return f"not as printed on the page: {line!r} in\n{self.printed}"
        elif block.kind == "sh" and not block.mark.startswith("not run: "):
            return self.run(block)
        return None

    def edit(self, path: Path, change: str) -> str | None:
        """Change lines of a file: those with ``-`` are there, one below the other, and become those with ``+``."""
        old, new = ("".join(f"{line[1:]}\n" for line in change.splitlines() if line[0] == sign) for sign in "-+")
        text = path.read_text(encoding="utf-8-sig")
        if text.count(old) != 1:
            return f"{path.name} has not once the lines\n{old}\nbut is\n{text}"
        path.write_text(text.replace(old, new), encoding="utf-8")
        return None

    def run(self, block: Block) -> str | None:
        """Run a block; its exported variables last, as in a terminal."""
        keep = self.folder / ".exported"
        script = f"set -e\n{block.text}\n[ $? = 0 ] && env -0 > {shlex.quote(str(keep))}"
        done = subprocess.run(
            ["bash", "-c", script], cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=3600
        )
        wanted = int(block.mark.split()[1].rstrip(":")) if block.mark.startswith("exit ") else 0
        self.printed = done.stderr if wanted else done.stdout
        if done.returncode != wanted:
            return f"exit code {done.returncode}:\n{block.text}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        if not wanted:
            pairs = (line.partition("=") for line in keep.read_text(encoding="utf-8").split("\0") if line)
            self.env = {name: value for name, _, value in pairs}
        return None


def environment(folder: Path, more: Mapping[str, str] = {}) -> dict[str, str]:
    """Environment of a newcomer: no settings, a cache of its own, this Python's commands first."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SIMING_", "OPENAI_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}"
    ours = {"PATH": path, "SIMING_CACHE": str(folder / ".cache"), "HF_HUB_OFFLINE": "1"}
    return {**kept, **ours, **more}


def walk(names: tuple[str, ...], folder: Path, more: Mapping[str, str], write: bool = False) -> list[str]:
    """Do what some pages say, one after the other; what went wrong, with page and block."""
    reader, wrong = Reader(folder, environment(folder, more)), []
    for name in names:
        path = FOLDER / f"{name}.md"
        page = path.read_text(encoding="utf-8")
        new, shift = page, 0
        for block in blocks(page):
            fault = reader.do(block)
            if fault:
                wrong.append(f"{name}.md: {fault}")
            if fault and not block.output:
                return wrong
            if block.output:
                text = expected_text(block.text, reader.printed)
                at = block.start + shift
                new, shift = new[:at] + text + new[at + len(block.text) :], shift + len(text) - len(block.text)
        if write and new != page:
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
