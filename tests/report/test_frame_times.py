from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from siming_tasks.report.viewer_files import write_frame_times


def encoded(path: Path, pts: Sequence[int], time_base: Fraction) -> Path:
    with av.open(str(path), "w") as output:
        stream = output.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.time_base = stream.codec_context.time_base = time_base
        for number, at in enumerate(pts):
            frame = av.VideoFrame.from_ndarray(np.full((48, 64, 3), 4 * number, np.uint8), format="rgb24")
            frame.pts, frame.time_base = at, time_base
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    return path


def test_even_frames_need_no_list(tmp_path: Path) -> None:
    video = encoded(tmp_path / "even.mp4", range(0, 400, 20), Fraction(1, 500))
    assert write_frame_times(tmp_path, "v1", video) == "even"
    assert not (tmp_path / "frames").exists()


def test_uneven_frames_are_listed(tmp_path: Path) -> None:
    pts = [k * k + 10 * k for k in range(40)]
    assert write_frame_times(tmp_path, "v1", encoded(tmp_path / "uneven.mp4", pts, Fraction(1, 600))) == "listed"
    text = (tmp_path / "frames" / "v1.js").read_text()
    assert text.startswith("SIMING.frames(") and text.endswith(");\n")
    assert json.loads(text[14:-3]) == [round(at / 600, 3) for at in pts]


def test_a_file_that_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "broken.mp4").write_bytes(b"no video")
    assert write_frame_times(tmp_path, "v1", tmp_path / "broken.mp4") == "unknown"
    assert write_frame_times(tmp_path, "v1", tmp_path / "gone.mp4") == "unknown"
