"""Comparison of runs, setting by setting: differences, contribution of the video, distance to the physicians."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from siming_tasks.analysis.comparison import Comparison, compare_scores, correct_families
from siming_tasks.analysis.human_ceiling import human_ratio
from siming_tasks.analysis.rater_agreement import rater_references
from siming_tasks.analysis.run_analyses import run_video_contribution
from siming_tasks.analysis.video_contribution import VideoContribution
from siming_tasks.common.display import LONGEST, Card, Shown
from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.common.sanitize import one_line
from siming_tasks.data import Dataset
from siming_tasks.metrics import Estimate, ScoreMatrix
from siming_tasks.metrics.alignment import align
from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.metrics.estimate import plain
from siming_tasks.metrics.resample import one_thread
from siming_tasks.options import Options
from siming_tasks.results.comparable import TaskRun, check_allowed, comparison_entries
from siming_tasks.results.estimand import Estimand, estimand_of
from siming_tasks.results.run import Run, load
from siming_tasks.tasks import ABLATION_TASKS, setting_named


@dataclass(frozen=True, repr=False)
class RunComparison(Shown):
    """Result of :func:`compare`.

    Attributes:
        physicians: those whose labels make the human ratio; with fewer than two there is none.
        comparison: paired differences, ranks, detectable effects.
        contribution: by run, contribution of the video.
        human_ratio: by run and metric; empty without two physicians.
        matrices: by run, what was compared.
        estimand: whose exams and which raters.
        synthetic: the exams are simulated.
    """

    setting: str
    physicians: tuple[str, ...]
    comparison: Comparison
    contribution: Mapping[str, VideoContribution]
    human_ratio: Mapping[str, Mapping[str, Estimate]]
    matrices: Mapping[str, ScoreMatrix] = field(default_factory=dict, repr=False)
    estimand: Estimand | None = None
    synthetic: bool = False

    @property
    def sentence(self) -> str:
        """The answer in one sentence, as plain text."""
        return f"{self.setting}: {self.comparison.sentence('SYNTHETIC exams' if self.synthetic else 'exams')}"

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"RunComparison({one_line(self.sentence, LONGEST)!r})"

    @property
    def card(self) -> Card:
        """The sentence, and every run with its rank."""
        found, metric = self.comparison, self.comparison.headline
        rows = []
        for run, rank in sorted(found.ranks.get(metric, {}).items(), key=lambda item: item[1].rank):
            between = str(rank.low) if rank.low == rank.high else f"{rank.low} to {rank.high}"
            rows.append((run, str(found.imputed[run][metric]), between))
        rows += [(run, "-", why) for run, why in found.skipped.get(metric, {}).items()]
        note = "Missing answers count as full points or “correct”."
        return Card(f"{len(found.runs)} runs", self.sentence, ("run", CATALOGUE[metric].label, "rank"), rows, note)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        parts: dict[str, Any] = {"comparison": self.comparison.to_json(), "contribution": plain(self.contribution)}
        parts |= {"estimand": self.estimand.to_json()} if self.estimand else {}
        return {**parts, "human_ratio": plain(self.human_ratio) or None}


@dataclass(frozen=True)
class StudyComparison:
    """Result of :func:`compare_settings`.

    Attributes:
        settings: comparison by setting; their tests are corrected together.
        refused: by setting, the reason why its runs cannot be compared.
    """

    settings: Mapping[str, RunComparison]
    refused: Mapping[str, str]


def compare_settings(
    runs: Sequence[Run],
    settings: Sequence[str],
    options: Options | None = None,
    *,
    allow: Collection[str] = (),
    against: str | None = None,
) -> StudyComparison:
    """Compare runs in several settings; Holm's correction is over all of them.

    The arguments are otherwise those of :func:`compare`.

    Raises:
        DataError: the runs can be compared in none of the settings.
    """
    options = options or Options()
    compared: dict[str, RunComparison] = {}
    refused: dict[str, str] = {}
    for setting in settings:
        try:
            compared[setting] = _compare(runs, setting, options, allow=allow, against=against)
        except DataError as error:
            refused[setting] = str(error)
    if settings and not compared:
        raise DataError("\n".join(f"{setting}: {why}" if len(refused) > 1 else why for setting, why in refused.items()))
    return StudyComparison(_correct(compared), refused)


def _correct(compared: Mapping[str, RunComparison]) -> dict[str, RunComparison]:
    """The comparisons with their tests corrected as one family over the settings."""
    families = correct_families({setting: item.comparison for setting, item in compared.items()})
    return {setting: replace(item, comparison=families[setting]) for setting, item in compared.items()}


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
    *runs: Run | str | Path,
    setting: str | None = None,
    data: str | Path | Dataset | None = None,
    options: Options | None = None,
    allow: Collection[str] = (),
    against: str | None = None,
) -> RunComparison:
    """Compare runs over the same videos in one setting, which all share their resamples.

    Holm's correction is over this setting alone: who tests in several settings takes :func:`compare_settings`.

    Args:
        runs: at least two runs on one data set, or their folders, which :func:`siming_tasks.results.run.load` reads.
        setting: name of the setting, such as ``full_score``; None: the first that all runs have.
        data: the data set of the folders, or its folder; None: that of a run that is loaded, else as in ``load``.
        options: rater, label mapping, positive class, resamples and seed.
        allow: differences to accept (:data:`siming_tasks.results.comparable.DIFFERENCES`).
        against: compare every other run with this one instead of all pairs.

    Raises:
        DataError: fewer than two runs or videos, runs that are not comparable, or an unknown ``against``.
        OptionsError: an unknown setting, or an argument of another kind.

    Example:
        >>> from siming_tasks import Options, compare, open_dataset, read_run
        >>> dataset = open_dataset(exams)
        >>> runs = [read_run(path, dataset) for path in (physician, constant)]
        >>> result = compare(*runs, options=Options(resamples=500))
        >>> print(result)  # doctest: +ELLIPSIS
        full_score: physician (...) and constant (0.000) cannot be told apart: ... over 4 SYNTHETIC exams.
        >>> first = result.comparison.differences[0]
        >>> first.metric, first.a, first.b, first.value > 0.5
        ('qwk', 'physician', 'constant', True)
    """
    if len(runs) == 1 and isinstance(runs[0], list | tuple):
        raise OptionsError("runs: give them one by one: compare(*runs).")
    data = data or next((run.dataset for run in runs if isinstance(run, Run)), None)
    options, loaded = Options.of(options), [load(run, data) for run in runs]
    if len(loaded) < 2:
        raise DataError(f"A comparison needs at least two runs; {len(loaded)} given.")
    setting = common_settings(loaded, setting and (setting_named(setting),))[0]
    compared = _compare(loaded, setting, options, allow=allow, against=against)
    return _correct({setting: compared})[setting]


def _compare(
    runs: Sequence[Run],
    setting: str,
    options: Options,
    *,
    allow: Collection[str],
    against: str | None,
) -> RunComparison:
    """:func:`compare` before the tests are corrected for those of other settings."""
    check_allowed(allow)
    how: dict[str, Any] = {"mapping": options.mapping, "positive": options.positive}
    how |= {"resamples": options.resamples, "seed": options.seed}
    with one_thread():
        entries = comparison_entries([TaskRun.of(run, setting, options.rater, options.cluster) for run in runs], allow)
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
            matrices=matrices,
            estimand=estimand_of(next(iter(matrices.values())), dataset, setting, options.rater, several=True),
            synthetic=dataset.synthetic,
        )
