"""Media: one deterministic sampler, every frame decoded once, clips that begin and end where they should."""

from siming_tasks.media.alter import ALTERED, altered
from siming_tasks.media.backends import UNKNOWN, Backend, backend_of, backends
from siming_tasks.media.encoding import Encoding, Sent
from siming_tasks.media.jobs import Job, prepare
from siming_tasks.media.observe import observable_steps, unobservable_reason
from siming_tasks.media.policy import Policy
from siming_tasks.media.presets import PAPER_FRAMES, preset
from siming_tasks.media.probe import MediaInfo, probe
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
