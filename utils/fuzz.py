"""Whatever strangers send, against everything that reads it: only deliberate errors, within limits of time and memory.

    python utils/fuzz.py --minutes 10                     # all targets at once, two at a time
    python utils/fuzz.py --minutes 5 --target parser --seed 3

The targets, and what must hold of them, are in ``tests/fuzz_targets.py``. Each is fuzzed in a process of its own. Where
``atheris`` is installed (``pip install atheris``; it is no dependency), inputs are chosen by the code that they reach;
else they are the corpus's, mutated at random, which reaches less. What is found is written to ``tests/corpus/TARGET/``,
one input for each place that raised, where ``tests/test_corpus.py`` replays it ever after. Inputs that only reach more
code are kept in ``--work`` for the next run. Prints, for each target, executions, edges reached and findings; exits
with 1 if there are findings.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import importlib.util
import os
import random
import re
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("parser", "sheets", "folders", "predictions", "archives")
LONGEST = 4096
"""Bytes of an input: enough to say anything once, and short enough to be quick."""

HANGS = 20
"""Seconds after which an input is given up; that is a finding."""


class Hang(BaseException):
    """Time limit of a fuzzed call; the code under test must not catch it."""


class Fuzz:
    """One target under fire; remembers each place that raised once."""

    def __init__(self, name: str, targets: ModuleType) -> None:
        self.name, self.targets = name, targets
        self.places: dict[str, int] = {}
        self.runs = 0

    def one(self, data: bytes) -> None:
        """One input; what it breaks is printed and kept."""
        self.runs += 1
        try:
            self.targets.attack(self.name, data)
        except (Exception, Hang) as error:  # noqa: BLE001 - whatever it is, it is a finding
            place = where(error)
            self.places[place] = self.places.get(place, 0) + 1
            if self.places[place] == 1:
                kept = ROOT / "tests" / "corpus" / self.name / f"found-{hashlib.sha256(data).hexdigest()[:8]}"
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_bytes(data)
                print(
                    f"FINDING {self.name} {kept.name}: {place}\n{''.join(traceback.format_exception(error)[-6:])}",
                    flush=True,
                )


def where(error: BaseException) -> str:
    """The kind of an error and the last line of ours that it came through."""
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if "siming_tasks" in frame.filename]
    message = re.sub(r"\d[\d.]*|'.*'", "N", str(error))[:60]
    return f"{type(error).__name__} {Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else message


def load() -> ModuleType:
    """The targets, imported now (so that what they import can be instrumented)."""
    folder = ModuleType("tests")
    folder.__path__ = [str(ROOT / "tests")]
    sys.modules["tests"] = folder  # by hand: some packages install a `tests` of their own, which would come first
    return importlib.import_module("tests.fuzz_targets")


def guided(name: str, seconds: int, seed: int, work: Path) -> None:
    """Fuzz by coverage; does not return."""
    import atheris

    with atheris.instrument_imports(include=["siming_tasks"]):
        targets = load()
    fuzz = Fuzz(name, targets)
    words = work / f"{name}.words"
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in targets.TARGETS[name].words))
    grown = work / name
    grown.mkdir(exist_ok=True)
    flags = [
        f"-max_total_time={seconds}",
        f"-seed={seed + 1}",
        f"-max_len={LONGEST}",
        f"-dict={words}",
        "-rss_limit_mb=0",
    ]
    flags += [f"-timeout={HANGS}", f"-artifact_prefix={ROOT / 'tests' / 'corpus' / name}/", "-print_final_stats=1"]
    atheris.Setup([name, *flags, str(grown), str(ROOT / "tests" / "corpus" / name)], fuzz.one)
    atheris.Fuzz()


def _escaped(word: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word.encode("utf-8", "surrogatepass"))


def blind(name: str, seconds: int, seed: int) -> None:
    """Fuzz by chance: inputs of the corpus with pieces deleted, doubled, exchanged, or words put in."""
    targets = load()
    fuzz = Fuzz(name, targets)
    rng = random.Random(f"{name}/{seed}")  # noqa: S311 - nothing secret
    seeds = [path.read_bytes() for path in sorted((ROOT / "tests" / "corpus" / name).iterdir())]
    words = [word.encode("utf-8", "surrogatepass") for word in targets.TARGETS[name].words]

    def hung(*_: Any) -> None:
        raise Hang(f"still running after {HANGS} s")

    signal.signal(signal.SIGALRM, hung)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        data = bytearray(rng.choice(seeds))
        for _ in range(rng.randint(1, 8)):
            at, width = rng.randrange(len(data) + 1), rng.choice((0, 1, 2, 4, 16, 64))
            piece, other = bytes(data[at : at + width]), rng.choice(seeds)
            begin = rng.randrange(len(other))
            new = (b"", piece * 2, piece[::-1], rng.choice(words), rng.randbytes(1), other[begin : begin + 64])
            data[at : at + width] = rng.choice(new)
        signal.alarm(HANGS)
        fuzz.one(bytes(data[:LONGEST]))
        signal.alarm(0)
    print(f"stat::number_of_executed_units: {fuzz.runs}")


def report(name: str, text: str) -> int:
    """Print one target's figures; returns its findings."""
    runs = re.findall(r"number_of_executed_units:\s*(\d+)", text) or re.findall(r"^#(\d+)", text, re.MULTILINE)
    edges = re.findall(r" cov: (\d+)", text)
    findings = text.count("FINDING ") + len(re.findall(r"^SUMMARY: libFuzzer: ", text, re.MULTILINE))
    begin = f", {int(edges[0]):,} at first" if edges else ""
    reached = f"{int(edges[-1]):,} edges{begin}" if edges else "edges not counted (without atheris)"
    print(f"{name:12} {int(runs[-1]) if runs else 0:>10,} executions  {reached}  {findings} findings", flush=True)
    for finding in re.findall(r"^FINDING .*(?:\n(?!#|FINDING|stat::|=|Done).+)*", text, re.MULTILINE):
        print(finding)
    return findings if runs else findings + 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; see the module's first lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5, help="for each target (default 5)")
    parser.add_argument("--target", choices=NAMES, action="append", help="may be repeated (default: all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=Path, default=Path(gettempdir()) / "siming-fuzz", help="where inputs are kept")
    parser.add_argument("--jobs", type=int, default=2, help="targets at once (default 2)")
    parser.add_argument("--random", action="store_true", help="without atheris, although it is installed")
    parser.add_argument("--child", choices=NAMES, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    seconds = max(1, round(60 * options.minutes))
    options.work.mkdir(parents=True, exist_ok=True)
    if options.child and not options.random:
        guided(options.child, seconds, options.seed, options.work)
    if options.child:
        blind(options.child, seconds, options.seed)
        return 0
    by_chance = ["--random"] if options.random or not importlib.util.find_spec("atheris") else []
    flags = ["--minutes", str(options.minutes), "--seed", str(options.seed), "--work", str(options.work), *by_chance]

    def child(name: str) -> tuple[str, str]:
        command = [sys.executable, str(Path(__file__).resolve()), *flags, "--child", name]
        memory = Path("/dev/shm")  # the targets write every input to a file
        with TemporaryDirectory(dir=memory if memory.is_dir() else None) as place:
            env = {**os.environ, "TMPDIR": place}
            done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        text = done.stdout.decode(errors="replace")
        (options.work / f"{name}.log").write_text(text)
        return name, text

    with ThreadPoolExecutor(options.jobs) as pool:
        findings = sum(report(*done) for done in pool.map(child, options.target or NAMES))
    print(f"{findings} findings; logs and inputs in {options.work}{os.sep}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
