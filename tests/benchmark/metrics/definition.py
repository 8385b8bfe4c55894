"""The numbers of docs/reference/definition.md, written a second time in NumPy and SciPy alone.

``test_definition.py`` compares the package with this module, which therefore shares no code with the package. The code
is short instead of fast, and follows the sections of the page. It has the metrics, intervals, differences, step priors,
shuffled answers and the comparison with physicians; the page alone defines all else.
"""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from scipy.special import expit, logit

NOISE = 1e-9
SHARES, CORRELATIONS = ("precision", "recall", "f1"), ("plcc", "srcc")


# Data ----------------------------------------------------------------------------------------------------------------


class Judge(NamedTuple):
    """V videos with S steps. NaN in ``reference`` is no reference, and NaN in ``said`` is no answer."""

    top: Any  # points of each step, [S]
    reference: Any  # points, [V, S]
    said: Any  # points, or verdicts (1 wrong, 0 correct), [V, S]
    asked: Any  # bool, [V, S]
    verdicts: bool
    cluster: Any  # name of each video's cluster, [V]
    site: Any  # name of each video's site, [V]

    def videos(self, keep):
        """These videos only."""
        of_videos = ("reference", "said", "asked", "cluster", "site")
        return self._replace(**{name: getattr(self, name)[keep] for name in of_videos})

    @property
    def counts(self):
        """Steps that count: asked about, and with a reference."""
        return self.asked & ~np.isnan(self.reference)

    @property
    def known(self):
        """Steps that count and were answered."""
        return self.counts & ~np.isnan(self.said)


def ranked(judge):
    """The judge whose missing answers are full points, or "correct"."""
    best = 0 * judge.top if judge.verdicts else judge.top
    return judge._replace(said=np.where(judge.asked & np.isnan(judge.said), best, judge.said))


# Values --------------------------------------------------------------------------------------------------------------


def labels(points, top, cut=None):
    """Labels 0 to 3 by the mapping ``absolute``, or by one with a ``cut`` of 2/3 or 3/4."""
    minor = top - points <= 1 + NOISE if cut is None else points >= cut * top - NOISE
    return np.where(points <= NOISE, 0, np.where(points >= top - NOISE, 3, np.where(minor, 2, 1)))


def sides(judge, key, cut=None):
    """Labels (for kappa) or verdicts of the reference and of the judge, and how many kinds there are."""
    if key == "qwk":
        return labels(judge.reference, judge.top, cut), labels(judge.said, judge.top, cut), 4
    said_wrong = judge.said == 1 if judge.verdicts else judge.said < judge.top
    return (judge.reference < judge.top).astype(int), said_wrong.astype(int), 2


def table(judge, key, cut=None):
    """Counts of the known steps of all videos: rows by the reference, columns by the judge."""
    x, y, kinds = sides(judge, key, cut)
    counts = np.zeros((kinds, kinds))
    np.add.at(counts, (x[judge.known], y[judge.known]), 1)
    return counts


def ratio(above, below):
    """A quotient, undefined (NaN) if it is 0/0."""
    return above / below if below > 0 else np.nan


def of_table(t, key):
    """A metric of a table of counts."""
    if key == "qwk":
        squares = (np.arange(4)[:, None] - np.arange(4)) ** 2
        by_chance = np.outer(t.sum(axis=1), t.sum(axis=0)) / max(1, t.sum())
        return 1 - ratio((squares * t).sum(), (squares * by_chance).sum())
    (tn, fp), (fn, tp) = t
    if key == "mcc":
        return ratio(tp * tn - fp * fn, np.sqrt((tp + fp) * (tp + fn)) * np.sqrt((tn + fp) * (tn + fn)))
    return ratio(tp, {"precision": tp + fp, "recall": tp + fn, "f1": tp + (fp + fn) / 2}[key])


def totals(judge):
    """Totals of each video by the reference and by the judge; NaN: the video has none."""
    due, known = judge.counts, judge.known
    enough = known.any(axis=1) & (known.sum(axis=1) >= 0.8 * due.sum(axis=1) - NOISE)
    x, y = np.full((2, len(due)), np.nan)
    for v in np.flatnonzero(enough):
        x[v] = judge.reference[v, due[v]].sum() / judge.top[due[v]].sum()
        y[v] = judge.said[v, known[v]].sum() / judge.top[known[v]].sum()
    return x.round(9), y.round(9)


