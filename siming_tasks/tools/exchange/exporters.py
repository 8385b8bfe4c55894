"""Every format of ``siming run export`` in one row: what writes it, and what of a run it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from siming_tasks.tools.exchange.every_eval_ever import write_every_eval_ever
from siming_tasks.tools.exchange.exported_run import (
    ExportedRun,
    write_figure,
    write_jsonl,
    write_latex,
    write_parquet,
)
from siming_tasks.tools.exchange.hub_results import write_hub_results
from siming_tasks.tools.exchange.inspect_logs import write_inspect


@dataclass(frozen=True)
class Exporter:
    """One format.

    Attributes:
        write: writes the runs to a file or folder; returns the files.
        numbers: the format holds metrics, so that their state must be in it, and not answers alone.
        several: takes more than one run.
        reference: needs the labels.
    """

    write: Callable[..., Sequence[Path]]
    numbers: bool
    several: bool = False
    reference: bool = False


def _one_file(write: Callable[[ExportedRun, Path], None]) -> Callable[[Sequence[ExportedRun], Path], Sequence[Path]]:
    def write_it(runs: Sequence[ExportedRun], out: Path) -> Sequence[Path]:
        write(runs[0], out)
        return [out]

    return write_it


def _write_latex(runs: Sequence[ExportedRun], out: Path) -> Sequence[Path]:
    write_latex(runs, out)
    return [out]


EXPORTERS: Mapping[str, Exporter] = {
    "every-eval-ever": Exporter(lambda runs, out: write_every_eval_ever(runs[0], out), numbers=True, reference=True),
    "inspect": Exporter(lambda runs, out: write_inspect(runs[0], out), numbers=True),
    "jsonl": Exporter(_one_file(write_jsonl), numbers=False),
    "parquet": Exporter(_one_file(write_parquet), numbers=False),
    "hub": Exporter(lambda runs, out: write_hub_results(runs[0], out), numbers=True, reference=True),
    "latex": Exporter(_write_latex, numbers=True, several=True, reference=True),
    "figure": Exporter(write_figure, numbers=True, several=True, reference=True),
}
"""By name. A new one is named in :mod:`siming_tasks.cli.exchange` too, and checked with all others by a test."""
