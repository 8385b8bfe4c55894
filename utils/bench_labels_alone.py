"""Put into docs/validation/supervised-baseline.md how far labels and spans go on public sets, without any video.

The published annotation files of the sets are read from one folder with a folder for each set, as ``siming data fetch``
takes them by ``--annotations``. Under two minutes.

    python utils/bench_labels_alone.py ANNOTATIONS          writes the table
    python utils/bench_labels_alone.py ANNOTATIONS --show   prints it
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from siming_tasks.data import Dataset
from siming_tasks.metrics import Estimate, ScoreMatrix, evaluate
from siming_tasks.metrics.no_video_baselines import always_correct
from siming_tasks.metrics.other_benchmarks import other_benchmark_estimates, recognition_area
from siming_tasks.metrics.thresholds import FEWEST_CLUSTERS
from siming_tasks.tools.baseline.labels_alone import KNOWN, Fit, fit_labels
from siming_tasks.tools.baseline.official_split import OfficialSplit, official_split
from siming_tasks.tools.public_sets import fetch

PAGE = Path(__file__).parents[1] / "docs" / "validation" / "supervised-baseline.md"
FOLDERS = {"assembly101": "assembly101_mistakes"}
SPLITS: dict[str, tuple[str, ...]] = {
    "egooops": ("",),
    "captaincook4d": ("person", "environment", "recording"),
    "egoems": ("trial", ""),
    "assembly101": ("",),
}
"""The splits of each set; empty: five folds over its highest unit."""
HEAD = (
    "| set, split | asked | told | videos, steps | wrong | MCC | AUROC | EDA | EDA of all correct |\n"
    "|---|---|---|--:|--:|--:|--:|--:|--:|"
)
RESAMPLES = 10_000


def of_enough_clusters(matrix: ScoreMatrix) -> ScoreMatrix:
    """The same over its own units, or over videos where these are too few for an interval."""
    if matrix.n_clusters >= FEWEST_CLUSTERS:
        return matrix
    fixed = (matrix.unit, *matrix.fixed)
    return replace(matrix, unit="video", clusters=matrix.video_ids, fixed=fixed)


def shown(estimate: Estimate) -> str:
    """A value to two places with its interval."""
    if estimate.value is None or estimate.undefined:
        return "-"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"


def row(name: str, scope: str, told: str, fit: Fit) -> str:
    """One line of the table."""
    matrix = of_enough_clusters(fit.matrix)
    known = matrix.counted & matrix.answered
    mcc = evaluate(matrix, resamples=RESAMPLES).metrics["mcc"]
    judges = {"fit": matrix, "all correct": always_correct(matrix).predicting(np.where(known, 0.0, np.nan))}
    eda = other_benchmark_estimates(judges, known, resamples=RESAMPLES, seed=0)["eda"]
    wrong = int((matrix.reference_wrong & known).sum())
    units = (
        f"{matrix.n_clusters} {matrix.unit}s"
        if matrix is fit.matrix
        else f"{fit.matrix.n_clusters} {fit.matrix.unit}s\\*"
    )
    size = f"{len(matrix.video_ids)} ({units}), {int(known.sum()):,}"
    cells = (name, scope, told, size, f"{wrong:,}", shown(mcc), shown(recognition_area(matrix, fit.wrong)))
    return f"| {' | '.join((*cells, shown(eda['fit']), shown(eda['all correct'])))} |"


def lines(dataset: Dataset, name: str) -> Iterator[str]:
    """The lines of one set."""
    for split in SPLITS[name]:
        parts: OfficialSplit | None = official_split(dataset, split) if split else None
        for scope in ("full", "clip"):
            for told in KNOWN:
                if (scope, told) == ("full", "order"):
                    continue  # a full video shows no step's time
                fit = fit_labels(dataset, f"{scope}_error", told, parts)
                yield row(f"{name}, {split or 'five folds'}", scope, told, fit)
        for warning in parts.warnings if parts else ():
            print(f"{name}, {split}: {warning}")


def main() -> None:
    """Make the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("annotations", type=Path)
    parser.add_argument("--show", action="store_true")
    arguments = parser.parse_args()
    table = [HEAD]
    with tempfile.TemporaryDirectory() as made:
        for name in SPLITS:
            folder = arguments.annotations / FOLDERS.get(name, name)
            table += lines(fetch(name, Path(made) / name, annotations=folder).dataset, name)
    text = "\n".join(table)
    if arguments.show:
        print(text)
        return
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(re.sub(re.escape(HEAD) + r"(\n\|.*)*", lambda _: text, page), encoding="utf-8")


if __name__ == "__main__":
    main()
