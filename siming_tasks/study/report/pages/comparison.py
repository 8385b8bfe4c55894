"""The comparison: settings as tabs, each with what the tests say, the figure, the one table and the other metrics."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup, escape

from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.common.printed_value import counted, p_text
from siming_tasks.common.sanitize import visible
from siming_tasks.study.report.answer_lines import answer_lines
from siming_tasks.study.report.exports import answered, better_text, metrics_table
from siming_tasks.study.report.figure import forest_plot
from siming_tasks.study.report.formatting import shortened
from siming_tasks.study.report.pages.site import Page, ReportContents
from siming_tasks.study.report.row_tables import number
from siming_tasks.study.report.standings import Standing, reference_of
from siming_tasks.study.report.table import Name, Number, Table, limit_codes


def _write(contents: ReportContents, share: int, shares: int) -> None:
    """Write ``index.html``."""
    site, dataset = contents.site, contents.dataset
    parts = [setting_values(standing) for standing in contents.standings.values()]
    warnings = [(run["name"], run["slug"], note) for run in contents.report["runs"] for note in run["warnings"]]
    site.page("index.html", "comparison.html", parts=parts, runs=len(contents.analyses), warnings=warnings,
              reference=reference_of(contents.report["options"]["rater"], dataset), answered=answered,
              better_text=better_text)  # fmt: skip


def setting_values(standing: Standing) -> dict[str, Any]:
    """Everything that one tab shows."""
    made, figure = standing.comparison, forest_plot(standing)
    rows, pairs = standing.rows, _pairs(standing)
    further = replace(metrics_table(standing), notes=()) if made else None
    printed: list[Sequence[Any]] = [[number(each) for each in (row.value, row.physicians, row.minus, row.over)]
                                    for row in (*rows, *standing.apart_rows)]  # fmt: skip
    printed += [row for each in (further, pairs) if each for row in each.rows]
    found = next((row.value for row in rows if row.value and row.value.low is not None), None)
    return {
        "setting": standing.setting,
        "title": TASKS[standing.setting].title,
        "answers": [[_isolated(text, standing) for text in line] for line in answer_lines(standing)],
        "metric": standing.metric,
        "figure": figure.page() if figure else None,
        "rows": rows,
        "apart": standing.apart_rows,
        "limits": limit_codes(cell for row in printed for cell in row if isinstance(cell, Number)),
        "humans": any(row.physicians for row in rows),
        "further": further,
        "pairs": pairs,
        "tests": counted(made.tests if made else 0, "test"),
        "detectable": made.detectable_sentence if made else "",
        "clusters": counted(found.clusters, found.unit) if found else None,
    }


def _isolated(sentence: str, standing: Standing) -> Markup:
    """A sentence in which every run's name is isolated from the text around it, and a long one has no middle."""
    names = "|".join(re.escape(name) for name in sorted(standing.entrants, key=len, reverse=True))
    parts = re.split(rf"(?<!\w)({names})(?!\w)", sentence)
    form = Markup("<bdi>{}</bdi>")
    return Markup("").join(
        form.format(shortened(visible(part), 44)) if place % 2 else escape(visible(part))
        for place, part in enumerate(parts)
    )


def _pairs(standing: Standing) -> Table | None:
    """Differences of the judges in the headline metric, with what the tests say."""
    made = standing.comparison
    if made is None or not made.pairs:
        return None
    lines = []
    for pair in made.pairs:
        p = Name("–" if pair.estimate.p_holm is None else p_text(pair.estimate.p_holm))
        said = f"{pair.better} is better" if pair.better else pair.state + (f": {pair.why}" if pair.why else "")
        lines.append([Name(pair.a), Name(pair.b), number(pair.estimate, signed=True), p, Name(said)])
    return Table(["Judge", "minus", standing.metric, "p (Holm)", ""], lines, left=(0, 1, 4))


PAGE = Page(_write, "Comparison", "index.html", place=0)
