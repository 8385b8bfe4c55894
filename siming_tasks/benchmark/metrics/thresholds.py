"""The limits that decide what is left out, marked or called significant; each is defined only here."""

from __future__ import annotations

LEVEL = 0.95
"""Nominal coverage of every interval."""
ALPHA = 0.05
"""Level of every test, after its correction."""
POWER = 0.8
"""Power at which an effect is called detectable."""
FEWEST = 5
"""Clusters below which there is neither an interval nor a test; a larger unit of which there are fewer is fixed."""
FEWEST_EFFECTIVE = 4
"""The same of effective clusters: clusters of n videos each count as (sum of n) squared / sum of n squared."""
FEW_VIDEOS, FEW_CLUSTERS, FEW_ERRORS = 20, 7, 20
"""Videos, effective clusters, and steps that are wrong in the reference, below which a number is marked as of few."""
FEWEST_ALIKE = 6
"""Clusters below which a difference that is the same without any of them is not tested: 2 / 2**6 is below .05."""
NOISE = 1e-9
"""A standard error below this is rounding: nothing varies."""
COMPARABLE = 0.95
"""Share of answered steps below which a run is neither ranked nor tested."""
MIN_ANSWERED = 0.8
"""Share of the answered steps of a video below which it has no total."""
MARGIN = 0.05
"""Difference of two agreements that counts as none, unless a study states another."""
