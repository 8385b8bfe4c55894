"""Sections on several runs: estimates with ranks, paired differences, intervals over videos and steps, repeats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from siming_tasks.analysis.comparison import Comparison
from siming_tasks.analysis.variance_sources import CLAIMS, DECODING_SHARE, Repeatability
from siming_tasks.common.sanitize import literal
from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.metrics.estimate import FLAGS, Estimate
from siming_tasks.metrics.thresholds import ALPHA, POWER, TRUSTED
from siming_tasks.report.formatting import plain_number, plain_pvalue, plain_value
from siming_tasks.report.table import UNDEFINED_NOTE, Cell, Name, Section, Table

__all__ = ["comparison_section", "ranked_runs", "repeats_section", "two_way_section"]

RANKS_CAPTION = "95 % intervals over videos; in parentheses the rank and its 95 % interval."
IMPUTED_CAPTION = (
    'Every missing answer as full points ("correct"), which no run can gain from by answering less; in parentheses the '
    "rank and its 95 % interval. Ranks and tests are of these values."
)
NOT_IN_ANSWERS = (
    "✗: the lead is not one of the answers too: the run that answered no more than the other is not "
    "ahead (or not significantly) on the items that both answered. It is not called better."
)
DETECTABLE_CAPTION = (
    f"Smallest true effect that these videos would show with {100 * POWER:g} % power at the "
    f"{100 * ALPHA:g} % level; -: none that the metric can reach, or 0 is no benchmark."
)
REPEATS_CAPTION = (
    "Runs of one judge on the same videos, missing answers imputed. Decoding: what asking again changes; videos: "
    "what it would not. Runs needed: to average, so that decoding adds at most "
    f"{DECODING_SHARE:.0%} to the standard error."
)


def comparison_section(comparison: Comparison, *, joint: bool = False) -> Section:
    """Estimates with ranks, differences, detectable effects, and what each rests on.

    Args:
        comparison: of at least two runs.
        joint: print the step-down max-T p-values beside Holm's.
    """
    options = comparison.options
    facts = "".join(f", {name} {literal(value)}" for name, value in options["facts"].items())
    section: Section = [f"{len(comparison.runs)} runs over the same {comparison.n_videos} videos{facts}."]
    if options["allowed"]:
        section.append(f"**Differences between the runs that were allowed: {', '.join(options['allowed'])}.**")
    if comparison.n_videos < TRUSTED:
        section.append(f"**{FLAGS['few-videos']}**")
    section += [*_estimate_tables(comparison), *_notes(comparison), *_differences(comparison, joint=joint)]
    if comparison.detectable:
        rows = [
            [
                CATALOGUE[name].label,
                *map(plain_number, (effect.against_zero, effect.between_two, effect.corrected)),
                str(effect.pairs),
            ]
            for name, effect in comparison.detectable.items()
        ]
        head = ["metric", "one run against 0", "two runs", "two runs, Holm", "over comparisons"]
        section.append(Table.of(head, rows, caption=DETECTABLE_CAPTION))
    return section


def ranked_runs(comparison: Comparison) -> list[str]:
    """The runs by their rank in the primary metric, those without one last; equal ones as they were given."""
    ranks = comparison.ranks.get(comparison.primary, {})
    last = len(comparison.runs) + 1
    return sorted(comparison.runs, key=lambda run: ranks[run].rank if run in ranks else last)


def two_way_section(runs: Mapping[str, Mapping[str, Estimate]]) -> Section:
    """Intervals over videos and steps of several runs, with what each kind of interval claims."""
    metrics = list(next(iter(runs.values())))
    head = ["over videos and steps", *(CATALOGUE[name].label for name in metrics)]
    rows = [[Name(run), *(str(row[name]) for name in metrics)] for run, row in runs.items()]
    return [Table.of(head, rows).explained(), "\n".join(CLAIMS.values())]


def repeats_section(repeats: Mapping[str, Repeatability]) -> Section:
    """A row for each metric of runs that one judge made on the same videos."""
    rows = [
        [
            CATALOGUE[metric].label,
            ", ".join(map(plain_number, row.values)),
            *map(plain_number, (row.mean, row.decoding_sd, row.video_stderr)),
            "-" if row.runs_needed is None else str(row.runs_needed),
        ]
        for metric, row in repeats.items()
    ]
    head = ["metric", "each run", "mean", "sd between runs (decoding)", "standard error (videos)", "runs needed"]
    return [Table.of(head, rows, left=(0, 1), caption=REPEATS_CAPTION)]


def _estimate_tables(comparison: Comparison) -> Section:
    """One table of ranked estimates; where answers are missing, first what was answered, then the imputed values."""
    metrics = list(next(iter(comparison.estimates.values())))
    runs = ranked_runs(comparison)

    def table(label: str, names: Sequence[str], caption: str) -> Table:
        rows = [[Name(run), *(_ranked_cell(comparison, run, name) for name in names)] for run in runs]
        return Table.of([label, *(CATALOGUE[name].label for name in names)], rows, caption=caption)

    if comparison.complete:
        return [table("run", metrics, RANKS_CAPTION)]
    answered = [[Name(run), *(_answered_cell(comparison.estimates[run][name]) for name in metrics)] for run in runs]
    head = ["run", *(CATALOGUE[name].label for name in metrics)]
    caption = "Of what each run answered; 95 % intervals over videos."
    compared = [name for name in metrics if CATALOGUE[name].compared]
    return [
        Table.of(head, answered, caption=caption),
        table("missing answers imputed", compared, IMPUTED_CAPTION),
    ]


def _answered_cell(estimate: Estimate) -> str:
    return plain_value(estimate) if estimate.low is None else str(estimate)


def _ranked_cell(comparison: Comparison, run: str, metric: str) -> str:
    if not CATALOGUE[metric].compared:
        return plain_value(comparison.estimates[run][metric])
    estimate, rank = comparison.imputed[run][metric], comparison.ranks.get(metric, {}).get(run)
    return f"{estimate} ({rank.rank}; {rank.low}-{rank.high})" if rank else str(estimate)


def _differences(comparison: Comparison, *, joint: bool) -> Section:
    """Every paired difference with its interval and p, the primary metric first."""
    if not comparison.differences:
        return []
    head = ["metric", "a", "b", "a - b", "95 % interval", "p", "p (Holm)", *(["p (max-T)"] if joint else [])]
    head += [] if comparison.complete else ["both answered"]
    rows: list[list[Cell]] = []
    for item in sorted(comparison.differences, key=lambda item: not item.primary):
        interval = "-" if item.low is None or item.high is None else f"{item.low:+.3f} .. {item.high:+.3f}"
        row: list[Cell] = [CATALOGUE[item.metric].label, Name(item.a), Name(item.b), f"{item.value:+.3f}", interval]
        row += [plain_pvalue(item.p), plain_pvalue(item.p_holm), *([plain_pvalue(item.p_max_t)] if joint else [])]
        if not comparison.complete:
            both = "-" if item.answered is None else f"{item.answered:+.3f} (p {plain_pvalue(item.answered_p)})"
            row.append(both + ("" if item.holds else " ✗"))
        rows.append(row)
    secondary = sum(not item.primary for item in comparison.differences)
    caption = (
        f"{CATALOGUE[comparison.primary].label} is the primary metric, Holm over its {len(rows) - secondary} "
        "comparisons"
        + (f"; the others are secondary, Holm over all their {secondary}" if secondary else "")
        + ". Interval and p of a difference are the jackknife's t over videos. Judge a difference by its own row; "
        "whether the intervals of two runs overlap says nothing about it."
    )
    notes = () if comparison.complete else (NOT_IN_ANSWERS,)
    return [Table.of(head, rows, caption=caption, notes=notes)]


def _notes(comparison: Comparison) -> list[str]:
    """Undefined values, reasons and flags, a paragraph for each run that has any."""
    notes = [
        f"{literal(run)} is not compared in {CATALOGUE[name].label}: {reason}"
        for name, reasons in comparison.skipped.items()
        for run, reason in reasons.items()
    ]
    if any("tailed" in estimate.flags for row in comparison.estimates.values() for estimate in row.values()):
        notes.insert(0, FLAGS["tailed"])  # a property of the videos, so of every run
    for name, ranks in comparison.ranks.items():
        notes += [
            f"{literal(run)} is not ranked above {', '.join(map(literal, rank.tied_with))} in "
            f"{CATALOGUE[name].label}, although its imputed value is larger: "
            "it is not ahead on the items both answered."
            for run, rank in ranks.items()
            if rank.tied_with
        ]
    for run, row in comparison.estimates.items():
        metrics_by_note: dict[str, list[str]] = {}
        for name, estimate in row.items():
            for note in estimate.notes:
                if note not in (FLAGS["few-videos"], FLAGS["tailed"]):
                    metrics_by_note.setdefault(note, []).append(CATALOGUE[name].label)
        parts = [
            note if len(metrics) == len(row) else f"{', '.join(metrics)}: {note}"
            for note, metrics in metrics_by_note.items()
        ]
        notes += [f"{literal(run)}: {' '.join(parts)}"] if parts else []
    if any(estimate.undefined for row in comparison.estimates.values() for estimate in row.values()):
        notes.append(UNDEFINED_NOTE)
    coefficients = [
        f"{literal(run)} {plain_number(row['gwet_ac2'])}, {plain_number(row['krippendorff_alpha'])}"
        for run, row in (
            (run, comparison.footnote[run]) for run in ranked_runs(comparison) if run in comparison.footnote
        )
    ]
    always_correct = next(iter(comparison.footnote.values()))["gwet_ac2_of_always_correct"]
    notes.append(
        f"Footnote, chance taken otherwise (Gwet's AC2, Krippendorff's alpha): {'; '.join(coefficients)}. Calling "
        f"everything correct has an AC2 of {plain_number(always_correct)}."
    )
    return notes
