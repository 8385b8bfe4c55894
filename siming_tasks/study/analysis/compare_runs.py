"""Comparison of runs, setting by setting: what may be compared, and one family of tests over all settings shown."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from siming_tasks.benchmark.metrics import ScoreMatrix
from siming_tasks.benchmark.metrics.alignment import align
from siming_tasks.benchmark.metrics.thresholds import MARGIN
from siming_tasks.benchmark.tasks import ABLATION_TASKS, setting_named
from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.study.analysis.comparison import Comparison, compare_judges, correct
from siming_tasks.study.results.comparable import TaskRun, check_allowed, comparison_entries
from siming_tasks.study.results.discovery import find_runs
from siming_tasks.study.results.run import Run, load


@dataclass(frozen=True)
class StudyComparison:
    """Runs compared in several settings; their tests are corrected together.

    Attributes:
        settings: comparison by setting.
        refused: by setting, the reason why its runs cannot be compared.
    """

    settings: Mapping[str, Comparison]
    refused: Mapping[str, str]


def rater_points(dataset: Dataset, matrix: ScoreMatrix) -> dict[str, np.ndarray]:
    """By name, each physician's points on the matrix's videos and steps, ``float64[V, S]``; NaN: not scored."""
    column = {step: index for index, step in enumerate(matrix.step_ids)}
    points = {name: np.full(matrix.reference.shape, np.nan) for name in dataset.physicians}
    for row, video in enumerate(matrix.video_ids):
        for label in dataset.video(video).applicable:
            for name, score in label.scores.items():
                if name in points and score is not None and label.step_id in column:
                    points[name][row, column[label.step_id]] = score
    return {name: own for name, own in points.items() if not np.isnan(own).all()}


def compare_settings(
    runs: Sequence[Run],
    settings: Sequence[str],
    options: Options | None = None,
    *,
    allow: Collection[str] = (),
    against: str | None = None,
    margin: float = MARGIN,
) -> StudyComparison:
    """Compare runs in several settings; Holm's correction is over all of them. Arguments as of :func:`compare`.

    Raises:
        DataError: the runs can be compared in none of the settings.
    """
    compared: dict[str, Comparison] = {}
    refused: dict[str, str] = {}
    for setting in settings:
        try:
            compared[setting] = _compare(runs, setting, options or Options(), allow, against, margin)
        except DataError as error:
            refused[setting] = str(error)
    if settings and not compared:
        is_one = len({*refused.values()}) == 1
        reasons = [why if is_one else f"{setting}: {why}" for setting, why in refused.items()]
        raise DataError("\n".join(dict.fromkeys(reasons)))
    return StudyComparison(correct(compared), refused)


def common_settings(runs: Sequence[Run], wanted: Collection[str] | None = None) -> list[str]:
    """Settings that all runs have, among those ``wanted``; ablations only if wanted, as the benchmark has none.

    Raises:
        DataError: there is none.
    """
    settings = list(dict.fromkeys(name for run in runs for name in run.records))
    candidates = [name for name in settings if (name not in ABLATION_TASKS if wanted is None else name in wanted)]
    shared = [name for name in candidates if all(run.records.get(name) for run in runs)]
    if not shared:
        held = "; ".join(f"{run.name} has {', '.join(run.records) or 'none'}" for run in runs)
        among = f" among {', '.join(wanted)}" if wanted else ""
        raise DataError(f"The runs have no setting in common{among}: {held}. Give runs of the same setting.")
    return shared


def compare(
    *runs: Run | str | Path | Mapping[str, Run | str | Path],
    setting: str | None = None,
    data: str | Path | Dataset | None = None,
    options: Options | None = None,
    allow: Collection[str] = (),
    against: str | None = None,
    margin: float = MARGIN,
) -> Comparison:
    """Compare runs over the same videos in one setting.

    Holm's correction is over this setting alone: who tests in several settings takes :func:`compare_settings`.

    Args:
        runs: at least two runs on one data set, or their folders (``"NAME=PATH"`` gives one a name); or a mapping of
            names to them, for two runs of one model.
        setting: name of the setting, such as ``full_score``; None: the first that all runs have.
        data: the data set of the folders, or its folder; None: that of a run that is loaded, else as in ``load``.
        options: rater and label mapping.
        allow: differences to accept (:data:`siming_tasks.benchmark.exams.DIFFERENCES`).
        against: compare every other run with this one instead of all pairs.
        margin: difference from the physicians that counts as none.

    Raises:
        DataError: fewer than two runs, runs that are not comparable, or an unknown ``against``.
        OptionsError: an unknown setting, or an argument of another kind.

    Example:
        >>> from siming_tasks import compare, open_dataset, read_run
        >>> dataset = open_dataset(exams)
        >>> result = compare(*(read_run(path, dataset) for path in (physician, constant)))
        >>> print(result.value("constant"), result.unranked)
        0.000 {'constant': 'All its answers are the same.'}
    """
    named = _named(runs)
    data = data or next((run.dataset for run in named.values() if isinstance(run, Run)), None)
    loaded = []
    for name, run in named.items():
        read = load(run, data)
        loaded.append(replace(read, source=replace(read.source, name=name)) if name else read)
    if len(loaded) < 2:
        raise DataError(f"A comparison needs at least two runs; {len(loaded)} given.")
    chosen = common_settings(loaded, setting and (setting_named(setting),))[0]
    return correct({chosen: _compare(loaded, chosen, Options.of(options), allow, against, margin)})[chosen]


def _named(runs: Sequence[Any]) -> dict[str, Any]:
    """The runs by the names that they were given, or have."""
    if len(runs) == 1 and isinstance(runs[0], list | tuple):
        raise OptionsError("runs: give them one by one: compare(*runs).")
    out: dict[str, Any] = {}
    for run in runs:
        if isinstance(run, Mapping):
            found = dict(run)
        elif isinstance(run, str | Path):
            found = {source.name: source for source in find_runs([str(run)])}
        else:
            found = {run.name: run}
        if twice := [name for name in found if name in out]:
            raise DataError(f"Two runs are called {twice[0]!r}. Name them: compare({{'first': run, 'second': other}}).")
        out |= found
    return out


def _compare(
    runs: Sequence[Run],
    setting: str,
    options: Options,
    allow: Collection[str],
    against: str | None,
    margin: float,
) -> Comparison:
    check_allowed(allow)
    dataset = runs[0].dataset
    entries = comparison_entries([TaskRun.of(run, setting, options.rater) for run in runs], allow)
    judges = {entry.name: entry.panel for entry in align(entries, allow)}
    if len(runs) > 1 and sum(matrix.answered.any() for matrix in judges.values()) < 2:
        silent = next(name for name, matrix in judges.items() if not matrix.answered.any())
        raise DataError(f"Run {silent!r} has nothing to compare: no step has an answer.")
    points = rater_points(dataset, next(iter(judges.values())))
    roles = {run.name: run.source.role for run in runs}
    made = compare_judges(judges, setting=setting, points=points, against=against, margin=margin,
                          mapping=options.mapping, roles=roles)  # fmt: skip
    facts = {"dataset": dataset.facts, "synthetic": dataset.synthetic, "reference": options.rater,
             "allowed": sorted(allow), "mapping": options.mapping}  # fmt: skip
    return replace(made, facts=facts)
