"""Agreement of raters: every pair, by step, in totals, and with the consensus that they made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from siming_tasks.benchmark.metrics import Rows, ScoreMatrix, jackknife
from siming_tasks.benchmark.metrics.catalogue import CATALOGUE, select, share_of, statistic
from siming_tasks.benchmark.metrics.score_matrix import FloatArray
from siming_tasks.benchmark.scoring import build_reference_matrix
from siming_tasks.benchmark.tasks import benchmark_task
from siming_tasks.benchmark.types import CONSENSUS
from siming_tasks.common.choices import LabelMapping
from siming_tasks.common.errors import DataError
from siming_tasks.common.printed_value import counted
from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.study.analysis.pairs import added, kappa, side_by_side
from siming_tasks.study.analysis.physicians import EACH_OTHER, pairs_of, physician_rows
from siming_tasks.study.analysis.severity import JUDGE, severity
from siming_tasks.study.analysis.steps import FEWEST_WRONG, without_interval
from siming_tasks.study.analysis.tables import TableText, table_row
from siming_tasks.study.words import say

NO_PAIR = (
    "The agreement of physicians cannot be computed: it needs the labels of two raters before adjudication; this data "
    "set has those of {found}. A rater's agreement with the consensus is inflated and cannot replace it."
)
TABLES: Mapping[str, TableText] = {
    "raters by step": TableText(
        "Raters by step",
        "Kappa of the raters with each other and the share of videos to which they gave different points, all pairs "
        "added up; intervals are not corrected for the number of steps.",
        {"kappa": "kappa", "differ": "differ"},
    ),
    "raters and consensus": TableText(
        "Raters and the consensus",
        "Each rater against the consensus, which they helped to make: higher than agreement "
        "between raters, and not an upper limit for judges.",
        {key: CATALOGUE[key].label for key in select("score", compared=True)},
    ),
}


def rater_rows(dataset: Dataset, options: Options | None = None, names: Sequence[str] | None = None) -> Rows:
    """Every table about the raters of a data set; its physicians, or those named (at least two).

    Tables ``inter-physician agreement`` (points, and rows ``verdicts: ...``), ``severity``, ``raters by step`` and
    ``raters and consensus``.

    Raises:
        DataError: there is no such rater, or no step was scored by two of them.
    """
    options = Options.of(options)
    for name in names or ():
        if name not in dataset.raters:
            raise DataError(f"{dataset.name} has no rater {name!r}; it has {', '.join(dataset.raters) or 'none'}.")
    setting = benchmark_task("full", "score").name
    raters = names or dataset.physicians
    labels = {name: build_reference_matrix(dataset, setting, name) for name in raters}
    if len(labels) < 2:
        found = sorted([*labels, *([] if dataset.withheld else [CONSENSUS])])
        raise DataError(NO_PAIR.format(found=", ".join(found) or "none"))
    points = {name: matrix.reference for name, matrix in labels.items()}
    matrix = next(iter(labels.values()))
    if not (pairs := pairs_of(matrix, points)):
        raise DataError(f"No step was scored by two of {', '.join(points)}; their agreement cannot be computed.")
    verdicts = replace(matrix, answer="error", predicted=np.full(matrix.reference.shape, np.nan))
    rows = physician_rows(matrix, points, mapping=options.mapping)
    rows += (row.at(row=f"verdicts: {row.row}") for row in physician_rows(verdicts, points))
    every = np.array(list(points.values()))  # pairs are looked at on steps with a label, whoever gave it
    unlabelled = np.isnan(every).all(axis=0)
    labelled = replace(matrix, reference=np.where(unlabelled, np.nan, np.nan_to_num(every).max(axis=0)))
    rows += (row for row in severity(labelled, points) if row.row != JUDGE)
    rows += _by_step(matrix, pairs, mapping=options.mapping)
    consensus = build_reference_matrix(dataset, setting, CONSENSUS)
    return rows + (_with_consensus(consensus, points, mapping=options.mapping) if consensus.counted.any() else Rows())


def pair_notes(rows: Rows) -> list[str]:
    """Sentences on the pairs of raters: those that may be copies, and how many videos each pair adds to the mean."""
    pairs = rows.of(EACH_OTHER, metric="differ")
    alike = [row for row in pairs if row.value == 0 and rows.one(EACH_OTHER, row.row, "qwk").value is not None]
    notes = [say("copies", pair=row.row, videos=counted(row.n, "video")) for row in alike]
    return [*notes, say("pairs of raters", pairs="; ".join(f"{row.row} {row.n:,}" for row in pairs))]


def _by_step(
    matrix: ScoreMatrix, pairs: Mapping[tuple[str, str], ScoreMatrix], *, mapping: LabelMapping = "absolute"
) -> Rows:
    rows = Rows()
    for step in matrix.step_ids:
        parts = [pair.subset([step]) for pair in pairs.values()]
        nothing = "No two raters scored this step."
        differ = share_of(lambda m: m.reference != m.predicted, lambda m: m.counted, nothing)
        both = {"kappa": added(kappa(mapping, nothing=nothing), parts), "differ": added(differ, parts)}
        found = {name: jackknife(each, parts[0]) for name, each in both.items()}
        wrong = sum(int((part.asked & (part.reference_wrong | part.predicted_wrong)).sum()) for part in parts)
        made = table_row("raters by step", step, found)
        rows += made if wrong >= FEWEST_WRONG else map(without_interval, made)
    return rows


def _with_consensus(
    consensus: ScoreMatrix, points: Mapping[str, FloatArray], *, mapping: LabelMapping = "absolute"
) -> Rows:
    rows = Rows()
    for name, own in points.items():
        made = side_by_side(consensus, consensus.reference, own)
        found = {key: jackknife(statistic(key, mapping), made) for key in select("score", compared=True)}
        rows += table_row("raters and consensus", name, found)
    return rows
