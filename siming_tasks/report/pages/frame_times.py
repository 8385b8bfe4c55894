"""When the frames of a video are shown: needed where their rate varies, and taken for even where it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np

from siming_tasks.common.errors import MediaError
from siming_tasks.common.files import atomic_write
from siming_tasks.media import read_timeline
from siming_tasks.report.escape import script_json

__all__ = ["Spacing", "frame_times"]

Spacing = Literal["even", "listed", "unknown"]


def frame_times(out: Path, video_id: str, media: Path) -> Spacing:
    """What the viewer may assume about the frames of a video.

    Args:
        out: the report; gets ``frames/<video_id>.js`` if the times have to be listed.
        video_id: the video.
        media: its file.

    Returns:
        ``even`` if no frame is further than half a period from an even spacing, ``listed`` if the file was written
        (seconds from the first frame, thousandths), ``unknown`` if the media file cannot be read.
    """
    try:
        times = read_timeline(media).times
    except MediaError:
        return "unknown"
    even = np.linspace(0, times[-1], len(times))
    if len(times) < 3 or np.abs(times - even).max() <= even[1] / 2:
        return "even"
    with atomic_write(out / "frames" / f"{video_id}.js") as stream:
        stream.write(f"SIMING.frames({script_json(times.round(3).tolist())});\n")
    return "listed"