def correlation(judge, key):
    """PLCC or SRCC of the totals."""
    x, y = (total[~np.isnan(total)] for total in totals(judge))
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return np.nan
    r = (stats.pearsonr if key == "plcc" else stats.spearmanr)(x, y)[0]
    return np.sign(r) if 1 - abs(r) < 1e-12 else r


def value(judge, key):
    """A metric by its key: plcc, srcc, qwk (kappa), mcc, precision, recall or f1."""
    return correlation(judge, key) if key in CORRELATIONS else of_table(table(judge, key), key)


# Standard error and interval -----------------------------------------------------------------------------------------


class Jackknifed(NamedTuple):
    """A value, the values without each cluster, and what the interval needs."""

    value: float
    without: Any  # without each cluster, in the order of the sorted names, [C]
    cluster: Any  # name of each video's cluster, [V]
    videos: Any  # bool, videos on which the value rests, [V]
    low: float  # smallest possible value
    high: float  # largest possible value
    key: str = ""  # of the metric; empty: a difference or a mean

    @property
    def rests(self):
        """Clusters that have a video on which the value rests."""
        return np.isin(sorted(set(self.cluster)), self.cluster[self.videos])


def jackknife(judge, key, value=value):
    """A value, jackknifed by leaving out whole clusters."""
    names = sorted(set(judge.cluster))
    without = np.array([value(judge.videos(judge.cluster != name), key) for name in names])
    videos = ~np.isnan(totals(judge)[0]) if key in CORRELATIONS else judge.known.any(axis=1)
    if key in SHARES:  # videos whose own denominator is above 0
        videos = np.array([not np.isnan(value(judge.videos([v]), key)) for v in range(len(videos))])
    return Jackknifed(value(judge, key), without, judge.cluster, videos, 0 if key in SHARES else -1, 1, key)


def stderr(without):
    """The jackknife's standard error."""
    c = len(without)
    return np.sqrt((c - 1) / c * ((without - without.mean()) ** 2).sum()) if c > 1 else np.nan


def effective(j):
    """Number of effective clusters."""
    sizes = np.unique(j.cluster[j.videos], return_counts=True)[1]
    return sizes.sum() ** 2 / max(1, (sizes**2).sum())


def freedom(j):
    """Degrees of freedom of Student's t."""
    left = j.without[j.rests]
    left = np.arctanh(left.clip(-1 + 1e-15, 1 - 1e-15)) if j.key in CORRELATIONS else left
    kurtosis = stats.kurtosis(left, fisher=False)
    return min(effective(j) - 1, 2 * len(left) / max(kurtosis - 1, NOISE))


def estimate(j):
    """Value, standard error, ends of the interval, p of a difference, number of videos, number of clusters."""
    n, c, nothing = j.videos.sum(), j.rests.sum(), (np.nan, np.nan)
    if np.isnan(j.value):
        return j.value, np.nan, *nothing, np.nan, n, c
    se, p, ends, enough = stderr(j.without[j.rests]), np.nan, nothing, c >= 5 and effective(j) >= 4
    if enough and se > NOISE:
        t, p = stats.t.ppf(0.975, freedom(j)), 2 * stats.t.sf(abs(j.value) / se, freedom(j))
        ends = j.value - t * se, j.value + t * se
        if j.key in CORRELATIONS:
            ends = on_fishers_z(j, t)
        elif j.key and j.low < j.value < j.high:
            ends = on_logit(j, t * se)
        ends = max(ends[0], j.low), min(ends[1], j.high)
    elif enough and se <= NOISE and j.key in SHARES and j.value in (0, 1):
        ends = (0, 3 / c) if j.value == 0 else (1 - 3 / c, 1)
    elif enough and c >= 6 and se <= NOISE < abs(j.value):  # a difference that no cluster changes
        p = 2 / 2**c
    return j.value, se, *ends, p, n, c


