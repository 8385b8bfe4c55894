"""Leaderboard of a setting: all runs with physicians, no-video baselines, ranks and paired tests."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from siming_tasks.analysis.comparison import Comparison, Difference, compare_scores, correct_families
from siming_tasks.analysis.primary_claim import PrimaryResult, assess_primary, is_part_of
from siming_tasks.analysis.rater_agreement import rater_pairs
from siming_tasks.analysis.video_contribution import no_video_estimates, no_video_matrices
from siming_tasks.common.errors import DataError
from siming_tasks.common.printed_value import resampled
from siming_tasks.common.schema import CONDITIONS
from siming_tasks.data import Dataset
from siming_tasks.data.primary import Primary
from siming_tasks.metrics import Estimate, ScoreMatrix
from siming_tasks.metrics.catalogue import CATALOGUE, COVERAGE, headline
from siming_tasks.metrics.estimate import plain
from siming_tasks.metrics.evaluate import estimates
from siming_tasks.metrics.no_video_baselines import JUDGES
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.metrics.thresholds import COMPARABLE
from siming_tasks.options import Options
from siming_tasks.report.charts import ORDER
from siming_tasks.report.run_analysis import RunAnalysis
from siming_tasks.report.verdict import RankedRun, build_verdict, correct_tests, run_tests
from siming_tasks.results.comparable import TaskRun, comparison_entries, groups, reason_against
from siming_tasks.results.estimand import estimand_of
from siming_tasks.results.evaluate_records import build_reference_matrix, evaluate_matrix
from siming_tasks.results.run import Run
from siming_tasks.tasks import TASKS

_NO_VIDEO_KINDS = {"all_correct": "always correct", "all_failed": "always failed", "step_prior": "step prior"}
"""Reference judges that are no-video baselines already, by kind."""
_ROUNDED = "A run of this judge gives points that a reply may give, so it differs a little."
_INFLATED = "judged against a consensus that it helped to make: inflated; the physicians’ own row is not"


@dataclass(frozen=True)
class Entrant:
    """A run in one setting, as a leaderboard takes it.

    Attributes:
        name: of the run; ``slug``: that of its page.
        role: key of :data:`siming_tasks.report.charts.ROLES`.
        kind: which reference judge it is.
        task_run: its answers.
        numbers: their evaluation (:meth:`siming_tasks.results.run.Run.evaluate`).
        contribution: what the video contributed, as plain JSON; None where it is not known.
    """

    name: str
    slug: str
    role: str
    kind: str | None
    task_run: TaskRun
    numbers: Mapping[str, Any]
    contribution: Mapping[str, Any] | None = None

    @property
    def seen(self) -> int:
        """Number of exams of which it answered anything."""
        panel = self.task_run.panel
        return int((panel.asked & panel.answered).any(axis=1).sum())

    @classmethod
    def of(cls, run: Run, setting: str, options: Options, contribution: Mapping[str, Any] | None = None) -> Entrant:
        """A run that was read for this alone."""
        source, task_run = run.source, TaskRun.of(run, setting, options.rater, options.cluster)
        numbers = run.evaluate(setting, options, evaluation=evaluate_matrix(task_run.panel, options))
        return cls(run.name, source.slug, source.role, source.kind, task_run, numbers, contribution)


@dataclass(frozen=True)
class Standings:
    """One setting's leaderboard before its tests are corrected for those of the other settings.

    Attributes:
        board: the leaderboard, without what depends on the correction.
        comparison: of the ranked runs; None if there is none.
        tests: of the ranked runs against physicians and no-video baselines.
        ranked: by name, the matrices of the ranked runs.
    """

    board: dict[str, Any]
    comparison: Comparison | None
    tests: dict[str, dict[str, Any]]
    ranked: Mapping[str, ScoreMatrix]


def correct_leaderboards(
    settings: Mapping[str, Standings | None], primary: Primary | None, dataset: Dataset, options: Options
) -> tuple[dict[str, dict[str, Any] | None], PrimaryResult | None]:
    """Leaderboards as plain JSON by setting, with one family of each kind of test over all settings; and the primary.

    A leaderboard gets ``comparison``, ``verdict`` (:func:`siming_tasks.report.verdict.build_verdict`), and in its rows
    ``standing`` (:class:`siming_tasks.analysis.ranks.RunRank`).
    """

    def part(setting: str, difference: Difference) -> bool:
        return is_part_of(primary, setting, difference)

    held = {setting: item for setting, item in settings.items() if item}
    compared = {setting: item.comparison for setting, item in held.items() if item.comparison}
    corrected = correct_families(compared, part)
    correct_tests([item.tests for item in held.values()])
    boards: dict[str, dict[str, Any] | None] = dict.fromkeys(settings)
    for setting, item in held.items():
        board, comparison = item.board, corrected.get(setting)
        metric = board["metric"]
        if comparison:
            _add_ranks(board["rows"], comparison, metric)
        board["rows"].sort(key=lambda row: (ORDER[row["role"]], *_sort_key(row, metric), row["name"]))
        verdict = build_verdict(list(item.ranked), comparison, metric, item.tests)
        boards[setting] = {**board, "comparison": comparison.to_json() if comparison else None, "verdict": verdict}
    if primary is None:
        return boards, None
    there = held.get(primary.setting)
    matrices = there.ranked if there else {}
    return boards, assess_primary(primary, matrices, corrected.get(primary.setting), dataset, options)


def build_leaderboard(
    analyses: Sequence[RunAnalysis], dataset: Dataset, setting: str, options: Options, allow: Collection[str] = ()
) -> dict[str, Any] | None:
    """The leaderboard of a single setting, corrected for that setting alone; None if no run has it."""
    standings = rank_analyses(analyses, dataset, setting, options, allow)
    return correct_leaderboards({setting: standings}, None, dataset, options)[0][setting]


def rank_analyses(
    analyses: Sequence[RunAnalysis], dataset: Dataset, setting: str, options: Options, allow: Collection[str] = ()
) -> Standings | None:
    """One setting's leaderboard of the runs of a report (:func:`rank_entrants`)."""
    entrants = [
        Entrant(
            run.source.name,
            run.source.slug,
            run.source.role,
            run.source.kind,
            run.task_runs[setting],
            run.settings[setting]["numbers"],
            run.settings[setting]["contribution"],
        )
        for run in analyses
        if setting in run.task_runs
    ]
    return rank_entrants(entrants, dataset, setting, options, allow)


