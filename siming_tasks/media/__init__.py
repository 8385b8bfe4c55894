"""Media: one deterministic sampler, every frame decoded once, clips that begin and end where they should."""

from siming_tasks.media.probe import MediaInfo, probe
from siming_tasks.media.sampler import SAMPLER, Budget, frame_range, matched_budget, sample_count, sample_indices
from siming_tasks.media.timeline import Timeline, read_timeline
from siming_tasks.media.view import Mode, Request, View, view

__all__ = [
    "SAMPLER",
    "Budget",
    "MediaInfo",
    "Mode",
    "Request",
    "Timeline",
    "View",
    "frame_range",
    "matched_budget",
    "probe",
    "read_timeline",
    "sample_count",
    "sample_indices",
    "view",
]
