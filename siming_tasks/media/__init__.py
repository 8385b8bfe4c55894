"""Media: one deterministic sampler, every frame decoded once, clips that begin and end where they should.

The names below are imported when they are first used (PEP 562): planning needs neither Pillow nor the frame store. No
module here has the name of one of them, which would take its place.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from siming_tasks.media.alter import ALTERED, altered
    from siming_tasks.media.backend import UNKNOWN, Backend, backend_of, backends
    from siming_tasks.media.encoding import Encoding, Sent
    from siming_tasks.media.info import MediaInfo, probe
    from siming_tasks.media.jobs import Job, prepare
    from siming_tasks.media.observe import observable_steps, unobservable_reason
    from siming_tasks.media.policy import Policy
    from siming_tasks.media.presets import PAPER_FRAMES, preset
    from siming_tasks.media.sampler import SAMPLER, Budget, frame_range, matched_budget, sample_count, sample_indices
    from siming_tasks.media.signal import SAMPLERS, Signal
    from siming_tasks.media.store import FrameStore
    from siming_tasks.media.stored_image import StoredImage
    from siming_tasks.media.timeline import Timeline, read_timeline
    from siming_tasks.media.views import Mode, Request, View, view

__all__ = [
    "ALTERED",
    "PAPER_FRAMES",
    "SAMPLER",
    "SAMPLERS",
    "UNKNOWN",
    "Backend",
    "Budget",
    "Encoding",
    "FrameStore",
    "Job",
    "MediaInfo",
    "Mode",
    "Policy",
    "Request",
    "Sent",
    "Signal",
    "StoredImage",
    "Timeline",
    "View",
    "altered",
    "backend_of",
    "backends",
    "frame_range",
    "matched_budget",
    "observable_steps",
    "prepare",
    "preset",
    "probe",
    "read_timeline",
    "sample_count",
    "sample_indices",
    "unobservable_reason",
    "view",
]

_HOME = {
    **dict.fromkeys(("ALTERED", "altered"), "alter"),
    **dict.fromkeys(("UNKNOWN", "Backend", "backend_of", "backends"), "backend"),
    **dict.fromkeys(("Encoding", "Sent"), "encoding"),
    **dict.fromkeys(("MediaInfo", "probe"), "info"),
    **dict.fromkeys(("Job", "prepare"), "jobs"),
    **dict.fromkeys(("observable_steps", "unobservable_reason"), "observe"),
    "Policy": "policy",
    **dict.fromkeys(("PAPER_FRAMES", "preset"), "presets"),
    **dict.fromkeys(("SAMPLER", "Budget", "frame_range"), "sampler"),
    **dict.fromkeys(("matched_budget", "sample_count", "sample_indices"), "sampler"),
    **dict.fromkeys(("SAMPLERS", "Signal"), "signal"),
    "FrameStore": "store",
    "StoredImage": "stored_image",
    **dict.fromkeys(("Timeline", "read_timeline"), "timeline"),
    **dict.fromkeys(("Mode", "Request", "View", "view"), "views"),
}
"""The module in which each public name lives."""


def __getattr__(name: str) -> Any:
    """A public name, imported now and kept: this is not asked for it again."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    return found


def __dir__() -> list[str]:
    return [*__all__]
