"""What a camera writes beside its pictures stays behind: nothing of it is in a built video, copied or encoded."""

from collections.abc import Callable
from pathlib import Path

import av
import numpy as np
import pytest

from siming_tasks.benchmark.exams import StepLabel, Video
from siming_tasks.data.check.media_checks import inspect
from siming_tasks.media import read_timeline
from siming_tasks.media.clips import write_clip
from siming_tasks.tools.builder.transcode import normalise
from tests.data.conftest import write_video

SECRET = b"2024-05-06T07:08:09 39.9042N 116.4074E Zhang San"
UUID = bytes(range(16))
CAPTIONS = b"\xb5\x00\x31GA94\x03" + bytes([0x40 | 16, 0xFF]) + b"\xfd" + b"\xfd".join(
    SECRET[at : at + 2] for at in range(0, 32, 2)
) + b"\xff"  # fmt: skip
"""ATSC A/53 closed captions: sixteen pairs of letters."""


def sei(kind: int, payload: bytes) -> bytes:
    """A unit of supplemental information (ITU-T H.264, 7.3.2.3), with emulation prevention."""
    body = bytes([6, kind]) + b"\xff" * (len(payload) // 255) + bytes([len(payload) % 255]) + payload + b"\x80"
    out = bytearray()
    for byte in body:
        if byte <= 3 and out[-2:] == b"\0\0":
            out.append(3)
        out.append(byte)
    return bytes(out)


def planted(
    source: Path, target: Path, units: list[bytes], *, behind: bool = False, change: Callable[[bytes], bytes] = bytes
) -> Path:
    """A copy with these units in every picture, before its slices or behind them, which are changed."""
    extra = b"".join(len(unit).to_bytes(4, "big") + unit for unit in units)
    with av.open(str(source)) as reader, av.open(str(target), "w") as writer:
        stream = writer.add_stream_from_template(reader.streams.video[0])
        for old in reader.demux(video=0):
            if old.size:
                own = change(bytes(old))
                packet = av.Packet(own + extra if behind else extra + own)
                packet.pts, packet.dts, packet.duration = old.pts, old.dts, old.duration
                packet.time_base, packet.is_keyframe, packet.stream = old.time_base, old.is_keyframe, stream
                writer.mux(packet)
    return target


def pictures(path: Path) -> np.ndarray:
    with av.open(str(path)) as container:
        return np.stack([frame.to_ndarray(format="gray") for frame in container.decode(video=0)])


def side_data(path: Path) -> set[str]:
    with av.open(str(path)) as container:
        return {data.type.name for frame in container.decode(video=0) for data in frame.side_data}


KINDS = {
    "user data": [sei(5, UUID + SECRET)],
    "registered": [sei(4, b"\xb5\x00\x3c" + SECRET)],
    "captions": [sei(4, CAPTIONS)],
    "a private kind of unit": [bytes([24]) + SECRET, bytes([30]) + SECRET],
    "filler": [bytes([12]) + SECRET + b"\x80"],
    "several": [sei(5, UUID + SECRET), sei(4, CAPTIONS)],
}


@pytest.mark.parametrize(("kind", "suffix"), [*((kind, "mp4") for kind in KINDS), ("several", "mkv")])
def test_nothing_beside_the_pictures_is_built(tmp_path: Path, kind: str, suffix: str) -> None:
    plain = write_video(tmp_path / "plain.mp4", options={"bf": "2"})
    source = planted(plain, tmp_path / f"v.{suffix}", KINDS[kind], behind=kind == "filler")
    assert SECRET[:16] in source.read_bytes() or kind == "captions"
    if kind == "several":  # the planting is real: FFmpeg's decoder finds it, also where a clip is encoded
        assert side_data(source) >= {"SEI_UNREGISTERED", "A53_CC"}
        write_clip(source, read_timeline(source), 0, 9, tmp_path / "clip.mp4")
        assert "A53_CC" not in side_data(tmp_path / "clip.mp4")
        assert SECRET[:8] not in (tmp_path / "clip.mp4").read_bytes()
    result = normalise(source, tmp_path / "out.mp4")
    assert (result.copied, result.frames) == (suffix == "mp4", 20)
    data = (tmp_path / "out.mp4").read_bytes()
    assert SECRET[:8] not in data and CAPTIONS[:8] not in data
    assert side_data(tmp_path / "out.mp4") <= {"SEI_UNREGISTERED"}  # x264's own note
    if result.copied:
        assert side_data(tmp_path / "out.mp4") == set()
        np.testing.assert_array_equal(pictures(tmp_path / "out.mp4"), pictures(plain))


def test_keyframes_that_need_supplemental_information_are_encoded_again(tmp_path: Path) -> None:
    """Open GOPs: without its recovery point, such a keyframe is no place to start from."""
    open_gop = {"x264-params": "open-gop=1:bframes=3:keyint=5:min-keyint=5:scenecut=0"}
    source = write_video(tmp_path / "v.mp4", options=open_gop)
    result = normalise(source, tmp_path / "out.mp4")
    assert (result.copied, result.frames) == (False, 20)


def test_what_was_trimmed_away_stays_away(tmp_path: Path) -> None:
    """A phone trims by an edit list and leaves the pictures in the file; a copy brought some of them back."""
    source = write_video(tmp_path / "v.mp4", frames=60)
    data = bytearray(source.read_bytes())
    at = data.index(b"elst") + 12
    data[at : at + 4] = (2000).to_bytes(4, "big")  # of 6 s
    source.write_bytes(data)
    result = normalise(source, tmp_path / "out.mp4")
    assert (result.copied, result.frames) == (False, 20) == (False, read_timeline(source).n_frames)
    error = (pictures(tmp_path / "out.mp4").astype(float) - pictures(source)) ** 2
    assert 10 * np.log10(255**2 / error.mean(axis=(1, 2)).max()) > 30


def test_check_names_user_data(tmp_path: Path) -> None:
    plain = write_video(tmp_path / "plain.mp4")
    source = planted(plain, tmp_path / "v.mp4", KINDS["user data"])
    duration = read_timeline(plain).duration
    video = Video("v", "v.mp4", duration, (StepLabel("s", 0.0, duration),))
    assert inspect(plain, video, 1).problems == (), "x264's note about its settings is harmless"
    (found,) = inspect(source, video, 1).problems
    assert (found.code, found.severity) == ("media-user-data", "warning")
    assert "where cameras write time, place and serial numbers" in found.what
