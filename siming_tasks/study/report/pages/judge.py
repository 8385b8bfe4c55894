"""A judge's page: steps, where it disagrees, every other table about it, how its replies were read, what they cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from siming_tasks.benchmark.metrics import Rows, ScoreMatrix
from siming_tasks.benchmark.metrics.catalogue import CATALOGUE
from siming_tasks.benchmark.metrics.evaluate import ANSWERED, RANKED, READINGS
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.benchmark.types import UNKNOWN_MODE
from siming_tasks.common.files import atomic_write
from siming_tasks.common.printed_value import counted
from siming_tasks.common.sanitize import literal
from siming_tasks.data import Dataset
from siming_tasks.study.analysis.comparison import Comparison
from siming_tasks.study.analysis.physicians import physician_sentence
from siming_tasks.study.analysis.tables import TableText, table_texts
from siming_tasks.study.analysis.verdicts import answers_of
from siming_tasks.study.report.formatting import page_points, usage_line
from siming_tasks.study.report.pages.exams import difference_kind
from siming_tasks.study.report.pages.site import VERDICTS, Page, ReportContents, answer_address, neighbours
from siming_tasks.study.report.row_tables import row_table
from siming_tasks.study.report.run_analysis import RunAnalysis
from siming_tasks.study.report.standings import reference_of
from siming_tasks.study.report.table import Section, Table, to_markdown
from siming_tasks.study.results.discovery import RequestSlice
from siming_tasks.study.results.lmms_eval_commands import command_of
from siming_tasks.study.results.unread_replies import EXAMPLES, UnreadReply
from siming_tasks.study.words import named_people, say

MOST_LINKS = 12
"""Exams that a step's line leads to at most, of each kind."""
ON_PAGE = ("ablations", "sound", "minimal pairs")
"""Tables about a judge that are on its page; the others are in a file next to it."""
_METRICS = {RANKED: "Metrics", ANSWERED: "Metrics over the answered steps", READINGS: "Alternative definitions"}
_HEADS = {key: row.label for key, row in CATALOGUE.items()}
"""Titles of the tables that every evaluation has, whose lines are skills, and the heads of their columns."""
STEP_HEADS = ("missed", "false_alarms", "imperfect", "kappa", "physicians", "bias")
"""Columns of the table of steps."""


class Disagreement(NamedTuple):
    """One answer that differs from the reference: where and how."""

    video: str
    step: str
    second: float | None
    kind: str
    truth: str
    said: str


def _write(contents: ReportContents, share: int, shares: int) -> None:
    """Write every ``shares``-th run's page, beginning with the ``share``-th."""
    slugs, site = [run.source.slug for run in contents.analyses], contents.site
    reference = reference_of(contents.report["options"]["rater"])
    for place in range(share, len(contents.analyses), shares):
        run, known = contents.analyses[place], contents.report["runs"][place]
        with atomic_write(site.out / "models" / f"{run.source.slug}.md") as stream:
            stream.write(to_markdown(_file(run, contents.dataset, reference), aligned=True))
        site.page(
            f"models/{run.source.slug}.html",
            "judge.html",
            run=known,
            parts=[_setting(name, run, contents) for name in run.settings],
            facts=_facts(known, contents.report),
            command=_command(known, contents.report),
            reference=reference_of(contents.report["options"]["rater"], contents.dataset),
            **neighbours(slugs, place),
        )


def _setting(name: str, run: RunAnalysis, contents: ReportContents) -> dict[str, Any]:
    """Everything that the page says about one setting."""
    numbers, matrix, dataset = run.settings[name], run.matrices[name], contents.dataset
    reference, slug = reference_of(contents.report["options"]["rater"]), run.source.slug
    lines = _by_step(disagreements(matrix, dataset), dataset, name, slug)
    standing = contents.standings[name]
    row = next((each for each in (*standing.rows, *standing.apart_rows) if each.name == run.source.name), None)
    own = Rows.from_json(numbers["rows"])
    usage, made = numbers["usage"], standing.comparison
    return {
        "setting": name,
        "title": TASKS[name].title,
        "row": row,
        "apart": row in standing.apart_rows,
        "metric": standing.metric,
        "physicians": named_people(_beside_physicians(made, run.source.name), standing.people) if made else "",
        "steps": _steps(run.tables[name], dataset, reference, {line["id"]: f"#{name}-{line['id']}" for line in lines}),
        "by_step": lines,
        "tables": [*_tables(own, _METRICS, dataset, reference),
                   *_tables(run.tables[name], ON_PAGE, dataset, reference)],
        "labelled": bool((matrix.counted & matrix.answered).any()),
        "counts": [
            ("Replies by status ({answered:,} of {asked:,} asked)".format(**numbers["requests"]),
             [(status, f"{n:,}") for status, n in numbers["statuses"].items() if n]),
            ("Steps without an answer, by reason", [(why, f"{n:,}") for why, n in numbers["missing"].items()]),
            ("Input", _media(numbers["media"])),
        ],
        "unread": [(reply, answer_address(name, reply.video_id, slug, reply.step_id))
                   for reply in _examples(run, name)],
        "cost": usage_line(usage, len(matrix.video_ids)) if usage else "",
        "served": list(usage["served"]) if usage else [],
    }  # fmt: skip