def rank_entrants(
    entrants: Sequence[Entrant],
    dataset: Dataset,
    setting: str,
    options: Options,
    allow: Collection[str] = (),
    comparison: Comparison | None = None,
) -> Standings | None:
    """One setting's leaderboard, to be corrected by :func:`correct_leaderboards`; None if there is no entrant.

    Ranked are models (reference judges and supervised baselines only where there is no model) that answered at least
    :data:`siming_tasks.metrics.thresholds.COMPARABLE` of the same questions; of several sets of questions, the largest.

    ``comparison`` is that of all entrants, where it is known already.

    Returns:
        ``metric`` (orders the rows), ``rater`` (the reference), ``estimand``, ``metrics`` (columns), ``rows``
        (``name``, ``slug``, ``role``, a key of :data:`siming_tasks.report.charts.ROLES`; ``metrics`` of what was
        answered, ``imputed`` with missing answers
        as full points or "correct", ``lift``, ``note``, ``standing``, ``unranked``: why it has no rank
        though it takes part, ``apart``: under which other conditions it was made), ``folded``: runs of judges that have
        a row already, ``resampled``: what intervals are over, ``videos`` that the ranking rests on, ``comparison`` or
        ``not_compared``, and ``verdict`` (:func:`siming_tasks.report.verdict.build_verdict`).
    """
    entered = {entrant.name: entrant for entrant in entrants}
    if not entered:
        return None
    answer = TASKS[setting].answer
    metric = headline(answer)
    labels = build_reference_matrix(dataset, setting, options.rater, options.cluster)
    rows = [_run_row(entrant, metric, len(labels.video_ids)) for entrant in entered.values()]
    rows, merged = _merge_duplicate_judges(
        [*rows, *baseline_rows(dataset, setting, options, labels)], entered, dataset.physicians
    )
    models = [entrant for entrant in entered.values() if entrant.role == "model"]
    contest = models or [entered[row["name"]] for row in rows if row["slug"]]
    too_little = {name: _reason_not_ranked(entrant, metric, labels) for name, entrant in entered.items()}

    def weight(group: Sequence[TaskRun]) -> tuple[int, int, int]:
        fit = [task_run for task_run in group if not too_little[task_run.name]]
        return max((int(task_run.panel.asked.sum()) for task_run in fit), default=0), len(fit), len(group)

    together, apart = groups([entrant.task_run for entrant in contest], allow, weight) if contest else ([], {})
    first = (together or [[]])[0]
    ranked = [task_run for task_run in first if not too_little[task_run.name]]
    # Judges that are not ranked stand beside those that are, so they too must be about the same exams.
    beside = [entrant.task_run for entrant in entered.values() if entrant not in contest]
    others = {task_run.name: reason_against(task_run, first, {*allow, *CONDITIONS}) for task_run in beside}
    apart |= {name: reason for name, reason in others.items() if reason}
    for row in rows:
        conditions = apart.get(row["name"])
        row |= {"apart": conditions, "unranked": conditions or too_little.get(row["name"])}
    not_compared = None
    try:
        comparison = comparison or compare_scores(
            comparison_entries(ranked, allow), allow=allow, mapping=options.mapping, positive=options.positive,
            resamples=options.resamples, seed=options.seed,
        )  # fmt: skip
    except DataError as error:
        not_compared = next(iter(apart.values()), str(error)) if len(ranked) < 2 else str(error)
    ranked_runs = []
    for task_run in ranked:
        contribution = entered[task_run.name].contribution or {}
        shuffle_p = (contribution.get("shuffle_p") or {}).get(metric)
        ranked_runs.append(RankedRun(task_run.name, task_run.panel, shuffle_p))
    asked = ranked[0].panel if ranked else labels
    board = {
        "setting": setting,
        "rater": options.rater,
        "answer": answer,
        "metric": metric,
        "estimand": estimand_of(
            (ranked or [entrants[0].task_run])[0].panel,
            dataset,
            setting,
            options.rater,
            several=True,
        ).to_json(),
        "metrics": list(entrants[0].numbers["metrics"]),
        "not_compared": not_compared,
        "rows": rows,
        "folded": merged,
        "models": len(models),
        "resampled": resampled(entrant.numbers["options"] for entrant in entrants),
        "videos": max((len(task_run.panel.video_ids) for task_run in ranked), default=0),
        "of": len(labels.video_ids),
        "fewest": Tally.of(asked).fewest,
    }
    tests = run_tests(ranked_runs, dataset, setting, metric, options)
    return Standings(board, comparison, tests, {run.name: run.matrix for run in ranked_runs})


