"""Files of a report for further use: the summary as Markdown, each leaderboard as CSV, TeX and Markdown, its figure.

All tables are :class:`siming_tasks.report.table.Table` objects built from the same rows as the pages: CSV has every
value in full precision with its state and its flags, TeX and Markdown what was answered with its marks, and the imputed
value, by which rows are ranked, where it is another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from siming_tasks.common.files import atomic_write
from siming_tasks.common.printed_value import state_of
from siming_tasks.common.sanitize import literal, one_line
from siming_tasks.metrics.catalogue import CATALOGUE, COVERAGE
from siming_tasks.metrics.thresholds import COMPARABLE
from siming_tasks.report.charts import ROLES
from siming_tasks.report.forest_plot import build_forest_plot, write_forest_plot
from siming_tasks.report.table import Cell, Column, Name, Number, Section, Table, flag_notes, to_markdown
from siming_tasks.report.tables.comparison import ABLATION_CAPTION, primary_section
from siming_tasks.report.verdict import describe_corrections, verdict_sentences
from siming_tasks.tasks import TASKS

SYNTHETIC = "SYNTHETIC data: simulated exams, labels and raters."
_KEY = (
    "A model that does not beat the best of the no-video baselines has shown nothing about the video. 0.000\\* is "
    "undefined, printed as zero; - is no data. Rows marked † are not ranked: they answered less than "
    f"{100 * COMPARABLE:g} %, or other questions; values marked ‡ are not comparable: they rest on less than that. "
    '(imputed: every missing answer as full points or "correct", by which rows are ranked.)'
)


def write_downloads(out: Path, report: Mapping[str, Any]) -> None:
    """Write ``figures/<setting>.svg|pdf`` and ``tables/<setting>.csv|tex|md`` for every setting that was run."""
    for setting, board in report["standings"].items():
        if not board:
            continue
        if figure := build_forest_plot(board):
            write_forest_plot(figure, out / "figures", setting, synthetic=report["synthetic"])
        tex = "% \\usepackage{booktabs}\n" + paper_table(board, report).to_tex() + "\n"
        synthetic: Section = [f"**{SYNTHETIC}**"] if report["synthetic"] else []
        texts = {
            "csv": values_table(board, report).to_csv(),
            "tex": (f"% {SYNTHETIC}\n" if report["synthetic"] else "") + tex,
            "md": to_markdown([f"## {TASKS[setting].title}", *synthetic, answered_table(board).explained()]),
        }
        for ending, text in texts.items():
            with atomic_write(out / "tables" / f"{setting}.{ending}") as stream:
                stream.write(text)


def summary_markdown(report: Mapping[str, Any]) -> str:
    """The report as GitHub-flavoured Markdown: a table for each setting, and what to bear in mind."""
    dataset, options = report["dataset"], report["options"]
    section: Section = [f"# {literal(report['title'])}"]
    if report["synthetic"]:
        section.append(
            "> **SYNTHETIC DATA.** Simulated exams, labels and raters: no number says anything about real exams."
        )
    over = (
        " and ".join(dict.fromkeys(board["resampled"] for board in report["standings"].values() if board)) or "videos"
    )
    section.append(
        f"{dataset['videos']} videos of {literal(dataset['name'])} {literal(dataset['version'])}, digest "
        f"`{dataset['digest'][:12]}`; {dataset['steps']} steps, rubric `{report['rubric']['id']}` "
        f"{report['rubric']['version']}; reference {literal(options['rater'])}. 95 % intervals: "
        f"{options['resamples']:,} bootstrap resamples over {over}, seed {options['seed']}."
        + (f" No person gave points: the labels are those of {dataset['machines']}." if dataset["machines"] else "")
    )
    section += primary_section(report["primary"])
    for setting, board in report["standings"].items():
        if board:
            sentences = [
                "".join(literal(text) if is_name else text for text, is_name in sentence)
                for sentence in verdict_sentences(board)
            ]
            verdict = " ".join([f"**{sentences[0]}**", *sentences[1:], describe_corrections(board)]).strip()
            section += [f"## {TASKS[setting].title}", verdict, answered_table(board)]
    section.append(_KEY)
    ablations = [
        f"- {literal(run['name'])}, {TASKS[setting].title}: {literal(ablation['sentence'])}"
        for run in report["runs"]
        for setting, ablations in run["ablations"].items()
        for ablation in ablations
    ]
    if ablations:
        section += ["## Ablations", ABLATION_CAPTION, "\n".join(ablations)]
    warnings = [f"- {literal(run['name'])}: {literal(note)}" for run in report["runs"] for note in run["warnings"]]
    if warnings:
        section += ["## Warnings", "\n".join(warnings)]
    return to_markdown(section)


def answered_table(board: Mapping[str, Any]) -> Table:
    """One leaderboard: what was answered, and the imputed value in parentheses where that is another one."""
    columns = [Column("rank"), Column("judge", "left"), *(Column(CATALOGUE[name].title) for name in board["metrics"])]
    rows = []
    for row in board["rows"]:
        rank = row.get("standing")
        cells: list[Cell] = [f"{rank['rank']} ({rank['low']}-{rank['high']})" if rank else "", _judge(row, " †")]
        rows.append([*cells, *(_cell(row, name) for name in board["metrics"])])
    return Table(columns, rows)


def paper_table(board: Mapping[str, Any], report: Mapping[str, Any]) -> Table:
    """One leaderboard for a paper: the primary metric first, with its interval, and a note on every mark and flag."""
    primary = board["metric"]
    metrics = [primary, *(name for name in board["metrics"] if name != primary)]
    columns = [Column("Rank"), Column("Judge", "left"), *(Column(CATALOGUE[name].title) for name in metrics)]
    rows, roles = [], [row["role"] for row in board["rows"]]
    for row in board["rows"]:
        cells: list[Cell] = [str(row["standing"]["rank"]) if row.get("standing") else "", _judge(row, "†")]
        rows.append([*cells, *(_cell(row, name, interval=name == primary) for name in metrics)])
    caption = f"95\\,\\% intervals over {board['resampled']}. \\dag: not ranked."
    rules = [place for place in range(1, len(roles)) if roles[place] != roles[place - 1]]
    notes = flag_notes({row["name"]: row["metrics"].values() for row in board["rows"]})
    caption = f"{SYNTHETIC} {caption}" if report["synthetic"] else caption
    return Table(columns, rows, caption, notes, rules).explained()


def values_table(board: Mapping[str, Any], report: Mapping[str, Any]) -> Table:
    """Every value of one leaderboard in full precision: answered and imputed, with interval, and the tests."""
    ends = {"": "value", "_low": "low", "_high": "high"}
    compared = [name for name in board["metrics"] if name != COVERAGE]
    labels = [
        *("data", "setting", "judge", "kind", "rank", "rank_low", "rank_high", "not_ranked", COVERAGE),
        *(f"{name}{end}" for name in compared for end in ends),
        *(f"{name}_imputed{end}" for name in compared for end in ends),
        *(f"{name}_{about}" for name in compared for about in ("state", "coverage", "flags")),
        *("from_physicians", "from_physicians_low", "from_physicians_high", "from_physicians_p_holm"),
        *("beats_no_video", "beats_no_video_p_holm"),
    ]
    data = "synthetic" if report["synthetic"] else report["dataset"]["name"]
    rows = []
    for row in board["rows"]:
        rank, verdict = row.get("standing") or {}, board["verdict"]
        physicians, no_video = verdict["humans"].get(row["name"], {}), verdict["no_video"].get(row["name"], {})
        estimates = [row[kind][name] for kind in ("metrics", "imputed") for name in compared]
        answered = [row["metrics"][name] for name in compared]
        rows.append([
            *(data, board["setting"], Name(row["name"]), row["role"], *map(rank.get, ("rank", "low", "high"))),
            *((row["unranked"] or "") if row["slug"] else "", row["metrics"][COVERAGE]["value"]),
            *(None if e["undefined"] and end == "value" else e[end] for e in estimates for end in ends.values()),
            *(item for e in answered for item in (state_of(e), e["coverage"], " ".join(e["flags"]))),
            *map(physicians.get, ("value", "low", "high", "p_holm")),
            *map(no_video.get, ("beats", "p_holm")),
        ])  # fmt: skip
    return Table.of(labels, rows)


def _judge(row: Mapping[str, Any], unranked: str) -> Name:
    """The name with its role, and a mark where a run is not ranked."""
    return Name(one_line(row["name"]) + ROLES[row["role"]].suffix + unranked * bool(row["unranked"] and row["slug"]))


def _cell(row: Mapping[str, Any], metric: str, *, interval: bool = True) -> Number:
    """A value of a row as every table of a report prints it."""
    if metric == COVERAGE:
        return Number(row["metrics"][metric]["value"], percent=True)
    return Number.of(row["metrics"][metric], row["imputed"][metric], interval=interval)
