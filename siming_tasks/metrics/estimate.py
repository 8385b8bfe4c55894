"""An estimate is an object: a value, how sure it is, what it rests on, and why it may be undefined."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass, replace
from typing import Any

from siming_tasks.common.printed_value import fixed, marks
from siming_tasks.metrics.thresholds import COMPARABLE, FEWEST, FEWEST_CLUSTERS, THIN, TRUSTED, UNDEFINED

FLAGS: Mapping[str, str] = {
    "constant-prediction": "Every prediction is the same.",
    "constant-reference": "Every reference is the same.",
    "few-clusters": f"Fewer than {TRUSTED} clusters of videos (performances, students, sites): the interval holds the "
    "truth in about 92 to 97 % of such samples.",
    "few-videos": f"Fewer than {TRUSTED} videos: the interval is not to be trusted.",
    "fixed-performance": "Videos of one performance are taken as independent: the interval is too short.",
    "fixed-site": "The interval is of exams at these sites and says nothing of other sites.",
    "fixed-student": "Videos of one student are taken as independent: the interval is of exams of these students and "
    "says nothing of other students.",
    "no-interval": f"Fewer than {FEWEST} videos: no interval.",
    "no-variation": "Nothing varies from video to video: no interval.",
    "not-comparable": f"Rests on fewer than {100 * COMPARABLE:g} % of the asked steps (of the videos, for totals): do "
    "not compare this row with complete ones.",
    "small-n": "Fewer than three videos: a correlation over two videos is always +1 or -1.",
    "thin-step": f"Fewer than {THIN} videos in which this step is not fully correct: no interval.",
    "too-few-clusters": f"Fewer than {FEWEST_CLUSTERS} clusters of videos (performances, students, sites): no "
    "interval.",
    "undefined-replicates": f"Undefined in more than {100 * UNDEFINED:g} % of the resamples, which the interval leaves "
    "out.",
}
"""Every flag an :class:`Estimate` can carry, with the sentence to print."""


@dataclass(frozen=True)
class Estimate:
    """A metric with its uncertainty.

    Attributes:
        value: None if there is no data; 0.0 if there is data but the metric is ``undefined`` (the paper's convention).
        stderr: standard error, or None.
        low: lower end of the 95 % interval, or None; ``high`` is the upper end.
        n_videos: videos that the value rests on.
        n_items: steps that it rests on; for a correlation of totals, the videos again.
        n_clusters: independent clusters of those videos (students, sites ...), which are what is resampled; the number
            of videos where each is its own.
        undefined: the formula has no value here (0/0).
        reason: why there is no value or it is undefined, as a sentence.
        coverage: share of what was asked that the value rests on, 0..1: answered / asked steps, or for totals videos;
            None if nothing was asked.
        undefined_share: share of the resamples in which the metric was undefined; the interval leaves them out.
        flags: keys of :data:`FLAGS`.

    Raises:
        ValueError: a number is NaN or infinite; no estimate can carry one into a table or a file.

    Example:
        >>> from siming_tasks import Estimate
        >>> print(Estimate(0.5, stderr=0.1, low=0.31, high=0.68, n_videos=200, flags=("not-comparable",)))
        0.500‡ [0.310, 0.680]
        >>> print(Estimate(0.0, undefined=True, reason="All predicted totals are equal: 0/0."), Estimate(None))
        0.000* -
    """

    value: float | None
    stderr: float | None = None
    low: float | None = None
    high: float | None = None
    n_videos: int = 0
    n_items: int = 0
    undefined: bool = False
    reason: str | None = None
    coverage: float | None = None
    undefined_share: float = 0.0
    flags: tuple[str, ...] = ()
    n_clusters: int = 0

    def __post_init__(self) -> None:
        for name in ("value", "stderr", "low", "high", "coverage", "undefined_share"):
            number = getattr(self, name)
            if number is not None:
                if not math.isfinite(number):
                    raise ValueError(f"Estimate.{name} is {number}; use None for 'no value'")
                object.__setattr__(self, name, float(number) + 0.0)  # + 0.0 turns -0.0 into 0.0
        if unknown := set(self.flags) - set(FLAGS):
            raise ValueError(f"Estimate: unknown flag {sorted(unknown)[0]!r}")

    def __str__(self) -> str:
        """``0.123 [0.045, 0.201]``; ``0.000*`` if undefined, ``0.123‡`` if not comparable; ``-`` without data."""
        if self.value is None:
            return "-"
        shown = fixed(self.value) + marks(self.undefined, self.flags)
        return shown if self.low is None or self.high is None else f"{shown} [{fixed(self.low)}, {fixed(self.high)}]"

    def of_thin_step(self) -> Estimate:
        """The same without standard error and interval: those of so few videos cover the truth in 76 to 88 %."""
        if self.value is None:
            return self
        flags = {*self.flags, "thin-step"} - {"few-videos", "few-clusters", "no-variation"}
        return replace(self, stderr=None, low=None, high=None, flags=tuple(sorted(flags)))

    @property
    def notes(self) -> tuple[str, ...]:
        """The reason and the flags, as sentences to print."""
        return ((self.reason,) if self.reason else ()) + tuple(FLAGS[flag] for flag in self.flags)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; never NaN."""
        return asdict(self) | {"flags": list(self.flags)}


def plain(value: Any) -> Any:
    """``value`` with dataclasses, estimates and NumPy numbers as plain JSON types, and None for any NaN or infinity."""
    if hasattr(value, "to_json"):
        return value.to_json()
    if is_dataclass(value):
        return {name: plain(item) for name, item in vars(value).items()}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
