"""Public data sets of procedures with a verdict per step, made ordinary data set folders.

One module a set reads its published annotation files; :data:`SETS` lists them. Nothing is redistributed: annotations
come from their published place, videos from the user's folder.
"""

from siming_tasks.tools.public_sets.fetch import SETS, fetch

__all__ = ["SETS", "fetch"]
