"""The limits that decide what is marked, left out or called significant; each stands here and nowhere else."""

from __future__ import annotations

from statistics import NormalDist  # SciPy has it too, and takes a second to import

LEVEL = 0.95
"""Nominal coverage of every interval."""
Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
"""Standard errors on either side of a normal interval at :data:`LEVEL`."""
ALPHA = 0.05
"""Level of every test of a difference, after its correction."""
POWER = 0.8
"""Power at which an effect is called detectable."""
TRUSTED = 50
"""Videos below which an interval is marked as not to be trusted."""
FEWEST = 10
"""Videos below which there is no interval and no test at all."""
FEWEST_CLUSTERS = 5
"""The same for clusters of several videos, which have Student's t below :data:`FEWEST`; fewer sites are not resampled,
so that results are of these sites alone."""
NOISE = 1e-9
"""A standard error below this is rounding: nothing varies."""
COMPARABLE = 0.95
"""Coverage below which a row is marked "not comparable"."""
MIN_ANSWERED = 0.8
"""A video with a smaller share of its steps answered leaves the correlations."""
SMALL_N = 3
"""Videos below which a correlation says nothing: over two it is always +1 or -1."""
UNDEFINED = 0.01
"""Share of undefined resamples above which an interval is marked."""
THIN = 10
"""Videos in which a step is not fully correct, below which its own kappa says next to nothing."""