def _beside_physicians(made: Comparison, run: str) -> str:
    """Sentences on a run compared with the physicians; empty where it is not, or answered nothing."""
    if run not in made.physicians or (answers := answers_of(made, run)).beside is None:
        return ""
    said, metric = physician_sentence(made.physicians[run], run, made.answer, made.unseen), CATALOGUE[made.headline]
    single = say("single", judge=run, metric=metric.title, single=answers.single_range)
    return f"{said} {single}" if answers.single else said


def _examples(run: RunAnalysis, name: str) -> list[UnreadReply]:
    """The first few replies of each status that were not read whole."""
    kept: dict[str, list[UnreadReply]] = {}
    for reply in run.unread:
        if reply.setting == name and len(kept.setdefault(reply.status, [])) < EXAMPLES:
            kept[reply.status].append(reply)
    return [reply for replies in kept.values() for reply in replies]


def _row_name(row: str, dataset: Dataset) -> str:
    """A skill's name, or an alternative definition in words."""
    alternative = row.replace("mapping ", "kappa labels: ").replace("positive ", "positive class: ")
    return next((skill.name for skill in dataset.rubric.skills if skill.id == row), alternative)


def disagreements(matrix: ScoreMatrix, dataset: Dataset) -> Iterator[Disagreement]:
    """Every answer that differs from the reference, by exam and step."""
    score = matrix.answer == "score"
    differs = matrix.predicted != matrix.reference if score else matrix.predicted_wrong != matrix.reference_wrong
    for v, s in np.argwhere(differs & matrix.counted & matrix.answered).tolist():
        video, step, top = matrix.video_ids[v], matrix.step_ids[s], float(matrix.max_score[s])
        true, said = float(matrix.reference[v, s]), float(matrix.predicted[v, s])
        kind = difference_kind(said, true, top, matrix.answer) or ""
        label = dataset.video(video).step(step)
        words = (page_points(true), page_points(said)) if score else (VERDICTS[true < top], VERDICTS[bool(said)])
        yield Disagreement(video, step, label.start, kind, *words)


def _by_step(wrong: Iterable[Disagreement], dataset: Dataset, setting: str, slug: str) -> list[dict[str, Any]]:
    """For each step, links to the exams in which it missed an error, and in which it invented one."""
    found: dict[str, dict[str, list[Disagreement]]] = {}
    for each in wrong:
        if each.kind in ("miss", "alarm"):
            found.setdefault(each.step, {"miss": [], "alarm": []})[each.kind].append(each)
    lines = []
    for step in dataset.rubric.steps:
        if step.id in found:
            kinds = {kind: ([(each, answer_address(setting, each.video, slug, step.id)) for each in items[:MOST_LINKS]],
                            max(0, len(items) - MOST_LINKS)) for kind, items in found[step.id].items()}  # fmt: skip
            lines.append({"id": step.id, "name": step.name, "critical": step.critical, **kinds})
    return sorted(lines, key=lambda line: [-len(found[line["id"]][kind]) for kind in ("miss", "alarm")])


