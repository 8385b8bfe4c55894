"""One run scored in every way that there is: lmms-eval's own hooks in this process, and each command of ``siming``."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from siming_tasks.cli import main
from siming_tasks.plugin import hooks
from siming_tasks.plugin.hooks.run_context import RUN
from tests.plugin.hooks.conftest import aggregated, docs

Lines = list[dict[str, Any]]
Numbers = dict[str, dict[str, dict[str, Any]]]
"""By setting and metric, an estimate as plain JSON."""

PLAIN = {"resamples": "40"}
OTHER = {"resamples": "41", "mapping": "proportional", "positive": "correct", "rater": "rater_b", "seed": "3"}


def logs(folder: Path) -> dict[str, Path]:
    """The sample logs of a run, by setting."""
    return {path.stem.partition("_siming_")[2]: path for path in sorted(folder.glob("*_samples_siming_*.jsonl"))}


def rewrite(folder: Path, change: Callable[[Lines], Lines]) -> Path:
    """Change the lines of every sample log of a run."""
    for path in logs(folder).values():
        lines = change([json.loads(line) for line in path.read_text().splitlines()])
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def recorded(**changes: Any) -> Callable[[Lines], Lines]:
    """A change of every record: what was shown (``media``), or any other of its entries."""

    def change(lines: Lines) -> Lines:
        for line in lines:
            record = line["siming_stderr"]
            record |= {**changes, "media": {**record["media"], **changes.get("media", {})}}
        return lines

    return change


@contextlib.contextmanager
def loaded(data: Path, cache: Path, options: Mapping[str, str]) -> Iterator[None]:
    """Set the environment of a run and load a task of it, as lmms-eval does before the first request."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"data": str(data), "cache": str(cache), **options}.items():
            patch.setenv(f"SIMING_{name.upper()}", value)
        hooks.dataset_kwargs  # noqa: B018
        try:
            yield
        finally:
            RUN.__init__()  # type: ignore[misc]  # the next one's environment is another


def host_numbers(folder: Path, part: slice = slice(None)) -> Numbers:
    """Compute the numbers that lmms-eval's table and results file get from the replies in a run's logs.

    Args:
        folder: of the run; a document without a line got no reply.
        part: of each task's documents, what the host takes (``--limit`` and ``--offset``).
    """
    found: Numbers = {}
    for name, path in logs(folder).items():
        lines = map(json.loads, path.read_text().splitlines())
        replies = {line["siming_stderr"]["id"]: line["filtered_resps"] for line in lines}
        results = [hooks.process_results(doc, [replies.get(doc["id"], "")]) for doc in docs(name)[part]]
        table = aggregated(results, SimpleNamespace(output_path=str(folder / "host")))
        found[name] = table["siming_stderr"]["metrics"]
        for metric, estimate in found[name].items():  # the table prints what the file says
            assert table[metric] == estimate["value"]
            assert table.get(f"{metric}_stderr", estimate["stderr"]) == estimate["stderr"]
    return found


def siming(*words: object, code: int = 0) -> str:
    """Return the text that a command of ``siming`` prints to stdout, or to stderr if it is to fail."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        assert main([str(word) for word in words]) == code, err.getvalue()
    return err.getvalue() if code else out.getvalue()


def flags(data: Path, options: Mapping[str, str], labels: Path | None = None) -> list[str]:
    """The same data set and options for every command."""
    given = {"data": str(data), **options, **({"labels": str(labels)} if labels else {})}
    return [word for name, value in given.items() for word in (f"--{name}", value)]


def score_numbers(folder: Path, how: Sequence[str]) -> dict[str, dict[str, Any]]:
    """By setting, what ``siming score --json`` says."""
    found: dict[str, dict[str, Any]] = json.loads(siming("score", folder, "--json", *how))["settings"]
    return found


def compared(folder: Path, other: Path, how: Sequence[str]) -> dict[str, dict[str, Any]]:
    """By setting, what ``siming compare --json`` says of ``mine`` and ``other``."""
    words = ("compare", f"mine={folder}", f"other={other}", "--json", *how)
    found: dict[str, dict[str, Any]] = json.loads(siming(*words))["settings"]
    return found


def diagnosed(folder: Path, how: Sequence[str]) -> dict[str, dict[str, Any]]:
    """By setting, what ``siming study diagnose --json`` says."""
    found: dict[str, dict[str, Any]] = json.loads(siming("study", "diagnose", folder, "--json", *how))["settings"]
    return found


def reported(folders: Mapping[str, Path], out: Path, how: Sequence[str]) -> dict[str, Any]:
    """``report.json`` of these runs."""
    words = [f"{name}={folder}" for name, folder in folders.items()]
    siming("report", *words, "--out", out, "--video-files", "none", "--jobs", 1, *how)
    found: dict[str, Any] = json.loads((out / "report.json").read_text())
    return found


def boarded(folders: Mapping[str, Path], out: Path, how: Sequence[str]) -> dict[str, dict[str, Any]]:
    """By name, the rows of ``board.json`` after each run was submitted under its name."""
    (out / "inbox").mkdir(parents=True)
    for name, folder in folders.items():
        siming("board", "submit", folder, "--name", name, "--out", out / "inbox" / f"{name}.zip", *how)
    siming("board", "build", out / "inbox", "--out", out / "board", *how)
    return {row["model"]["name"]: row for row in json.loads((out / "board" / "board.json").read_text())["rows"]}


def disagreements(sources: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[str]:
    """List the disagreements between ways of scoring one run: setting, metric, entry and both values.

    Args:
        sources: by name of the way, numbers by setting and metric.
    """
    (first, expected), *others = sources.items()
    found = []
    for name, numbers in others:
        if (settings := set(numbers)) != set(expected):
            found.append(f"{first} has {set(expected)}, {name} {settings}")
            continue
        for setting, metrics in expected.items():
            for metric in {**metrics, **numbers[setting]}:
                one, other = (side[setting].get(metric, {}) for side in (expected, numbers))
                found += [
                    f"{setting} {metric} {entry}: {first} {one.get(entry)!r}, {name} {other.get(entry)!r}"
                    for entry in {**one, **other}
                    if one.get(entry) != other.get(entry)
                ]
    return found
