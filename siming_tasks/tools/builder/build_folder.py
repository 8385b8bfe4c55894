"""Rubric, table of labels and videos in, a complete dataset folder out: all of it or nothing."""

from __future__ import annotations

import csv
import datetime
import shutil
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from siming_tasks import __version__
from siming_tasks.benchmark.types import CONSENSUS
from siming_tasks.common.display import ShortRepr
from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import atomic_write, read_yaml, sha256_json
from siming_tasks.common.output_folder import check_place, make_once
from siming_tasks.common.printed_value import counted
from siming_tasks.common.sanitize import cell
from siming_tasks.data.check.label_checks import label_problems
from siming_tasks.data.consent import ANY
from siming_tasks.data.dataset import Dataset, open_dataset
from siming_tasks.data.folder_files import write_folder
from siming_tasks.data.row_schema import stated_raters
from siming_tasks.media.sound import QUIET
from siming_tasks.tools.builder.build_plan import BuildOptions, BuildPlan, Inputs, make_plan
from siming_tasks.tools.builder.event_log_sheet import UseRatings
from siming_tasks.tools.builder.label_rows import COLUMNS, VIDEO_FIELDS, LabelRow, table_of
from siming_tasks.tools.builder.source_gate import EARLY_END, loss_problem
from siming_tasks.tools.builder.template import write_adjudication
from siming_tasks.tools.builder.transcode import transcode
from siming_tasks.tools.builder.video_files import span_problems

LABELS = "labels.csv"
"""The copy of the table of labels in a data set, by its names; a public part has none."""

_NAMED = 20
"""Students and sites that are shown by name, those with most videos first."""


@dataclass(frozen=True, repr=False)
class Built(ShortRepr):
    """The new dataset, the table of original names next to it, and warnings."""

    dataset: Dataset
    names_file: Path
    warnings: tuple[Problem, ...]


def build_dataset(
    out: str | Path,
    *,
    rubric: str | Path,
    labels: str | Path | Sequence[str | Path],
    videos: str | Path,
    ratings: UseRatings | None = None,
    transcripts: str | Path | Sequence[str | Path] = (),
    names: str | Path | None = None,
    options: BuildOptions | None = None,
    jobs: int = 2,
    progress: bool = False,
    show: Callable[[BuildPlan], None] | None = None,
) -> Built:
    """Build a data set folder. ``out`` appears when all is done; until then finished videos are in a folder next to it.

    Args:
        out: the new folder. If it exists and was built from the same inputs, nothing is done.
        rubric: ``rubric.yaml``.
        labels: tables of labels, long or wide, of times, or event logs of a rating station
            (:mod:`siming_tasks.tools.builder.label_tables`); what several of them say is put together.
        videos: folder of the video files that the tables name.
        ratings: how the event log of a rating station is read (:mod:`siming_tasks.tools.builder.event_log_sheet`).
        transcripts: files of what is said (WebVTT, Whisper's JSON), each named like its video; or their folder.
        names: CSV file with the columns ``name, replacement``: names that transcripts have, exactly as written there.
        options: the rest.
        jobs: videos worked on at once.
        progress: show a bar on stderr.
        show: called with the plan before anything is written (see :func:`overview`).

    Raises:
        DataError: all findings about the inputs in ``.problems``; rows to adjudicate are also written to
            ``<out>.adjudicate.xlsx`` (no existing file is overwritten), a table to fill in and give with the others.
        RubricError: the rubric is wrong.

    Example:
        >>> from siming_tasks import build_dataset
        >>> built = build_dataset(out, rubric=exams / "rubric.yaml", labels=sheet, videos=exams / "media")
        >>> [video.video_id for video in built.dataset.videos], built.names_file.name
        (['v001'], 'out.names.csv')
    """
    out = Path(out) if Path(out).name not in ("", "..") else Path(out).resolve()
    options = options or BuildOptions()
    options = replace(options, name=options.name or out.name[:200])
    inputs = Inputs(Path(rubric), _paths(labels), Path(videos), ratings or UseRatings(), _paths(transcripts),
                    Path(names) if names else None)  # fmt: skip
    kind = "the data set of these inputs"
    check_place(out, kind, lambda folder: inputs_of(folder) is not None)
    plan, problems = make_plan(inputs, options)
    _refuse(out, plan, problems)
    if show:
        show(plan)

    def make(part: Path) -> list[Problem]:
        return _build(out, plan, part, jobs, progress)

    problems += make_once(out, kind, lambda folder: inputs_of(folder) == plan.key(), make) or ()
    dataset = open_dataset(out)
    return Built(dataset, _beside(out, "names"), (*problems, *label_problems(dataset)))


