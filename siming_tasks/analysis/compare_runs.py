"""Comparison of runs in one task: differences, contribution of the video, distance to the physicians."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from siming_tasks.analysis.comparison import Comparison, compare_scores
from siming_tasks.analysis.human_ceiling import human_ratio
from siming_tasks.analysis.rater_agreement import rater_references
from siming_tasks.analysis.run_analyses import run_video_contribution
from siming_tasks.analysis.variance_sources import two_way_intervals
from siming_tasks.analysis.video_contribution import VideoContribution
from siming_tasks.common.errors import DataError
from siming_tasks.metrics import Estimate
from siming_tasks.metrics.alignment import align
from siming_tasks.metrics.estimate import plain
from siming_tasks.metrics.resample import one_thread
from siming_tasks.options import Options
from siming_tasks.results.comparable import TaskRun, check_allowed, comparison_entries
from siming_tasks.results.run import Run
from siming_tasks.tasks import ABLATION_TASKS


@dataclass(frozen=True)
class RunComparison:
    """Result of :func:`compare`.

    Attributes:
        physicians: those whose labels make the human ratio; with fewer than two there is none.
        comparison: paired differences, ranks, detectable effects.
        contribution: by run, contribution of the video.
        human_ratio: by run and metric; empty without two physicians.
        two_way: by run and metric, intervals over videos and steps; empty unless asked for.
    """

    setting: str
    physicians: tuple[str, ...]
    comparison: Comparison
    contribution: Mapping[str, VideoContribution]
    human_ratio: Mapping[str, Mapping[str, Estimate]]
    two_way: Mapping[str, Mapping[str, Estimate]]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        parts: dict[str, Any] = {"comparison": self.comparison.to_json(), "contribution": plain(self.contribution)}
        parts |= {"two_way": plain(self.two_way)} if self.two_way else {}
        return {**parts, "human_ratio": plain(self.human_ratio) or None}


def common_settings(runs: Sequence[Run], wanted: Collection[str] | None = None) -> list[str]:
    """Settings that all runs have, among those wanted; ablations only if wanted, since they are no benchmark rows.

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
    runs: Sequence[Run],
    setting: str,
    options: Options | None = None,
    *,
    allow: Collection[str] = (),
    against: str | None = None,
    steps_too: bool = False,
) -> RunComparison:
    """Compare runs over the same videos in one setting; the unit of resampling is the video, shared by all runs.

    Args:
        runs: at least two runs on one data set, from :func:`siming_tasks.results.run.read_run`.
        setting: name of the setting, such as ``full_score``.
        options: rater, label mapping, positive class, resamples and seed.
        allow: differences to accept (:data:`siming_tasks.results.comparable.DIFFERENCES`).
        against: compare every other run with this one instead of all pairs.
        steps_too: also intervals over videos and steps.

    Raises:
        DataError: fewer than two runs or videos, runs that are not comparable, or an unknown ``against``.

    Example:
        >>> from siming_tasks import Options, compare, open_dataset, read_run
        >>> dataset = open_dataset(exams)
        >>> runs = [read_run(path, dataset) for path in (physician, constant)]
        >>> result = compare(runs, "full_score", Options(resamples=500))
        >>> first = result.comparison.differences[0]
        >>> first.metric, first.a, first.b, first.value > 0.5
        ('qwk', 'physician', 'constant', True)
    """
    check_allowed(allow)
    options = options or Options()
    how: dict[str, Any] = {"mapping": options.mapping, "positive": options.positive}
    how |= {"resamples": options.resamples, "seed": options.seed}
    with one_thread():
        entries = comparison_entries([TaskRun.of(run, setting, options.rater) for run in runs], allow)
        comparison = compare_scores(entries, allow=allow, against=against, **how)
        dataset = runs[0].dataset
        matrices = {entry.name: entry.panel for entry in align(entries, allow)}
        ratios: dict[str, Mapping[str, Estimate]] = {}
        if len(dataset.physicians) > 1:
            for name, matrix in matrices.items():
                ratios[name] = human_ratio(matrix, *rater_references(dataset, setting, matrix), **how)
        return RunComparison(
            setting=setting,
            physicians=dataset.physicians,
            comparison=comparison,
            contribution={
                name: run_video_contribution(matrix, options, comparison.estimates[name])
                for name, matrix in matrices.items()
            },
            human_ratio=ratios,
            two_way={name: two_way_intervals(matrix, **how) for name, matrix in matrices.items() if steps_too},
        )