def _run_row(entrant: Entrant, metric: str, exams: int) -> dict[str, Any]:
    numbers = entrant.numbers
    return {
        "name": entrant.name,
        "slug": entrant.slug,
        "role": entrant.role,
        "metrics": numbers["metrics"],
        "imputed": numbers["imputed"],
        "seen": [entrant.seen, exams],
        "lift": (entrant.contribution or {}).get("lift", {}).get(metric),
        "requests": numbers["requests"],
        "note": None,
    }


def baseline_rows(dataset: Dataset, setting: str, options: Options, labels: ScoreMatrix) -> list[dict[str, Any]]:
    """The rows of the physicians and the no-video baselines, by the same code as the models' rows; none without labels.

    ``labels`` is everything that a complete run is asked, with its reference.
    """
    if not labels.counted.any():
        return []
    resampling: dict[str, Any] = {"resamples": options.resamples, "seed": options.seed}
    rows = []

    def add(name: str, role: str, metrics: Mapping[str, Estimate], note: str) -> None:
        values = plain(metrics)
        imputed = {key: item for key, item in values.items() if CATALOGUE[key].compared}  # nothing is missing here
        row = {"name": name, "slug": None, "role": role, "metrics": values, "imputed": imputed}
        rows.append({**row, "lift": None, "note": note})

    pairs = rater_pairs(dataset, setting, options.cluster)
    evidence = " (both saw the whole video)" if TASKS[setting].scope == "clip" else ""
    for pair in pairs:
        tally = Tally.of(pair.panel.sorted(), options.mapping, options.positive)
        name = f"second {dataset.people[:-1]}" if len(pairs) == 1 else f"{pair.second} against {pair.first}"
        note = f"{pair.second} judged against {pair.first}{evidence}."
        add(name, "human", estimates({"row": tally}, **resampling)["row"], note)
    scoring = {**resampling, "mapping": options.mapping, "positive": options.positive}
    for name, metrics in no_video_estimates(no_video_matrices(labels), **scoring).items():
        meaning = JUDGES[name].what
        add(name.replace("-", " "), "no_video", metrics, f"{meaning[0].upper()}{meaning[1:]}.")
    return rows


