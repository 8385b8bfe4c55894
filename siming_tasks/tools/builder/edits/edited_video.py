"""The frames of an edited recording, when it shows them, and where its steps are then."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.schema import Video
from siming_tasks.media import Timeline, frame_range
from siming_tasks.media.clips import write_sequence
from siming_tasks.tools.builder.edits.edited_labels import Edit

__all__ = ["Film", "film_of"]


@dataclass(frozen=True, eq=False)
class Film:
    """A recording made of another's frames.

    Attributes:
        shown: the source's frames in the order in which they are shown, int64[N].
        slots: whose length each of them has, int64[N]: another one's only where the picture stands still.
        pts: when each is shown, in the source's time base, int64[N].
        spans: by step, (start, end) in seconds; a step that is not shown is absent.
        duration: seconds.
    """

    shown: NDArray[np.int64]
    slots: NDArray[np.int64]
    pts: NDArray[np.int64]
    spans: dict[str, tuple[float, float]]
    duration: float

    def write(self, source: Path, timeline: Timeline, target: Path) -> None:
        """Encode it; untouched and edited films in the same way."""
        write_sequence(source, timeline, self.shown.tolist(), self.pts, target)


def film_of(video: Video, timeline: Timeline, edit: Edit | None) -> Film:
    """The film of an edit; of None the untouched copy.

    Raises:
        MediaError: a span lies beyond the video.
    """
    bounds = {step.step_id: frame_range(timeline.times, *step.span) for step in video.steps if step.span}
    slots = np.arange(timeline.n_frames)
    shown = slots.copy()
    if edit is not None:
        first, last = bounds[edit.step]
        if edit.operation == "drop":
            shown = slots = np.delete(slots, slice(first, last + 1))
        elif edit.operation == "freeze":
            shown[first : last + 1] = first
        else:
            begin, end = bounds[edit.before]
            between = np.arange(end + 1, first)
            order = [np.arange(begin), np.arange(first, last + 1), between, np.arange(begin, end + 1)]
            shown = slots = np.concatenate([*order, np.arange(last + 1, timeline.n_frames)])
    lengths = np.diff(timeline.pts, append=timeline.pts[-1] + _last(timeline))
    ends = np.cumsum(lengths[slots])
    pts = ends - lengths[slots]
    place = {int(slot): at for at, slot in enumerate(slots)}
    base = float(timeline.time_base)
    spans = {
        step: (round(float(pts[place[first]]) * base, 6), round(float(ends[place[last]]) * base, 6))
        for step, (first, last) in bounds.items()
        if first in place and last in place
    }
    return Film(shown, slots, pts, spans, round(float(ends[-1]) * base, 6))


def _last(timeline: Timeline) -> int:
    """Seconds for which the last frame is shown: one mean period, as everywhere."""
    return max(1, round(float(1 / timeline.rate / timeline.time_base)))