def _paths(given: str | Path | Iterable[str | Path]) -> list[Path]:
    return [Path(each) for each in ([given] if isinstance(given, str | Path) else given)]


def overview(plan: BuildPlan) -> tuple[list[str], list[list[str]], list[str]]:
    """The table of labels in short: headings and a row for each step, and what to look at; names are as written there.

    A row counts the judgments of each rater, the videos in which the step does not apply or has times, and those that
    lack it.
    """
    heads = ["step", *plan.raters, CONSENSUS, "N/A", "times", "videos without it"]
    lines, cut = [], 0
    for step in plan.rubric.steps:
        rows = [row for row in plan.rows if row.step_id == step.id]
        scored = [plan.decision.scores.get((row.video, row.step_id), {}) for row in rows]
        counts = [sum(scores.get(name) is not None for scores in scored) for name in (*plan.raters, CONSENSUS)]
        timed = [(row.end, plan.sources.get(row.video)) for row in rows if row.end is not None]
        cut += sum(end > source.duration for end, source in timed if source)
        counts += [sum(not row.applicable for row in rows), len(timed), len(plan.ids) - len(rows)]
        lines.append([step.id, *map(str, counts)])
    of_videos = {row.video: row.about for row in plan.rows}
    judged = [row for row in plan.rows if row.scores and row.applicable]
    sizes = {"video": plan.ids, "scored step": judged, "rater": plan.raters, "student": plan.students}
    notes = [", ".join(counted(len(each), noun) for noun, each in sizes.items()) + "."]
    notes += [f"The consensus is {plan.reference!r}, who is not a physician here."] if plan.reference else []
    for kind in VIDEO_FIELDS:
        videos = Counter(about[kind] for about in of_videos.values() if kind in about)
        named = [f"{name} ({count})" for name, count in videos.most_common(_NAMED)]
        more = f" and {len(videos) - _NAMED} more" if len(videos) > _NAMED else ""
        notes += [f"Videos of each {kind}: {', '.join(named)}{more}."] if videos else []
    notes += [f"{counted(cut, 'step')} ending after the video: up to half a second is cut off, more is an error."
              ] if cut else []  # fmt: skip
    return heads, lines, notes


def _refuse(out: Path, plan: BuildPlan, problems: Sequence[Problem]) -> None:
    errors = [problem for problem in problems if problem.severity == "error"]
    if plan.decision.open:
        sheet = write_adjudication(_beside(out, "adjudicate").with_suffix(".xlsx"), plan.rubric, plan.decision.open)
        rows = f"{len(plan.decision.open)} of {counted(len(plan.rows), 'row')}"
        what = f"no reference points for {rows}; listed in {sheet}."
        fix = "Fill in the points of `consensus` there and add the file as --labels."
        errors.insert(0, Problem("consensus-open", what, fix))
    if errors:
        warnings = [problem for problem in problems if problem.severity == "warning"]
        raise DataError(str(DataError.of(errors, shown=20)), [*errors, *warnings])


