"""One run scored in every way that there is: lmms-eval's own hooks in this process, and each command of ``siming``."""

import contextlib
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from siming_tasks.benchmark.metrics.catalogue import CATALOGUE
from siming_tasks.cli import main
from siming_tasks.plugin import hooks
from tests.plugin.hooks.conftest import aggregated, docs

Lines = list[dict[str, Any]]
Key = tuple[str, str]
"""Table and metric."""


def logs(folder: Path) -> dict[str, Path]:
    """The sample logs of a run, by setting."""
    return {path.stem.partition("_siming_")[2]: path for path in sorted(folder.glob("*_samples_siming_*.jsonl"))}


def rewrite(folder: Path, change: Callable[[Lines], Lines]) -> Path:
    """Change the lines of every sample log of a run."""
    for path in logs(folder).values():
        lines = change([json.loads(line) for line in path.read_text().splitlines()])
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


@contextlib.contextmanager
def loaded(data: Path, cache: Path, options: Mapping[str, str]) -> Iterator[None]:
    """Set the environment of a run and load a task of it, as lmms-eval does before the first request."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"data": str(data), "cache": str(cache), **options}.items():
            patch.setenv(f"SIMING_{name.upper()}", value)
        hooks.dataset_kwargs  # noqa: B018
        yield


def host_rows(folder: Path, part: slice = slice(None)) -> dict[str, dict[str, Any]]:
    """By setting, what lmms-eval's results file gets of the replies in a run's logs.

    Args:
        folder: of the run; a document without a line got no reply.
        part: of each task's documents, what the host takes (``--limit`` and ``--offset``).
    """
    found = {}
    for name, path in logs(folder).items():
        lines = map(json.loads, path.read_text().splitlines())
        replies = {line["siming_stderr"]["id"]: line["filtered_resps"] for line in lines}
        results = [hooks.process_results(doc, [replies.get(doc["id"], "")]) for doc in docs(name)[part]]
        printed = aggregated(results, SimpleNamespace(output_path=str(folder / "host")))
        found[name] = printed["siming_stderr"]
        for (_, metric), row in table(found[name], "answered", "all steps").items():
            assert printed[metric] == row["value"]
            assert printed.get(f"{metric}_stderr", row["stderr"]) == row["stderr"]
    return found


def table(result: Mapping[str, Any], name: str, row: str) -> dict[Key, dict[str, Any]]:
    """The numbers of one row of a table, whatever the row is called."""
    rows = [each for each in result["rows"] if (each["table"], each["row"]) == (name, row)]
    return {(name, each["metric"]): {**each, "row": ""} for each in rows}


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


def told(*words: object) -> dict[str, dict[str, Any]]:
    """By setting, what a command says with ``--json``."""
    found: dict[str, dict[str, Any]] = json.loads(siming(*words, "--json"))["settings"]
    return found


def printed(folder: Path, how: Sequence[str]) -> dict[str, dict[str, str]]:
    """By setting and metric, the value that ``siming score`` prints of what was answered."""
    found = {}
    for part in siming("score", folder, *how).split("\n## ")[1:]:
        head, row, *_ = (line for line in part.splitlines() if line.startswith(("|  ", "| all steps")))
        cells = [[cell.strip(" ‡").split(" ")[0] for cell in line.strip("|").split("|")[1:]] for line in (head, row)]
        found[part.splitlines()[0]] = {HEADS[name]: value for name, value in zip(*cells, strict=True)}
    return found


HEADS = {row.label.split(" ")[0]: key for key, row in CATALOGUE.items()}