def on_fishers_z(j, t):
    """Ends of the interval of a correlation; NaN if a Fisher's z is infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z, left = np.arctanh(j.value), np.arctanh(j.without[j.rests])
    if not np.isfinite([z, *left]).all():
        return np.nan, np.nan
    reach = t * max(stderr(left), 1 / np.sqrt(j.videos.sum() - 3))
    return np.tanh(z - reach), np.tanh(z + reach)


def on_logit(j, reach):
    """Ends of the interval of a value with a range: its place in the range, by the delta method on the logit."""
    width, place = j.high - j.low, (j.value - j.low) / (j.high - j.low)
    reach = reach / width / (place * (1 - place))
    return j.low + width * expit(logit(place) - reach), j.low + width * expit(logit(place) + reach)


# Differences and ranks -----------------------------------------------------------------------------------------------


def combine(parts, formula, low, high):
    """A difference or a mean of jackknifed values."""
    value, without = formula([part.value for part in parts]), formula([part.without for part in parts])
    return Jackknifed(value, without, parts[0].cluster, np.any([part.videos for part in parts], axis=0), low, high)


def minus(a, b):
    """The first value minus the second."""
    return combine([a, b], lambda of: of[0] - of[1], a.low - b.high, a.high - b.low)


def mean(parts):
    """The mean of values of one kind."""
    return parts[0] if len(parts) == 1 else combine(parts, lambda of: np.mean(of, axis=0), parts[0].low, parts[0].high)


def holm(p):
    """The p of several tests with Holm's correction."""
    adjusted, largest = np.empty(len(p)), 0.0
    for place, test in enumerate(np.argsort(p, kind="stable")):
        largest = adjusted[test] = max(largest, min(1, (len(p) - place) * p[test]))
    return adjusted


# No-video baselines --------------------------------------------------------------------------------------------------


def step_prior(judge, within_sites=False):
    """The step prior, or the one within the column of sites, for the same questions."""
    share, said = np.where(judge.counts, judge.reference / judge.top, np.nan), np.full(judge.reference.shape, np.nan)
    for v in range(len(share)):
        others, near = judge.cluster != judge.cluster[v], judge.site == judge.site[v]
        taught = share[others & near if within_sites and len(set(judge.cluster[near])) >= 3 else others]
        pool = np.sort(taught[~np.isnan(taught)])
        if len(pool):
            # a step without a label is last
            usual = [np.mean(c[~np.isnan(c)]).round(9) if (~np.isnan(c)).any() else np.inf for c in taught.T]
            middle = (np.arange(len(usual)) + 0.5) / len(usual)
            said[v, np.argsort(usual, kind="stable")] = pool[np.ceil(middle * len(pool) - NOISE).astype(int) - 1]
    said = np.where(np.isnan(said), np.nan, said < 1) if judge.verdicts else (said * judge.top).round(9)
    return ranked(judge._replace(said=said))


def shuffled(judge, key):
    """A metric of the judge's own answers, exchanged within each step and site: that of the expected table."""
    x, y, kinds = sides(judge, key)
    expected = np.zeros((kinds, kinds))
    for site in set(judge.site):
        for s in range(len(judge.top)):
            rows = judge.known[:, s] & (judge.site == site)
            margins = [np.bincount(side[rows, s], minlength=kinds) for side in (x, y)]
            expected += np.outer(*margins) / max(1, rows.sum())
    return of_table(expected, key)


# Physicians ----------------------------------------------------------------------------------------------------------


def minus_physicians(judge, points, key):
    """The judge's agreement with the physicians minus theirs with each other; ``points``: [V, S] by physician."""
    judge, of_judge, among = ranked(judge), [], []
    for a, b in combinations(sorted(points), 2):
        asked = judge.asked & ~np.isnan(points[a]) & ~np.isnan(points[b])
        if asked.any():
            said = (points[b] < judge.top).astype(float) if judge.verdicts else points[b]
            among.append(jackknife(judge._replace(asked=asked, reference=points[a], said=said), key))
            of_judge += [jackknife(judge._replace(asked=asked, reference=points[who]), key) for who in (a, b)]
    return minus(mean(of_judge), mean(among))


def claim(difference, margin=0.05):
    """The claim about a judge minus physicians."""
    value, se, _, _, p, _, _ = estimate(difference)
    if np.isnan(p):
        return "not tested"
    if se > NOISE and all(stats.t.sf((margin + side * value) / se, freedom(difference)) <= 0.05 for side in (1, -1)):
        return "as good"
    return "open" if p > 0.05 else "better" if value > 0 else "worse"
