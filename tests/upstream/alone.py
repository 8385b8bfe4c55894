"""Run a module with arguments (``pytest ...``, ``lmms_eval ...``) beside which our own entry points are hidden."""

import runpy
import sys
from importlib.metadata import Distribution, EntryPoints

OF_ANY: property = Distribution.entry_points  # type: ignore[assignment]


def of_others(distribution: Distribution) -> EntryPoints:
    entries: EntryPoints = OF_ANY.__get__(distribution)
    return EntryPoints(point for point in entries if not point.value.startswith("siming_tasks"))


if __name__ == "__main__":
    Distribution.entry_points = property(of_others)  # type: ignore[assignment]
    module, *sys.argv[1:] = sys.argv[1:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
