"""Sections on runs side by side: comparison, repeats, what the video contributed, and what survives each ablation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from siming_tasks.analysis.comparison import Comparison
from siming_tasks.analysis.variance_sources import DECODING_SHARE, Repeatability
from siming_tasks.analysis.video_contribution import NO_VIDEO_BASELINES, PARTS, VideoContribution
from siming_tasks.common.sanitize import literal
from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.metrics.estimate import FLAGS, Estimate
from siming_tasks.metrics.no_video_baselines import JUDGES
from siming_tasks.metrics.thresholds import ALPHA, COMPARABLE, FEWEST_CLUSTERS, POWER, TRUSTED
from siming_tasks.report.formatting import plain_difference, plain_number, plain_pvalue, plain_value
from siming_tasks.report.table import Cell, Name, Section, Table

if TYPE_CHECKING:
    from siming_tasks.analysis.input_controls import AblationResult
    from siming_tasks.analysis.sound_contribution import SoundContribution

NOT_IN_ANSWERS = (
    "✗: the lead is not one of the answers too: the run that answered no more than the other is not "
    "ahead (or not significantly) on the items that both answered, or the run that leads answered less than "
    f"{100 * COMPARABLE:g} %. It is not called better."
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
ABLATION_CAPTION = (
    "Ablations ask the same questions on altered evidence and are no benchmark rows. Kept: ablation / plain, on the "
    "steps that were answered both times, with Fieller's interval, and empty where the plain task is not above chance; "
    "1 is a judge that did not need what the ablation took away. History: the steps that depend on what went before."
)
SOUND_CAPTION = (
    "Tasks with sound or a transcript ask the same questions and are no benchmark rows. Change: with it minus pictures "
    "alone, paired, on the steps that were answered both times."
)
READS_LABELS = "This judge reads labels, not videos: no ablation can change its answers."
CONTRIBUTION_CAPTION = (
    "prior: which steps are usually failed, needs no video; video: an overall impression; local: this step in this "
    "video. They add up to the metric. p: the predictions fit another video as well. Lift: the metric minus that of "
    "the best no-video baseline, paired."
)
MISMATCH_CAPTION = "Above 0 the totals agree more than the steps account for: an overall impression, not the steps."


def labels(metrics: Iterable[str], beside: Iterable[Estimate | None] = ()) -> list[str]:
    """Labels of metrics, for the heading of a table; ``kappa (qwk), answered`` where estimates of it leave answers out.

    A metric's bare name stands for the value by which runs are ranked, in which missing answers are imputed.
    """
    some = any(e is not None and e.coverage is not None and e.coverage < 1 for e in beside)
    return [f"{CATALOGUE[name].label}{', answered' * some}" for name in metrics]


def comparison_section(comparison: Comparison) -> Section:
    """Notes, differences and detectable effects.

    Estimates and ranks stand in :func:`siming_tasks.report.tables.ranking.ranking_table`.
    """
    options = comparison.options
    facts = "".join(f", {name} {literal(value)}" for name, value in options["facts"].items())
    unit, n_clusters = options["unit"], options["n_clusters"]
    of = "" if unit == "video" else f" of {n_clusters} {unit}{'s' * (n_clusters != 1)}, which are what is resampled"
    section: Section = [f"{len(comparison.runs)} runs over the same {comparison.n_videos} videos{of}{facts}."]
    if options["allowed"]:
        section.append(f"**Differences between the runs that were allowed: {', '.join(options['allowed'])}.**")
    if n_clusters < TRUSTED:
        clusters = "too-few-clusters" if n_clusters < FEWEST_CLUSTERS else "few-clusters"
        section.append(f"**{FLAGS['few-videos' if unit == 'video' else clusters]}**")
    section += [f"**{FLAGS[f'fixed-{name}']}**" for name in options["fixed"]]
    section += _notes(comparison)
    if comparison.differences:
        section.append(_differences(comparison))
    if comparison.detectable:
        rows = [
            [
                CATALOGUE[name].label,
                *map(plain_number, (item.against_zero, item.between_two, item.corrected)),
                item.pairs,
            ]
            for name, item in comparison.detectable.items()
        ]
        head = ["metric", "one run against 0", "two runs", "two runs, Holm", "over comparisons"]
        section.append(Table.of(head, rows, caption=DETECTABLE_CAPTION))
    return section


def ranked_runs(comparison: Comparison) -> list[str]:
    """The runs by their rank in the headline metric, those without one last; equal ones as they were given."""
    ranks = comparison.ranks.get(comparison.headline, {})
    last = len(comparison.runs) + 1
    return sorted(comparison.runs, key=lambda run: ranks[run].rank if run in ranks else last)


def _notes(comparison: Comparison) -> list[str]:
    """Runs that are not compared or not ranked above others, and why; then what is never compared."""
    notes: list[str] = []
    for name, reasons in comparison.skipped.items():
        label = CATALOGUE[name].label
        notes += [f"{literal(run)} is not compared in {label}: {reason}" for run, reason in reasons.items()]
    for name, ranks in comparison.ranks.items():
        notes += [
            f"{literal(run)} is not ranked above {', '.join(map(literal, rank.tied_with))} in "
            f"{CATALOGUE[name].label}, although its imputed value is larger: "
            "it is not ahead on the items both answered."
            for run, rank in ranks.items()
            if rank.tied_with
        ]
    return notes


def _families(comparison: Comparison) -> str:
    """The families of tests in words."""
    sizes, label = comparison.families, CATALOGUE[comparison.headline].label
    over = f" over all {sizes['settings']} settings" if sizes["settings"] > 1 else ""
    those = f"{sizes['headline']} comparison{'s' * (sizes['headline'] != 1)} of ranked runs{over}"
    text = f"{label} is the headline metric: Holm over its {those}"
    if sizes["secondary"]:
        text += f"; the others are secondary and exploratory, Holm over all their {sizes['secondary']}{over}"
    return f"{text}."


def _differences(comparison: Comparison) -> Table:
    """Every paired difference with its interval and p, the headline metric first."""
    complete = comparison.complete
    head = ["metric", "a", "b", "a - b", "95 % interval", "p", "p (Holm)"]
    rows = []
    for item in sorted(comparison.differences, key=lambda item: item.metric != comparison.headline):
        interval = "-" if item.low is None or item.high is None else f"{item.low:+.3f} .. {item.high:+.3f}"
        row: list[Cell] = [CATALOGUE[item.metric].label, Name(item.a), Name(item.b), f"{item.value:+.3f}", interval]
        row += map(plain_pvalue, [item.p, item.p_holm])
        if not complete:
            both = "-" if item.answered is None else f"{item.answered:+.3f} (p {plain_pvalue(item.answered_p)})"
            row.append(both + ("" if item.holds and item.leader_answered else " ✗"))
        rows.append(row)
    caption = (
        _families(comparison)
        + f" Interval and p of a difference are the jackknife's t over {comparison.options['unit']}s. Judge a "
        "difference by its own row; whether the intervals of two runs overlap says nothing about it."
    )
    more, notes = ([], ()) if complete else (["both answered"], (NOT_IN_ANSWERS,))
    return Table.of([*head, *more], rows, caption=caption, notes=notes)


def repeats_section(repeats: Mapping[str, Repeatability]) -> Section:
    """A row for each metric of runs that one judge made on the same videos."""
    rows = [
        [
            CATALOGUE[metric].label,
            ", ".join(map(plain_number, row.values)),
            *map(plain_number, (row.mean, row.decoding_sd, row.video_stderr)),
            row.runs_needed,
        ]
        for metric, row in repeats.items()
    ]
    head = ["metric", "each run", "mean", "sd between runs (decoding)", "standard error (videos)", "runs needed"]
    return [Table.of(head, rows, left=(0, 1), caption=REPEATS_CAPTION)]


def contribution_section(runs: Mapping[str, VideoContribution], order: Sequence[str] = ()) -> Section:
    """The split of every run's metric with its p-value and lift (in this ``order``), then the no-video baselines.

    The no-video baselines are over the steps that the first run answered; the shuffled self is made of its answers.
    """
    first_name, first = next(iter(runs.items()))
    metric, ordered = first.metric, {name: runs[name] for name in order or runs if name in runs}
    rows = []
    for name, run in ordered.items():
        lift = f"{run.lift[metric].estimate} over {run.lift[metric].over}" if metric in run.lift else "-"
        parts = [run.parts[part] for part in ("total", *PARTS)]
        rows.append([Name(name), *parts, plain_pvalue(run.shuffle_p.get(metric)), lift])
    totals = [run.parts["total"] for run in ordered.values()]
    split = Table.of(["run", *labels([metric], totals), *PARTS, "p", "lift"], rows)
    metrics = [name for name in first.rows["run"] if CATALOGUE[name].compared]
    baselines = Table.of(
        ["no-video baseline", *labels(metrics, [first.parts["total"]])],
        [[row, *(first.rows[row][name] for name in metrics)] for row in NO_VIDEO_BASELINES if row in first.rows],
    )
    section: Section = [split.explained(), CONTRIBUTION_CAPTION, baselines.explained()]
    absent = {row: f"left out, {judge.absent}" for row, judge in JUDGES.items() if row not in first.rows}
    section.append("; ".join(f"{row}: {meaning}" for row, meaning in {**NO_VIDEO_BASELINES, **absent}.items()) + ".")
    if len(ordered) > 1:
        section.append(f"The run whose answers these are: {literal(first_name)}.")
    if any(run.excess_correlation for run in ordered.values()):
        excess = [
            [Name(name), *(run.excess_correlation[key] for key in ("plcc", "implied", "excess"))]
            for name, run in ordered.items()
        ]
        head = ["run", *labels(["plcc"], totals), "implied by the steps", "excess"]
        section.append(Table.of(head, excess, caption=MISMATCH_CAPTION).explained())
    return section


def ablation_section(ablations: Sequence[AblationResult], *, reads_labels: bool = False) -> Section:
    """A table and one sentence for each input ablation of one setting of one run."""
    rows = [
        [
            f"{item.ablation.name}: {item.ablation.title}",
            plain_value(item.headline.plain),
            item.headline.ablated,
            plain_difference(item.headline.change),
            item.headline.retained,
            item.history.retained if item.history else None,
            None if item.headline.ablated.coverage is None else f"{item.headline.ablated.coverage:.1%}",
        ]
        for item in ablations
        if item.headline
    ]
    section: Section = []
    if rows:
        metric = next(item.headline.metric for item in ablations if item.headline)
        plain = f"{CATALOGUE[metric].label}, plain"
        head = ["ablation", plain, "ablation", "change", "kept", "kept, history", "both answered"]
        section.append(Table.of(head, rows))
    section.append("\n".join(f"* {item.sentence}" for item in ablations))
    return [*section, *([READS_LABELS] if reads_labels else []), ABLATION_CAPTION]


def sound_section(found: Sequence[SoundContribution]) -> Section:
    """One sentence for each modality of one setting of one run, and a table by which steps need sound."""
    rows = [
        [
            item.modality.title,
            f"{part} ({item.steps[part]})",
            plain_value(effect.plain),
            effect.ablated,
            plain_difference(effect.change),
            None if effect.ablated.coverage is None else f"{effect.ablated.coverage:.1%}",
        ]
        for item in found
        for part, effect in item.effects.items()
    ]
    section: Section = ["\n".join(f"* {item.sentence}" for item in found)]
    if rows:
        metric = next(effect.metric for item in found for effect in item.effects.values())
        label = CATALOGUE[metric].label
        section.append(Table.of(["given", "steps", f"{label}, pictures", label, "change", "both answered"], rows))
    return [*section, SOUND_CAPTION]
