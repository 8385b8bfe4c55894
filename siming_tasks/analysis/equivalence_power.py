"""Sample size of the equivalence of judge and physicians (two one-sided tests), by simulation of three raters.

With a judge that truly agrees as a physician does, both one-sided tests reject with power ``1 - b`` in ``n`` videos
where ``margin = (z(1 - alpha) + z(1 - b / 2)) * sd / sqrt(n)`` (Chow, Shao, Wang & Lokhnygina 2017, chapter 3): ``sd``
is that of the difference in agreement in one video, taken from the spread over simulated data sets.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np
from scipy import stats

from siming_tasks.analysis.design_effect import DesignEffect
from siming_tasks.analysis.power import PILOT, PowerSettings, StudyDesign, draw, score
from siming_tasks.common.errors import DataError

_BATCH = 100  # data sets held at once


@dataclass(frozen=True)
class EquivalenceSize:
    """Videos that show the equivalence of a judge that is a physician's equal.

    Attributes:
        metric: key of the metric; ``margin``: difference in it that counts as none.
        spread: standard error of the difference in :data:`siming_tasks.analysis.power.PILOT` independent videos.
        videos: needed with two physicians, times the design effect.
    """

    metric: str
    margin: float
    spread: float
    videos: int

    def to_json(self) -> dict[str, object]:
        """Plain JSON types."""
        return asdict(self)


def equivalence_size(
    design: StudyDesign,
    margin: float,
    *,
    rng: np.random.Generator,
    metric: str = "qwk",
    test: PowerSettings | None = None,
    clustering: DesignEffect | None = None,
    replicates: int = 500,
) -> EquivalenceSize:
    """Videos for the equivalence of a judge and two physicians within a margin.

    Raises:
        DataError: the margin is not above 0.

    Example:
        >>> equivalence_size(StudyDesign(), 0.05, rng=np.random.default_rng(0), replicates=100).videos
        57
    """
    if not margin > 0:
        raise DataError(f"the margin is {margin:g}; give a difference in agreement, above 0.")
    test = test or PowerSettings()
    gaps = []
    for start in range(0, replicates, _BATCH):
        # three raters with the same latent reliability: the reference's, a second physician and the judge
        sample = draw(design, PILOT, min(_BATCH, replicates - start), rng, judges=2)
        second, judge = (sample.judged(math.sqrt(design.reliability), number) for number in (0, 1))
        first = sample.reference
        beside = (score(first, judge, metric) + score(second, judge, metric)) / 2
        gaps.append(beside - score(first, second, metric))
    spread = float(np.concatenate(gaps).std(ddof=1))
    _, videos = (clustering or DesignEffect()).needed(videos_for_margin(spread * math.sqrt(PILOT), margin, test))
    return EquivalenceSize(metric, margin, spread, videos)


def videos_for_margin(sd: float, margin: float, test: PowerSettings) -> float:
    """Independent videos at which both one-sided tests reject with the wanted power if the true difference is 0.

    ``sd`` is that of the difference in one video.

    Example:
        >>> round(videos_for_margin(0.10, 0.05, PowerSettings()), 1)
        34.3
    """
    reach = float(stats.norm.isf(test.alpha) + stats.norm.ppf(1 - (1 - test.power) / 2))
    return (reach * sd / margin) ** 2
