"""Runs as a table for a paper (``booktabs``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from siming_tasks.common.files import atomic_write
from siming_tasks.common.sanitize import one_line
from siming_tasks.metrics.catalogue import CATALOGUE, COVERAGE, select
from siming_tasks.tasks import TASKS
from siming_tasks.tools.exchange.taken import Taken

__all__ = ["escaped", "latex_table", "write_latex"]

_SIGNS = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "[": "{[}",  # at the beginning of a line it would belong to the line break before
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
}


def escaped(text: str) -> str:
    """Any text as one line of plain words for LaTeX: nothing in it is a command."""
    return "".join(_SIGNS.get(letter, letter) for letter in one_line(text))


def latex_table(runs: Sequence[Taken]) -> str:
    """One line per run and setting: every metric with its interval, and the coverage."""
    first = runs[0]
    label = "SYNTHETIC data: simulated exams, no finding about any model. " if first.dataset.synthetic else ""
    answers = list(dict.fromkeys(TASKS[name].answer for taken in runs for name in taken.results))
    parts = [part for answer in answers for part in _part(runs, answer)]
    caption = (
        f"{label}{escaped(first.dataset.name)} {escaped(first.dataset.version)}; "
        r"95\,\% intervals by resampling of videos. Missing answers are left out; coverage is the share answered. "
        "--: undefined."
    )
    digests = "".join(f"% {escaped(taken.run.name)}: dataset {taken.dataset.digest}\n" for taken in runs)
    return (
        f"% Needs \\usepackage{{booktabs}}.\n{digests}\\begin{{table}}\n\\centering\n"
        + "\n\\par\\medskip\n".join(parts)
        + f"\n\\caption{{{caption}}}\n\\end{{table}}\n"
    )


def write_latex(runs: Sequence[Taken], out: Path) -> None:
    """Write :func:`latex_table`."""
    with atomic_write(out) as stream:
        stream.write(latex_table(runs))


def _part(runs: Sequence[Taken], answer: Any) -> list[str]:
    metrics = [name for name in select(answer) if name != COVERAGE]
    lines = [
        " & ".join(
            [escaped(taken.run.name), escaped(TASKS[name].title)]
            + [_cell(found["metrics"][metric]) for metric in metrics]
            + [f"{found['metrics'][COVERAGE]['value']:.3f}"]
        )
        + r" \\"
        for taken in runs
        for name, found in taken.results.items()
        if TASKS[name].answer == answer
    ]
    head = " & ".join(["run", "setting", *(escaped(CATALOGUE[metric].label) for metric in metrics), "coverage"])
    columns = "ll" + "c" * (len(metrics) + 1)
    rules = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head + r" \\", r"\midrule"]
    return ["\n".join([*rules, *lines, r"\bottomrule", r"\end{tabular}"])]


def _cell(estimate: dict[str, Any]) -> str:
    if estimate["value"] is None or estimate["undefined"]:
        return "--"
    if estimate["low"] is None:
        return f"{estimate['value']:.3f}"
    return f"{estimate['value']:.3f} [{estimate['low']:.3f}, {estimate['high']:.3f}]"
