"""What the video contributed, as Markdown: one run, or several side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from siming_tasks.analysis.controls.agreement_decomposition import PARTS
from siming_tasks.analysis.controls.video_contribution import NO_VIDEO_BASELINES, VideoContribution
from siming_tasks.common.sanitize import literal
from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.report.tables.cells import key, pvalue, table

__all__ = ["markdown"]

CAPTION = (
    "prior: which steps are usually failed, needs no video; video: an overall impression; local: this step in this "
    "video. They add up to the metric. p: the predictions fit another video as well. Lift: the metric minus that of "
    "the best no-video baseline, paired."
)


def markdown(runs: Mapping[str, VideoContribution], order: Sequence[str] = ()) -> str:
    """The split with its p-value and lift for every run, then the no-video baselines.

    No-video baselines are over the steps that the first run answered; its own answers are the shuffled self.

    Args:
        runs: what the video contributed to each.
        order: of the rows (default: as given).
    """
    whose, first = next(iter(runs.items()))
    metric, runs = first.metric, {name: runs[name] for name in order or runs if name in runs}
    rows = [
        [
            literal(name),
            str(found.parts["total"]),
            *(str(found.parts[part]) for part in PARTS),
            pvalue(found.shuffle_p.get(metric)),
            f"{found.lift[metric].estimate} over {found.lift[metric].over}" if metric in found.lift else "-",
        ]
        for name, found in runs.items()
    ]
    lines = table(["run", CATALOGUE[metric].label, *PARTS, "p", "lift"], rows)
    lines += [*key(rows), "", CAPTION, ""]
    names = [name for name in first.rows["run"] if CATALOGUE[name].compared]
    rows = [[row, *(str(first.rows[row][name]) for name in names)] for row in NO_VIDEO_BASELINES]
    lines += table(["no-video baseline", *(CATALOGUE[name].label for name in names)], rows)
    lines += [*key(rows), "", "; ".join(f"{row}: {what}" for row, what in NO_VIDEO_BASELINES.items()) + "."]
    lines += ["", f"The run whose answers these are: {literal(whose)}."] if len(runs) > 1 else []
    if any(found.mismatch for found in runs.values()):
        rows = [
            [literal(name), *(str(found.mismatch[key]) for key in ("plcc", "implied", "excess"))]
            for name, found in runs.items()
        ]
        lines += ["", *table(["run", CATALOGUE["plcc"].label, "implied by the steps", "excess"], rows), ""]
        lines += ["Above 0 the totals agree more than the steps account for: an overall impression, not the steps."]
    return "\n".join(lines) + "\n"
