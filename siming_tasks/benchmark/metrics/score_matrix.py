"""The common input of every metric: reference and prediction of all steps of all videos, as arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siming_tasks.benchmark.types import UNITS, Answer, Unit
from siming_tasks.common.display import ShortRepr
from siming_tasks.common.errors import DataError
from siming_tasks.common.printed_value import counted

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
_ARRAYS, _TIMES = ("reference", "predicted", "asked"), ("spans", "durations")


@dataclass(frozen=True, eq=False, repr=False)
class ScoreMatrix(ShortRepr):
    """Reference and predicted judgments of V videos with S steps, and which of them were asked for.

    Attributes:
        video_ids: V unique names.
        step_ids: S unique names.
        skills: the skill of each step, S names.
        max_score: points of each step, ``float[S]``, above 0.
        reference: points, ``float[V, S]``; NaN is a label that is withheld or does not apply, and never counts.
        predicted: ``float[V, S]``; points for ``answer="score"``; 1.0 (wrong) or 0.0 (correct) for ``answer="error"``.
            NaN where ``asked`` is a missing answer; it lowers the coverage and is never filled in.
        asked: ``bool[V, S]``; False is a step that was not asked about. A prediction there is ignored.
        answer: ``"score"`` or ``"error"``.
        spans: start and end of each step in seconds, ``float[V, S, 2]``, for the judge that knows the clock alone; NaN
            where unknown or where the setting does not show them. None: unknown.
        durations: of each video in seconds, ``float[V]``; None: unknown.
        sites: the site of each video, V names; empty where none is stated. No-video baselines know it too.
        columns: what else the data state of each video (year, examiner, student), V values by the column's name; empty
            where one states nothing. No-video baselines know these too.
        clusters: the name of each video's cluster, V names; the videos' own ids where the unit is the video. Videos of
            one cluster share a performance, a student or a site and are not independent: they are left out together.
        unit: what a cluster is: ``"video"``, ``"performance"``, ``"student"`` or ``"site"``.
        fixed: larger units in the data that are too few to be left out: results are then only about these sites
            (students, performances).

    The arrays are copied and read-only.

    Raises:
        DataError: shapes or names do not fit, a value is infinite, or points are off their step's scale.

    Example:
        >>> import numpy as np
        >>> from siming_tasks import ScoreMatrix
        >>> panel = ScoreMatrix(
        ...     video_ids=("v1",), step_ids=("s1", "s2"), skills=("cpr", "cpr"), max_score=[2, 5],
        ...     reference=[[2, np.nan]], predicted=[[1, 4]], asked=[[True, True]], answer="score",
        ... )
        >>> panel.counted.tolist(), panel.predicted_wrong.tolist()
        ([[True, False]], [[True, True]])
    """

    video_ids: tuple[str, ...]
    step_ids: tuple[str, ...]
    skills: tuple[str, ...]
    max_score: FloatArray
    reference: FloatArray
    predicted: FloatArray
    asked: BoolArray
    answer: Answer
    spans: FloatArray | None = None
    durations: FloatArray | None = None
    sites: tuple[str, ...] = ()
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    clusters: tuple[str, ...] = ()
    unit: Unit = "video"
    fixed: tuple[Unit, ...] = ()

    def __post_init__(self) -> None:
        for name in ("video_ids", "step_ids", "skills", "clusters", "sites"):
            object.__setattr__(self, name, tuple(map(str, getattr(self, name))))
        if self.unit == "video":
            if len(set(self.clusters)) < len(self.clusters):
                raise DataError("ScoreMatrix: two videos are in one cluster, and the unit is 'video'. Name the unit.")
            object.__setattr__(self, "clusters", self.video_ids)
        for name in ("max_score", *_ARRAYS, *_TIMES):
            if getattr(self, name) is None:
                continue
            try:
                array = np.array(getattr(self, name), dtype=np.bool_ if name == "asked" else np.float64)
            except (TypeError, ValueError) as error:
                raise DataError(f"ScoreMatrix: not an array of numbers: {error}.") from None
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        self._check_shapes()
        self._check_values()

    def _check_shapes(self) -> None:
        if self.answer not in ("score", "error"):
            raise DataError(f"ScoreMatrix: answer is {self.answer!r}; it must be 'score' or 'error'.")
        for kind, names in (("video", self.video_ids), ("step", self.step_ids)):
            if twice := [name for name, count in Counter(names).items() if count > 1]:
                raise DataError(f"ScoreMatrix: {kind} {twice[0]!r} appears twice. Keep one row for each {kind}.")
        if len(self.skills) != len(self.step_ids):
            many = f"{counted(len(self.skills), 'skill')} for {counted(len(self.step_ids), 'step')}"
            raise DataError(f"ScoreMatrix: {many}; give one for each step.")
        if unknown := [name for name in (self.unit, *self.fixed) if name not in UNITS]:
            raise DataError(f"ScoreMatrix: no unit {unknown[0]!r}; it must be one of {', '.join(UNITS)}.")
        if len(self.clusters) != len(self.video_ids):
            many = f"{counted(len(self.clusters), 'cluster')} for {counted(len(self.video_ids), 'video')}"
            raise DataError(f"ScoreMatrix: {many}; give the name of one for each video.")
        for name, values in {"sites": self.sites, **self.columns}.items():
            if len(values) not in (0, len(self.video_ids)):
                many = f"{len(values)} {name} for {counted(len(self.video_ids), 'video')}"
                raise DataError(f"ScoreMatrix: {many}; give all or none.")
        v, s = len(self.video_ids), len(self.step_ids)
        shapes = {"max_score": (s,), **dict.fromkeys(_ARRAYS, (v, s)), "spans": (v, s, 2), "durations": (v,)}
        for name, shape in shapes.items():
            array = getattr(self, name)
            if array is not None and array.shape != shape:
                raise DataError(f"ScoreMatrix: {name} has shape {array.shape}, not {shape} (videos, steps).")

    def _check_values(self) -> None:
        if not (np.isfinite(self.max_score) & (self.max_score > 0)).all():
            raise DataError("ScoreMatrix: every max_score must be a finite number above 0.")
        top = self.max_score if self.answer == "score" else np.ones_like(self.max_score)
        for name, values, limit in (("reference", self.reference, self.max_score), ("predicted", self.predicted, top)):
            bad = ~np.isnan(values) & ~((values >= 0) & (values <= limit))
            if name != "reference" and self.answer == "error":
                bad |= ~np.isnan(values) & (values != 0) & (values != 1)
            if bad.any():
                v, s = np.argwhere(bad)[0]
                is_points = name == "reference" or self.answer == "score"
                scale = f"0..{limit[s]:g}" if is_points else "0 (correct) or 1 (wrong)"
                raise DataError(
                    f"ScoreMatrix: {name} of video {self.video_ids[v]!r}, step {self.step_ids[s]!r} is "
                    f"{values[v, s]:g}, not {scale}. An answer off the scale is a missing answer: use NaN."
                )

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(set(self.clusters))

    @property
    def counted(self) -> BoolArray:
        """Steps that were asked about and have a reference, ``bool[V, S]``."""
        return self.asked & ~np.isnan(self.reference)

    @property
    def answered(self) -> BoolArray:
        """Steps that were asked about and answered, ``bool[V, S]``, with or without a reference."""
        return self.asked & ~np.isnan(self.predicted)

    @property
    def answered_share(self) -> float:
        """Share of the counted steps that are answered; 1.0 where none is counted."""
        counted = self.counted
        return float(self.answered[counted].mean()) if counted.any() else 1.0

    @property
    def reference_wrong(self) -> BoolArray:
        """Steps whose reference is less than full points, ``bool[V, S]``; False where there is no reference."""
        return np.less(self.reference, self.max_score)

    @property
    def predicted_wrong(self) -> BoolArray:
        """Steps judged less than fully correct, ``bool[V, S]``; False where there is no prediction."""
        return np.less(self.predicted, self.max_score) if self.answer == "score" else np.equal(self.predicted, 1)

    def sorted(self) -> ScoreMatrix:
        """The same matrix with the videos in the order of their ids; no result depends on the order of rows."""
        return self.videos(sorted(range(len(self.video_ids)), key=self.video_ids.__getitem__))

    def videos(self, rows: Sequence[int] | IntArray | BoolArray) -> ScoreMatrix:
        """The videos at these positions (or where a mask is True), in this order."""
        index = np.arange(len(self.video_ids))[np.asarray(rows, dtype=None if len(rows) else np.intp)]
        kept: dict[str, Any] = {
            name: value[index] for name in (*_ARRAYS, *_TIMES) if (value := getattr(self, name)) is not None
        }
        kept |= {
            name: tuple(side[i] for i in index)
            for name in ("video_ids", "clusters", "sites")
            if (side := getattr(self, name))
        }
        columns = {name: tuple(side[i] for i in index) for name, side in self.columns.items()}
        return replace(self, columns=columns, **kept)

    def subset(self, steps: Iterable[str]) -> ScoreMatrix:
        """These steps only, in this order; DataError for a step that the panel lacks."""
        position = {name: index for index, name in enumerate(self.step_ids)}
        names = tuple(steps)
        if unknown := [name for name in names if name not in position]:
            raise DataError(f"ScoreMatrix: no step {unknown[0]!r}. It has {', '.join(self.step_ids)}.")
        index = np.array([position[name] for name in names], dtype=np.intp)
        kept: dict[str, Any] = {name: getattr(self, name)[:, index] for name in _ARRAYS}
        kept |= {"spans": self.spans[:, index]} if self.spans is not None else {}
        skills = tuple(self.skills[i] for i in index)
        return replace(self, step_ids=names, skills=skills, max_score=self.max_score[index], **kept)

    def skill(self, name: str) -> ScoreMatrix:
        """The steps of one skill; DataError for one that the panel lacks."""
        if name not in self.skills:
            raise DataError(f"ScoreMatrix: no skill {name!r}. It has {', '.join(dict.fromkeys(self.skills))}.")
        return self.subset(step for step, skill in zip(self.step_ids, self.skills, strict=True) if skill == name)

    def imputed(self) -> ScoreMatrix:
        """The same with every missing answer as full points, or as the verdict "correct"; itself if none is missing.

        Ranks and tests use it, for abstentions too. A judge can say "correct" whenever it is unsure, so leaving an
        answer out must not earn more than that; as the commonest label by far it is also the guess that costs an honest
        judge least.
        """
        missing = self.asked & np.isnan(self.predicted)
        best = np.broadcast_to(self.max_score if self.answer == "score" else 0.0, missing.shape)
        return self.predicting(np.where(missing, best, self.predicted)) if missing.any() else self

    def predicting(self, predicted: FloatArray) -> ScoreMatrix:
        """The same questions with other answers (a baseline, another rater)."""
        return replace(self, predicted=predicted)