def inputs_of(folder: Path) -> object:
    """The digest of the inputs that a folder was built from; None for any other folder."""
    try:
        return read_yaml(folder / "dataset.yaml")["build"]["inputs"]
    except (DataError, KeyError, TypeError):
        return None


def _build(out: Path, plan: BuildPlan, part: Path, jobs: int, progress: bool) -> list[Problem]:
    """Fill the unfinished folder, and write the table of names beside ``out``; a warning for every span cut back."""
    sources = {plan.ids[name]: source.path for name, source in plan.sources.items()}
    media = transcode(sources, part, keep_audio=plan.options.keep_audio, jobs=jobs, progress=progress)
    problems = _not_whole(plan, media)
    # A string that exists nowhere else: if a model can complete it, these files were in its training data.
    # It is public, so that nothing of the labels goes into it.
    digests = {f"media/{video_id}.mp4": done["sha256"] for video_id, done in media.items()}
    canary = f"SIMING-BENCH-CANARY-{uuid.uuid5(uuid.NAMESPACE_OID, sha256_json(digests))}"
    rows, table, cut = _rows(plan, {video_id: done["duration"] for video_id, done in media.items()}, canary)
    write_folder(part, plan.rubric_file, rows, _info(plan, canary), digests)
    with atomic_write(part / LABELS) as stream:
        csv.writer(stream).writerows([COLUMNS, *([cell(value) for value in row] for row in table)])
    shutil.rmtree(part / "done")
    open_dataset(part)
    _write_names(_beside(out, "names"), plan)
    return [*problems, *cut]


def _not_whole(plan: BuildPlan, media: Mapping[str, Mapping[str, Any]]) -> list[Problem]:
    """Warnings about files of which pictures or sound are lost or damaged, or whose sound track holds nothing.

    Raises:
        DataError: more of a file is lost than the options allow.
    """
    problems: list[Problem] = []
    for name, source in plan.sources.items():
        done = media[plan.ids[name]]
        absent = {why: number for why, number in source.lost.items() if why == EARLY_END}
        loss = loss_problem(source, {**done["losses"], **absent}, plan.options.allow_loss)
        problems += [loss] if loss else []
        found = [
            (done["unheard"], "sound-damaged",
             f"silence replaces {counted(done['unheard'], 'damaged packet')} of its sound.",
             "Export it again from the source."),
            (done["loudest"] is not None and done["loudest"] <= QUIET, "sound-silent",
             "its sound track is silent.", "Use a recording with the microphone on."),
        ]  # fmt: skip
        problems += [
            Problem(code, what, fix, str(source.path), severity="warning") for so, code, what, fix in found if so
        ]
    if errors := [problem for problem in problems if problem.severity == "error"]:
        raise DataError(str(DataError.of(errors, shown=20)), problems)
    return problems