def _merge_duplicate_judges(
    rows: Sequence[dict[str, Any]], entered: Mapping[str, Entrant], physicians: Sequence[str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """One row for each judge: runs of physicians and no-video baselines leave the table, and are named with their row.

    Returns:
        The rows that stay, and those that left it with ``row``, the name of the one that stands for them (None: no row
        does, for want of a second physician), and ``why``.
    """
    baselines = {row["name"] for row in rows if row["slug"] is None}
    human = next((row["name"] for row in rows if row["role"] == "human"), None)
    kept, merged = [], []
    for row in rows:
        kind = entered[row["name"]].kind if row["slug"] else None
        if kind in physicians:
            merged.append({**row, "row": human, "why": _INFLATED})
        elif kind in _NO_VIDEO_KINDS and _NO_VIDEO_KINDS[kind] in baselines:
            why = _ROUNDED if kind == "step_prior" else "The same answers."
            merged.append({**row, "row": _NO_VIDEO_KINDS[kind], "why": why})
        else:
            kept.append(row)
    return kept, merged


def _reason_not_ranked(entrant: Entrant, metric: str, labels: ScoreMatrix) -> str | None:
    """The reason why a run has too little to be ranked; None if it can be."""
    if not labels.counted.any():
        return "the labels are withheld."
    estimate = entrant.numbers["metrics"][metric]
    if estimate["value"] is None:
        return "it answered nothing that has a label."
    if "not-comparable" in estimate["flags"]:
        exams = len(labels.video_ids)
        of = f"{entrant.seen} of {exams} exams, " if entrant.seen < exams else ""
        share = f"{100 * estimate['coverage']:.1f} % of what it was asked, less than {100 * COMPARABLE:g} %."
        return f"it answered {of}{share}"
    if estimate["undefined"] and len(entrant.task_run.panel.video_ids) > 1:
        return f"its {CATALOGUE[metric].title} is undefined."
    return None


def _add_ranks(rows: list[dict[str, Any]], comparison: Comparison, metric: str) -> None:
    """Give each compared row its rank."""
    ranks = comparison.ranks.get(metric, {})
    for row in rows:
        if row["slug"] and (name := row["name"]) in ranks:
            row["standing"] = vars(ranks[name])


def _sort_key(row: Mapping[str, Any], metric: str) -> tuple[bool, float, float, float]:
    """Order of rows of one role: by rank, then by how much was answered, then by the imputed value; unranked last."""
    value, rank = row["imputed"][metric]["value"], row.get("standing")
    answered = row["metrics"][COVERAGE]["value"] or 0.0
    return (
        bool(row["unranked"]),
        float(rank["rank"]) if rank else float("inf"),
        -answered if rank else 0.0,
        float("inf") if value is None else -CATALOGUE[metric].sign * value,
    )