def _steps(rows: Rows, dataset: Dataset, reference: str, lines: Mapping[str, str]) -> Table | None:
    """The table of steps, most errors missed first; ``lines``: by step, where its disagreements stand."""
    part = rows.of("steps")
    if not part:
        return None
    text = table_texts()["steps"]
    heads = {key: text.heads[key] for key in STEP_HEADS if key in text.heads}

    def wrongly(step: str) -> tuple[float, float]:
        values = {each.metric: each.value or 0.0 for each in part.of(row=step)}
        wrong = values.get("imperfect", 0.0)
        return wrong * values.get("missed", 0.0), (1 - wrong) * values.get("false_alarms", 0.0)

    steps = sorted(part.names("row"), key=wrongly, reverse=True)
    ordered = Rows(each for step in steps for each in part.of(row=step))
    names = {step.id: f"{step.id} {step.name}{', critical' * step.critical}" for step in dataset.rubric.steps}

    def href(row: str, metric: str) -> str:
        return lines.get(row, "") if metric in ("missed", "false_alarms") else ""

    return row_table(ordered, TableText(text.title, text.caption, heads), reference,
                     label=lambda row: names.get(row, row), href=href, coded=True)  # fmt: skip


def _tables(
    rows: Rows, names: Iterable[str], dataset: Dataset, reference: str, *, coded: bool = True
) -> list[tuple[str, Table]]:
    """Title and table of each of these tables about the judge that there is; ``coded``: for the page."""
    texts = table_texts() | {name: TableText(title, "", _HEADS) for name, title in _METRICS.items()}
    return [
        (texts[name].title, row_table(part, texts[name], reference, coded=coded,
                                      label=lambda row: _row_name(row, dataset)))
        for name in names if (part := rows.of(name))
    ]  # fmt: skip


def _file(run: RunAnalysis, dataset: Dataset, reference: str) -> Section:
    """Every other table about a judge, for the file beside its page."""
    section: Section = [f"# {literal(run.source.name)}", say("reference", rater=literal(reference))]
    section += [f"> **SYNTHETIC DATA.** {say('synthetic')}"] if dataset.synthetic else []
    for name, rows in run.tables.items():
        section.append(f"## {TASKS[name].title}")
        for title, table in _tables(rows, rows.names("table"), dataset, reference, coded=False):
            section += [f"### {title}", table]
    return section


def _media(media: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = [("not recorded" if mode == UNKNOWN_MODE else mode, counted(n, "request"))
            for mode, n in media.get("modes", {}).items()]  # fmt: skip
    rows += [(f"sent as {name}", counted(n, "request")) for name, n in media.get("encodings", {}).items()]
    for key, unit in (("n_frames", "frames each"), ("fps", "frames/s")):
        if key in media:
            low, high = media[key]["min"], media[key]["max"]
            rows.append((unit, f"{low:g}" if low == high else f"{low:g} to {high:g}"))
    if "bytes" in media:
        rows.append(("largest request", f"{media['bytes']['max'] / 1e6:.1f} MB of images"))
    return rows


_SHOWN_FACTS = ("judge", "trained", "model", "model_args", "date", "lmms_eval_version", "git_hash", "batch_size",
          "generation", "gen_kwargs", "seeds", "limit", "offset")  # fmt: skip
_UNKNOWN_VALUES = (None, "unknown@unknown")
"""Values that lmms-eval writes where it cannot tell."""


def _facts(run: Mapping[str, Any], report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Facts of how the run was made and scored, as rows of a table."""
    known, dataset = run["facts"], report["dataset"]
    rows = [("source", run["source"]), ("raw replies", f"{run['replies']:,}")]
    rows += [(key.replace("_", " "), str(known[key])) for key in _SHOWN_FACTS if known.get(key) not in _UNKNOWN_VALUES]
    if known.get("seconds"):
        rows.append(("duration", f"{known['seconds'] / 60:.1f} minutes"))
    for name, metadata in known.get("tasks", {}).items():
        rows += [(f"{name} {key}", str(value)) for key, value in metadata.items()]
    rows += [(f"prompts of {name}", value) for name, value in run["prompts"].items() if value]
    rows.append(("dataset", f"{dataset['name']} {dataset['version']}, {dataset['digest']}"))
    return [*rows, ("scored with", ", ".join(f"{key} {value}" for key, value in report["options"].items()))]


def _command(run: Mapping[str, Any], report: Mapping[str, Any]) -> str | None:
    """The command to run it again; None for what was not run here."""
    known = run["facts"]
    if not known.get("model") or not known.get("tasks"):
        return None
    limit, offset = known.get("limit"), known.get("offset")
    shard, split = (
        next((str(metadata[name]) for metadata in known["tasks"].values() if metadata.get(name)), "")
        for name in ("shard", "split")
    )
    part = RequestSlice(int(offset or 0), float(limit) if limit else None, shard=shard, split=split)
    return command_of(known, list(known["tasks"]), part, data=None if report["synthetic"] else "DATASET")


PAGE = Page(_write, shared=True)