def _rows(
    plan: BuildPlan, durations: Mapping[str, float], canary: str
) -> tuple[list[dict[str, Any]], list[tuple[str, ...]], list[Problem]]:
    """The objects of ``videos.jsonl``, the copy of the table, and a warning for every span that had to be cut back."""
    if wrong := span_problems(plan.rows, {name: durations[video_id] for name, video_id in plan.ids.items()}):
        raise DataError.of(wrong, shown=20)
    order = {step.id: index for index, step in enumerate(plan.rubric.steps)}
    videos: list[dict[str, Any]] = []
    cut: list[Problem] = []
    labels: list[LabelRow] = []
    for name, video_id in plan.ids.items():
        rows = sorted((row for row in plan.rows if row.video == name), key=lambda row: order[row.step_id])
        about = {key: value for row in rows for key, value in row.about.items()}
        if "student" in about:
            about["student"] = plan.students[about["student"]]
        duration = round(durations[video_id], 6)
        steps: list[dict[str, Any]] = []
        for row in rows:
            if not row.applicable:
                steps.append({"step_id": row.step_id, "applicable": False})
                labels.append(replace(row, video=video_id, scores={}, about=about))
                continue
            end = row.end
            if end is not None and end > duration:
                what = f"end {end:g} s cut back to the video's {duration:g} s."
                cut.append(row.problem("span-cut", what, "Nothing to do.", "end", severity="warning"))
                end = duration
            points = {
                plan.raters.get(rater, rater): int(value) if value is not None and value == int(value) else value
                for rater, value in plan.decision.scores[row.video, row.step_id].items()
            }
            steps.append({"step_id": row.step_id, "start": row.start, "end": end, "score": points})
            given = {rater: float(value) for rater, value in points.items() if value is not None}
            labels.append(replace(row, video=video_id, end=end, scores=given, about=about))
        video = {"video_id": video_id, "media": f"media/{video_id}.mp4", "duration": duration}
        facts: dict[str, Any] = {key: about[key] for key in VIDEO_FIELDS if key in about}
        if name in plan.transcripts:
            said = [row for row in plan.transcripts[name] if row["start"] < duration]
            facts["transcript"] = [{**row, "end": min(row["end"], duration)} for row in said]
        videos.append({**video, **facts, "steps": steps, "canary": canary})
    return videos, table_of(labels, [*plan.raters.values(), CONSENSUS]), cut


def _info(plan: BuildPlan, canary: str) -> dict[str, Any]:
    """``dataset.yaml``, without the digests."""
    options = plan.options
    who = "student names" if options.keep_rater_names else "names of students and raters"
    kept = {*(row.about["site"] for row in plan.rows if "site" in row.about), *plan.raters.values()}
    apart = [list(pair) for pair in options.different if kept >= {*pair}]
    renamed = {f"points of {rater}": f"points of {name}" for rater, name in plan.raters.items()}
    return {
        "name": options.name,
        "version": options.version,
        "license": options.license or None,
        "simulated": {"videos": options.simulated_videos, "labels": options.simulated_labels},
        "languages": list(options.languages),
        "label_sources": {
            "raters": sorted({plan.raters.get(rater, rater) for row in plan.rows for rater in row.scores}),
            "rule": plan.raters.get(options.consensus, options.consensus),
            "consensus": {renamed.get(how, how): count for how, count in plan.decision.origins.items()},
        },
        **stated_raters(plan.rater_facts),
        "sound": options.keep_audio,
        **({"consent": {"services": ANY if ANY in options.consent else [*options.consent]}} if options.consent else {}),
        "processing": "Videos as H.264 .mp4 with a constant rate and even sides; container metadata removed, audio "
        f"{'kept' if options.keep_audio else 'removed'}; file names and {who} replaced by ids.",
        "created": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        **({"different": apart} if apart else {}),
        "build": {"tool": f"siming-tasks {__version__}", "inputs": plan.key()},
        "canary": canary,
    }


def _beside(out: Path, kind: str) -> Path:
    """Path of the private table of this kind beside a new folder: ``<out>.<kind>.csv``."""
    return out.with_name(f"{out.name}.{kind}.csv")


def _write_names(path: Path, plan: BuildPlan) -> None:
    """The table's names of videos, students and raters, and what they are called in the dataset.

    Private: it lies outside the folder, readable by its owner only.
    """
    with atomic_write(path, private=True) as stream:
        writer = csv.writer(stream)
        writer.writerow(["kind", "id", "name", "file"])
        rows = [["video", plan.ids[name], name, str(source.path)] for name, source in plan.sources.items()]
        rows += [["student", number, name, ""] for name, number in plan.students.items()]
        rows += [["rater", letter, name, ""] for name, letter in plan.raters.items() if letter != name]
        rows += [["rater", CONSENSUS, plan.reference, ""]] if plan.reference else []
        for video, speakers in plan.speakers.items():
            rows += [[f"speaker in {plan.ids[video]}", number, name, ""] for name, number in speakers.items()]
        writer.writerows([cell(value) for value in row] for row in rows)
