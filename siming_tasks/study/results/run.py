"""A run: its records, what it was to ask, what is wrong with it, and its scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from siming_tasks.benchmark.metrics import Rows, ScoreMatrix
from siming_tasks.benchmark.metrics.catalogue import CATALOGUE
from siming_tasks.benchmark.metrics.evaluate import ALL, ANSWERED, RANKED
from siming_tasks.benchmark.parsing import Parsed
from siming_tasks.benchmark.record import Record
from siming_tasks.benchmark.scoring import build_score_matrix
from siming_tasks.benchmark.tasks import TASKS, setting_named
from siming_tasks.benchmark.tasks.expected_requests import expected_ids, expected_requests, record_id, steps_of
from siming_tasks.benchmark.types import CONSENSUS, UnitChoice
from siming_tasks.common.display import Card, Shown
from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.printed_value import counted, share_text
from siming_tasks.data import Dataset, as_dataset, check_reference
from siming_tasks.data.resolve import resolve_dataset
from siming_tasks.data.splits import take_part
from siming_tasks.data.withholding import refuse_unknown_rater
from siming_tasks.options import Options
from siming_tasks.study.results.discovery import RunSource, asked_ids, dataset_folder, run_at
from siming_tasks.study.results.evaluate_records import count_questions, evaluate_records, partial_text
from siming_tasks.study.results.read_predictions import Seen, load_predictions
from siming_tasks.study.words import notes

if TYPE_CHECKING:
    import pandas

DETAILS = ("evidence", "named_errors", "reasons")
"""Fields that answer formats add to the answer of a step."""


@dataclass(frozen=True, eq=False, repr=False)
class Run(Shown):
    """Answers of one judge to the questions of one data set.

    Attributes:
        source: where it comes from and how it was made.
        dataset: what it was asked about.
        records: by setting, one record per request that has one, in dataset order.
        problems: findings about its files.
        files: the files read.
        partial: only what has a record counts as asked, whatever the run says of itself.

    Example:
        >>> from siming_tasks import open_dataset, read_run
        >>> run = read_run(physician, open_dataset(exams))
        >>> matrix = run.score_matrix("full_score", rater="rater_a")
        >>> matrix.reference.shape, len(run.asked("full_score"))
        ((4, 33), 4)
    """

    source: RunSource
    dataset: Dataset
    records: Mapping[str, Sequence[Record]]
    problems: tuple[Problem, ...] = ()
    files: tuple[Path, ...] = ()
    partial: bool = False

    @property
    def name(self) -> str:
        """Name of the run in tables."""
        return self.source.name

    @property
    def card(self) -> Card:
        """Settings, answered requests and steps, and how the replies could be read."""
        rows = []
        for name in self.settings:
            records = self.records[name]
            steps, gaps = (sum(len(part) for part in parts) for parts in
                           zip(*((record.answers, record.missing) for record in records), strict=True))  # fmt: skip
            statuses = Counter(record.status for record in records)
            share = share_text(steps / (steps + gaps)) if steps + gaps else "-"
            said = ", ".join(f"{status} {count:,}" for status, count in statuses.most_common())
            rows.append((name, f"{len(records):,} of {len(self.asked(name)):,}", share, said))
        return Card(
            f"{self.name} on {self.dataset.title}",
            f"Answers to {counted(len(rows), 'setting')} about {counted(len(self.dataset.videos), 'exam')}.",
            ("setting", "requests", "steps answered", "replies"), rows,
            f"{counted(len(self.problems), 'finding')} about its files." if self.problems else "",
        )  # fmt: skip

    @cached_property
    def settings(self) -> tuple[str, ...]:
        """The settings that it has records of, in their usual order."""
        return tuple(name for name in TASKS if self.records.get(name))

    def asked(self, setting: str) -> frozenset[str]:
        """Ids of the requests of a setting that count as asked; one without a record is a missing answer."""
        setting = setting_named(setting)
        slices = self.source.slices.get(setting, ())
        have = {record.id for record in self.records.get(setting, ())} if slices or self.partial else ()
        whole = self.dataset.whole
        asked = asked_ids(setting, (whole or self.dataset).videos, have, slices=slices, partial=self.partial)
        return asked & frozenset(expected_ids(TASKS[setting], self.dataset.videos)) if whole else asked

    def score_matrix(self, setting: str, rater: str = CONSENSUS, cluster: UnitChoice = "auto") -> ScoreMatrix:
        """Reference and answers of one setting as videos × steps.

        Raises:
            OptionsError: there is no such setting.
            DataError: there is no such rater.
        """
        key = setting_named(setting), rater, cluster
        if key not in self._matrices:
            refuse_unknown_rater(self.dataset, rater)
            records, asked = self.records.get(key[0], ()), self.asked(key[0])
            made = build_score_matrix(records, self.dataset, key[0], rater, cluster=cluster, asked=asked)
            self._matrices[key] = made
        return self._matrices[key]

    @cached_property
    def _matrices(self) -> dict[tuple[str, str, UnitChoice], ScoreMatrix]:
        """Those that were built, by setting, rater and unit."""
        return {}

    def evaluate(self, setting: str, options: Options) -> dict[str, Any]:
        """Evaluate one setting (:func:`~siming_tasks.study.results.evaluate_records.evaluate_records`)."""
        return evaluate_records(
            self.records.get(setting, ()), self.dataset, options, setting, asked=self.asked(setting)
        )

    def partial_notes(self, settings: Iterable[str]) -> list[str]:
        """A sentence on each of these settings in which it was asked only some of the questions of the data set."""
        counts = {name: count_questions(name, self.dataset, self.asked(name)) for name in settings}
        return [
            f"{name}: only {part} asked; the run is not ranked with runs that were asked all."
            for name, each in counts.items()
            if (part := partial_text(each))
        ]

    def to_pandas(self, rater: str = CONSENSUS) -> pandas.DataFrame:
        """Table with one row for each step that was asked; a request without a record has status ``no_line``.

        Args:
            rater: whose judgment is the ``reference``.

        Returns:
            ``run``, ``setting``, ``video_id``, ``student``, ``site``, ``step_id``, ``skill``, ``max_score``, ``start``,
            ``end`` (s); ``answer`` and ``reference``: points or, for errors, 1.0 (incorrect) and 0.0
            (correct), missing values where there is none; ``status`` of the request and ``missing``, the reason of the
            step; ``abstained``, ``evidence``, ``named_errors`` and ``reasons``: what answer formats add;
            ``points_<rater>`` for every rater; of the input ``media_mode``, ``n_frames``, ``fps``;
            ``prompt_tokens`` and ``completion_tokens`` of the whole request.

        Example:
            >>> from siming_tasks import open_dataset, read_run
            >>> frame = read_run(physician, open_dataset(exams)).to_pandas()
            >>> len(frame), frame[frame.setting == "full_error"].answer.isin([0.0, 1.0]).all()
            (264, np.True_)
        """
        import pandas  # not at import time: slow

        refuse_unknown_rater(self.dataset, rater)

        rubric, rows = self.dataset.rubric, []
        for name in self.settings:
            spec = TASKS[name]
            have, asked = {record.id for record in self.records[name]}, self.asked(name)
            lacking = [
                Record(name, video_id, step_id, Parsed("no_line"))
                for video_id, step_id in expected_requests(spec, self.dataset.videos)
                if (request := record_id(name, video_id, step_id)) in asked and request not in have
            ]
            for record in (*self.records[name], *lacking):
                video = self.dataset.video(record.video_id)
                about = {"run": self.name, "setting": name, "video_id": video.video_id,
                         "student": video.extra.get("student"), "site": video.site}  # fmt: skip
                shown = {"media_mode": record.media.get("mode")}
                shown |= {key: record.media.get(key) for key in ("n_frames", "fps")}
                used = record.conditions.usage or {}
                shown |= {key: used.get(key) for key in ("prompt_tokens", "completion_tokens")}
                for step in steps_of(spec, video, record.step_id):
                    label, top = video.step(step), rubric.by_id[step].max_score
                    reference = label.scores.get(rater)
                    if reference is not None and spec.answer == "error":
                        reference = float(reference < top)
                    start, end = label.span or (None, None)
                    rows.append({
                        **about,
                        "step_id": step,
                        "skill": rubric.skill_of[step],
                        "max_score": top,
                        "start": start,
                        "end": end,
                        "answer": record.answers.get(step),
                        "reference": reference,
                        "status": record.status,
                        "missing": record.missing.get(step),
                        "abstained": step in record.parsed.abstained,
                        **{key: record.parsed.details.get(key, {}).get(step) for key in DETAILS},
                        **{f"points_{person}": label.scores.get(person) for person in self.dataset.raters},
                        **shown,
                    })  # fmt: skip
        frame: pandas.DataFrame = pandas.DataFrame(rows)
        return frame


def load(
    run: Run | RunSource | str | Path | Sequence[str | Path],
    data: str | Path | Dataset | None = None,
    *,
    partial: bool = False,
) -> Run:
    """Read a run, and find its data set.

    Args:
        run: a prediction file, a sample log, or a folder with the parts of a run, or several of these that are one run;
            one that is loaded stays as it is.
        data: the data set or its folder; None: that of ``SIMING_DATA`` or, where none is set, the one that the run's
            results files name. The videos need not be there.
        partial: count only the requests that have a record.

    Raises:
        DataError: the data set is not found, or :func:`read_run` refuses the run.
        OptionsError: an argument is something else.

    Example:
        >>> from siming_tasks import load
        >>> load(physician, exams).settings
        ('full_score', 'full_error')
    """
    if isinstance(run, Run):
        return run
    source = run if isinstance(run, RunSource) else run_at(run)
    if data is None:
        options = Options.from_env()
        folder = resolve_dataset(options) if options.data else dataset_folder([source])
        if folder is None:
            raise DataError(f"{run}: its data set is not stated. Give its folder (data=...), or set SIMING_DATA to it.")
        data = folder
    return read_run(source, as_dataset(data), partial=partial)


def read_run(
    source: RunSource | str | Path | Sequence[str | Path],
    dataset: Dataset | str | Path,
    *,
    partial: bool = False,
    allow: Collection[str] = (),
    seen: Seen | None = None,
    strict: bool = True,
) -> Run:
    """Read a run, and refuse what would make its numbers wrong.

    A run of one part of a split is read on that part, unless ``dataset`` is a part already: what both have then counts.

    Args:
        source: a prediction file, a sample log, a folder with the parts of a run, several of these that are one run, or
            the result of :func:`run_at`.
        dataset: what it was asked about.
        partial: count only the requests that have a record (a limited run that does not say so).
        allow: ``dataset`` accepts a run that was made on another version of the data set.
        seen: called with each record and its raw reply, as it is read.
        strict: False returns the run whatever is wrong; all is in :attr:`Run.problems`.

    Raises:
        DataError: nothing to read, a line that is not JSON, two different answers to one request, answers off the
            scale, parts that were asked otherwise, or a run of another data set; every error is in ``.problems``.

    Example:
        >>> from siming_tasks import open_dataset, read_run
        >>> run = read_run(physician, open_dataset(exams))
        >>> run.name, run.settings, len(run.records["full_score"])
        ('physician', ('full_score', 'full_error'), 4)
    """
    source = source if isinstance(source, RunSource) else run_at(source)
    dataset = as_dataset(dataset, "dataset")
    dataset = dataset if dataset.part else take_part(dataset, source.part)
    loaded = load_predictions(source.paths or source.path, dataset, seen, allow=allow)
    run, problems = Run(source, dataset, loaded.records, (), loaded.files, partial), [*loaded.problems]
    for name, present in run.records.items():
        asked, have = run.asked(name), {record.id for record in present}
        every = expected_ids(TASKS[name], dataset.videos)
        if lacking := [request.partition("/")[2] for request in every if request in asked and request not in have]:
            shown = ", ".join(lacking[:3]) + (", ..." if len(lacking) > 3 else "")
            what = f"no line for {len(lacking)} of {counted(len(asked), 'request')} ({shown}); they count as missing."
            fix = "Add them, or accept that coverage is below 100 %."
            problems.append(Problem("prediction-missing", what, fix, str(source.path), None, name, "warning"))
    if strict and (errors := [problem for problem in problems if problem.severity == "error"]):
        raise DataError.of(errors)
    return replace(run, problems=tuple(problems))


@dataclass(frozen=True, repr=False)
class Scores(Shown):
    """Result of :func:`score_run`.

    Attributes:
        dataset: with the labels.
        settings: by setting, what :func:`siming_tasks.study.results.evaluate_records.evaluate_records` returns.
        problems: findings about the prediction files.
        files: the files read.
        notes: on the settings in which the run was asked only some of the questions.
    """

    dataset: Dataset
    settings: Mapping[str, Mapping[str, Any]]
    problems: tuple[Problem, ...]
    files: tuple[Path, ...]
    notes: tuple[str, ...] = ()

    @property
    def card(self) -> Card:
        """Every metric with its interval and coverage."""
        rows = []
        for name, result in self.settings.items():
            shown = Rows.from_json(result["rows"])
            for key in shown.of(ANSWERED, ALL).names("metric"):
                table = RANKED if CATALOGUE[key].compared else ANSWERED
                found = shown.one(table, ALL, key)
                rows.append((name, key, str(found), counted(found.n, "video"), " ".join(notes(found))))
        note = " ".join(["Missing answers count as full points or “correct”.", *self.notes])
        return Card(f"Scores on {self.dataset.title}", "", ("setting", "metric", "value [95 % interval]", "of", ""),
                    rows, note)  # fmt: skip

    def rows(self, setting: str) -> Rows:
        """The numbers of one setting."""
        return Rows.from_json(self.settings[setting_named(setting)]["rows"])

    def to_pandas(self) -> pandas.DataFrame:
        """One row per number: ``setting``, and the fields of :class:`siming_tasks.benchmark.metrics.Estimate`."""
        import pandas  # not at import time: slow

        lines = [{"setting": name, **row} for name, each in self.settings.items() for row in each["rows"]]
        frame: pandas.DataFrame = pandas.DataFrame(lines)
        return frame

    def to_json(self) -> dict[str, Any]:
        """One JSON object, without NaN."""
        return {
            "dataset": self.dataset.facts,
            "synthetic": self.dataset.synthetic,
            "files": [str(file) for file in self.files],
            "settings": {name: dict(result) for name, result in self.settings.items()},
            "problems": [problem.to_json() for problem in self.problems],
        }


def score_run(run: Run | str | Path, options: Options | None = None) -> Scores:
    """Every metric of every setting of a run, as lmms-eval's aggregators compute them.

    Args:
        run: on a data set with labels (:func:`siming_tasks.data.with_labels`), or what :func:`load` reads.
        options: label mapping and reference rater.

    Raises:
        DataError: the labels are withheld, or there is no such rater.

    Example:
        >>> from siming_tasks import Options, open_dataset, read_run, score_run
        >>> scores = score_run(read_run(constant, open_dataset(exams)), Options())
        >>> scores.rows("full_score").one("answered", "all steps", "qwk").value  # a constant agrees by chance only
        0.0
    """
    options, run = Options.of(options), load(run)
    check_reference(run.dataset, options.rater)
    results = {name: run.evaluate(name, options) for name in run.records}
    return Scores(run.dataset, results, run.problems, run.files, tuple(run.partial_notes(results)))
