"""Run the commands of the tutorials as a reader does, and hold the printed outputs against what comes out.

    python utils/run_tutorials.py            # in an empty temporary folder; says what differs
    python utils/run_tutorials.py --write    # also puts today's outputs into the pages

In a page, a block ``sh`` is run; a block ``text`` right after one is what it prints (digits may differ; ``...``
stands for any lines). ``<!-- file: NAME -->`` before a block: the reader saves it. ``<!-- not run: WHY -->``: it is
not run.
``<!-- exit 1: WHY -->``: it ends with an error, and the output is what it says on standard error.
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
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from zlib import crc32

FOLDER = Path(__file__).parents[1] / "docs" / "tutorials"
CHAINS = (("first-model", "run-to-paper", "board"), ("own-exams",), ("foreign-release",))
"""Pages that go on from each other, in one folder."""

BLOCK = re.compile(r"(?:^<!-- (?P<mark>[^>]*) -->\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
VARIABLE = re.compile(r"\b[0-9a-f]{12,}\b|\d[\d,.]*|\s+")


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
    """A line without what may differ: digits, digests, widths."""
    return VARIABLE.sub(lambda match: "#" if match[0].strip() else " ", line.strip())


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
    now = {alike(line): line for line in reversed(printed.splitlines())}
    return "".join(now.get(alike(line), line) + "\n" for line in expected.strip().splitlines())


class Judge(BaseHTTPRequestHandler):
    """A model behind OpenAI's protocol that has read the prompt and seen nothing: its answers follow from the text."""

    def do_POST(self) -> None:
        """Answer every step that the prompt names."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        parts = body["messages"][-1]["content"]
        text = " ".join(part["text"] for part in parts if part["type"] == "text")
        sure = {step: crc32(step.encode()) % 5 > 0 for step in re.findall(r"\b[a-z]{2,3}_\d\d\b", text)}
        error = '"verdicts"' in text
        answer = {step: ("correct" if well else "incorrect") if error else int(well) for step, well in sure.items()}
        message = {"role": "assistant", "content": json.dumps({"verdicts" if error else "scores": answer})}
        usage = {"prompt_tokens": len(text) // 4, "completion_tokens": 99, "total_tokens": len(text) // 4 + 99}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        reply = {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": "m",
            "choices": [choice],
            "usage": usage,
        }
        payload = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def served() -> Iterator[dict[str, str]]:
    """A judge on loopback; the variable that tells a tutorial where it is."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Judge)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield {"SERVER": f"http://127.0.0.1:{server.server_address[1]}/v1"}
    server.shutdown()
    server.server_close()


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
        elif block.output:
            if (line := missing(block.text, self.printed)) is not None:
                return f"not as printed on the page: {line!r} in\n{self.printed}"
        elif block.kind == "sh" and not block.mark.startswith("not run: "):
            return self.run(block)
        return None

    def run(self, block: Block) -> str | None:
        """Run a block; its exported variables last, as in a terminal."""
        keep = self.folder / ".exported"
        script = f"set -e\n{block.text}\n[ $? = 0 ] && env -0 > {shlex.quote(str(keep))}"
        done = subprocess.run(
            ["bash", "-c", script], cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=600
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
    ours = {"PATH": path, "SIMING_CACHE": str(folder / ".cache"), "HF_HUB_OFFLINE": "1", "NO_PROXY": "127.0.0.1"}
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


def main() -> None:
    """Walk through all pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put today's outputs into the pages")
    write, wrong = parser.parse_args().write, []
    for names in CHAINS:
        with tempfile.TemporaryDirectory() as folder, served() as server:
            wrong += walk(names, Path(folder), server, write)
    print("\n".join(wrong))
    sys.exit(bool(wrong) and not write)


if __name__ == "__main__":
    main()
