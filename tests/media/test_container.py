"""The door: no file but the one that is named is opened, lists of files are refused by name, one stream is chosen."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from av.stream import Disposition
from PIL import Image

import siming_tasks
from siming_tasks.benchmark.exams import Video
from siming_tasks.common.errors import MediaError
from siming_tasks.media import read_timeline, view
from siming_tasks.media.container import MOST_STREAMS, open_video
from siming_tasks.media.decode import decode
from siming_tasks.media.picture import to_rgb
from siming_tasks.media.run_plan import ExamFacts


def n_streams(path: Any) -> int:
    with open_video(path) as (container, _):
        return len(container.streams.video)


def refusal(path: Path) -> str:
    with pytest.raises(MediaError) as caught:
        read_timeline(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


# Other files -----------------------------------------------------------------------------------------------------

LISTS = {
    "ffconcat": "ffconcat version 1.0\nfile {there}\n",
    "hls": "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:3\n#EXTINF:3,\n{there}\n#EXT-X-ENDLIST\n",
}


def test_playlists_open_no_other_file_and_ask_no_server(videos: Any, tmp_path: Path) -> None:
    secret = tmp_path / "secret.mp4"
    secret.write_bytes(videos.get("plain").read_bytes())
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}/v.ts"
        for text in LISTS.values():
            for name in ("list.mp4", "list.m3u8", "list.ffconcat"):
                for there in (address, "secret.mp4", str(secret)):
                    path = tmp_path / name
                    path.write_text(text.replace("{there}", there))
                    assert refusal(path).startswith(("unsupported", "cannot be read (Invalid data"))
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()
    # proof that this can fail: the library alone reads the other file
    (tmp_path / "list.mp4").write_text("ffconcat version 1.0\nfile secret.mp4\n")
    with av.open(str(tmp_path / "list.mp4")) as container:
        assert (container.format.name, sum(1 for _ in container.decode(video=0))) == ("concat", 60)


def test_a_name_is_never_an_address(videos: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    whole = videos.get("plain").read_bytes()
    for name in ("subfile,,start,0,end,0,,:a.mp4", "concat:a.mp4|b.mp4", "file:a.mp4", "data:a.mp4", "%03d.mp4"):
        Path(name).write_bytes(whole)
        assert read_timeline(Path(name)).n_frames == 60


def test_what_is_no_video_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.mp4")
    Image.new("RGB", (64, 48)).save(tmp_path / "still.mp4", format="PNG")
    assert refusal(tmp_path / "pipe.mp4") == refusal(tmp_path) == "not a file."
    assert refusal(tmp_path / "none.mp4") == "no such file."
    assert refusal(tmp_path / "still.mp4").startswith("unsupported (a playlist")


def test_no_other_module_opens_a_video_to_read_it_or_looks_for_its_second_0() -> None:
    """Calls of ``av.open`` are for writing, but for the one in ``container.py``; no other library's reader is used."""
    root = Path(siming_tasks.__file__).parent
    texts = {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*.py")}
    reads = re.compile(r"""\bav\.open\((?![^;]{0,60}"w")|from av(?:\.container)? import open\b|av\.container\.open""")
    assert [name for name, text in texts.items() if reads.search(text)] == ["media/container.py"]
    readers = re.compile(r"\.(?:VideoCapture|VideoReader|read_video|VideoDecoder)\b")
    # that module listens to the readers of other people's classes and opens nothing
    assert [name for name, text in texts.items() if readers.search(text)] == ["plugin/response_cache/dispatch.py"]
    assert [name for name, text in texts.items() if ".start_time" in text] == ["media/timeline.py"]


# Streams ---------------------------------------------------------------------------------------------------------

SMALL, LARGE = (80, 48), (160, 96)
NONE, DEFAULT, COVER = Disposition(0), Disposition.default, Disposition.attached_pic


def several(path: Path, videos: Any, streams: list[tuple[tuple[int, int], int, Any]]) -> Path:
    """A file of several video streams, each ``(size, frames, disposition)``; frame i of every one shows number i."""
    with av.open(str(path), "w") as output:
        out = []
        for size, _, disposition in streams:
            cover = bool(disposition & COVER)
            stream: Any = output.add_stream("png" if cover else "libx264", rate=25)
            stream.width, stream.height = size
            stream.pix_fmt = "rgb24" if cover else "yuv420p"
            stream.disposition = disposition.value
            out.append(stream)
        for stream, (size, frames, _) in zip(out, streams, strict=True):
            for index in range(frames):
                frame = av.VideoFrame.from_ndarray(videos.picture(index, *size), format="rgb24")
                frame.pts = index
                output.mux(stream.encode(frame))
            output.mux(stream.encode(None))
    return path


@pytest.mark.parametrize(
    ("suffix", "streams", "shown"),
    [
        ("mp4", [(SMALL, 5, NONE), (LARGE, 30, DEFAULT)], 1),
        ("mkv", [(LARGE, 30, NONE), (SMALL, 20, DEFAULT)], 1),
        ("mp4", [(SMALL, 5, DEFAULT), (LARGE, 30, DEFAULT)], 1),
        ("mkv", [(LARGE, 20, DEFAULT), (LARGE, 30, DEFAULT)], 0),
        ("mp4", [((320, 240), 1, COVER), (SMALL, 30, NONE)], 1),
    ],
    ids=["preview first", "the flag counts more than the size", "two flags", "a tie", "a cover"],
)
def test_the_main_stream_is_shown_everywhere(
    videos: Any, tmp_path: Path, suffix: str, streams: list[Any], shown: int
) -> None:
    from siming_tasks.tools.builder.transcode import normalise

    path = several(tmp_path / f"v.{suffix}", videos, streams)
    (width, height), frames, _ = streams[shown]
    timeline, exam = read_timeline(path), ExamFacts.read(path, Video("v", "v", 1.0, ()))
    assert (exam.width, exam.height, timeline.n_frames) == (width, height, frames)
    assert not timeline.standard, "other readers may take the other stream"
    numbers = [videos.number(to_rgb(frame)) for _, frame in decode(path, timeline, range(frames))]
    assert numbers == list(range(frames))
    clip = view(path, span=None, frames=4, mode="video", cache=tmp_path / "c").path
    assert clip not in (None, path)
    assert (n_streams(clip), read_timeline(clip).n_frames) == (1, frames)
    built = normalise(path, tmp_path / "built.mp4")
    assert (built.frames, built.width, built.height, n_streams(tmp_path / "built.mp4")) == (frames, width, height, 1)


@pytest.mark.parametrize("suffix", ["mp4", "ts"])
def test_a_file_of_many_streams_is_refused(videos: Any, tmp_path: Path, suffix: str) -> None:
    """A decoder is opened for each: those of a thousand would take gigabytes."""
    for number in (MOST_STREAMS, MOST_STREAMS + 1, MOST_STREAMS + 2):
        path = tmp_path / f"{number}.{suffix}"
        with av.open(str(videos.get("plain"))) as source, av.open(str(path), "w") as out:
            streams = [out.add_stream_from_template(source.streams.video[0]) for _ in range(number)]
            for packet in source.demux(video=0):
                for stream in streams if packet.dts is not None else ():
                    copy = av.Packet(bytes(packet))
                    copy.pts, copy.dts, copy.time_base = packet.pts, packet.dts, packet.time_base
                    copy.is_keyframe, copy.stream = packet.is_keyframe, stream
                    out.mux(copy)
        if number == MOST_STREAMS:
            assert n_streams(path) == number
        else:
            assert refusal(path).startswith("has more than 16 streams. Keep only picture and sound: ffmpeg")


def test_sound_with_a_cover_picture_holds_no_video(videos: Any, tmp_path: Path) -> None:
    assert refusal(several(tmp_path / "v.mp4", videos, [(SMALL, 1, COVER)])) == (
        "contains no video except a cover picture."
    )


def test_streams_that_show_only_while_a_file_is_probed(tmp_path: Path) -> None:
    """MPEG program streams have no header; options for streams, which are not there yet, made PyAV crash on them."""
    path = tmp_path / "film.mpg"
    with av.open(str(path), "w") as out:
        stream = out.add_stream("mpeg2video", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in range(50):
            out.mux(stream.encode(av.VideoFrame.from_ndarray(np.full((48, 64, 3), 5 * number, np.uint8))))
        out.mux(stream.encode())
    read = "from pathlib import Path; from siming_tasks.media.timeline import read_timeline; import sys;"
    read += "print(len(read_timeline(Path(sys.argv[1])).pts))"
    done = subprocess.run([sys.executable, "-c", read, str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "50\n"), done.stderr
