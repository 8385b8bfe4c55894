"""Second 0 of a recording, in a real browser: what the station shows, its log, the clip, the build, the sound.

The films have a picture every 40 ms that carries its number, and noise from 0 s to 0.4 s after picture 40 is shown.
"""

import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from scipy.signal import resample_poly

from siming_tasks.media import read_timeline, view
from siming_tasks.media.sound import RATE, decode_sound
from siming_tasks.tools.builder.transcode import normalise
from siming_tasks.tools.station.event_log import EventLog
from siming_tasks.tools.station.replay import replay_exams
from tests.conftest import NEEDS_BROWSER
from tests.media.conftest import number, picture
from tests.tools.station.conftest import Station
from tests.tools.station.pages import keys, text, visit, wait

pytestmark = NEEDS_BROWSER
FOOTAGE = Path(__file__).parents[4] / "shared" / "footage"
ENTER = "\ue007"
SIZE, MARK = (160, 96), 40
SECOND = 48_000
NOISE = np.random.default_rng(5).normal(0, 0.2, round(0.4 * SECOND)).astype(np.float32)
LATE: dict[str, tuple[Fraction, str, str, str]] = {
    # film: how much later than the sound its pictures begin, codecs, B-frames
    "late.mp4": (Fraction(2), "libx264", "aac", "2"),
    "late.mov": (Fraction(3, 10), "libx264", "pcm_s16le", "2"),
    "late.mkv": (Fraction(2), "libx264", "pcm_s16le", "2"),
    "late.webm": (Fraction(1), "libvpx", "libopus", ""),
    "late.ts": (Fraction(1, 2), "libx264", "aac", "2"),
    "b.avi": (Fraction(0), "mpeg4", "pcm_s16le", "2"),
    "plain.avi": (Fraction(0), "mpeg4", "pcm_s16le", "0"),
}
WHOLE = ("mdn_friday.mp4", "derived_coffee_vfr.mp4", "mdn_flower.webm", "intel_asl_help.mkv", "drewnoakes_100_0306.avi")


def make_film(path: Path) -> Path:
    late, codec, heard, b_frames = LATE[path.name]
    with av.open(str(path), "w") as out:
        unit = Fraction(1, 25) if path.suffix == ".avi" else Fraction(1, 1000 if path.suffix == ".webm" else 90_000)
        video: Any = out.add_stream(codec, rate=25, options={"bf": b_frames, "g": "12"} if b_frames else {})
        (video.width, video.height), video.pix_fmt = SIZE, "yuv420p"
        video.time_base = video.codec_context.time_base = unit
        video.bit_rate = 2_000_000
        track: Any = out.add_stream(heard, rate=SECOND, layout="mono")
        packets: list[Any] = []
        for index in range(80):
            frame = av.VideoFrame.from_ndarray(picture(index, *SIZE), format="rgb24")
            frame.pts, frame.time_base = round((late + Fraction(index, 25)) / unit), unit
            packets += video.encode(frame)
        samples = np.zeros((1, round((late + 4) * SECOND)), np.float32)
        begin = round((late + Fraction(MARK, 25)) * SECOND)
        samples[0, begin : begin + len(NOISE)] = NOISE
        sound = av.AudioFrame.from_ndarray(samples, format="flt", layout="mono")
        sound.sample_rate, sound.pts, sound.time_base = SECOND, 0, Fraction(1, SECOND)
        size = track.codec_context.frame_size or 1024
        resampler = av.AudioResampler(track.codec_context.format, "mono", SECOND, frame_size=size)
        for piece in (*resampler.resample(sound), *resampler.resample(None), None):
            packets += track.encode(piece)
        packets += video.encode(None)
        out.mux(sorted((each for each in packets if each.dts is not None), key=lambda each: each.dts * each.time_base))
    return path


def off(path: Path, at: float) -> int:
    """Samples by which the noise of a film is heard later than at a second."""
    wanted = resample_poly(NOISE, 1, 3)
    heard = decode_sound(path, read_timeline(path).zero).samples / 32768
    first = round(at * RATE)
    lags = range(-400, 401)
    found = [np.dot(heard[first + lag : first + lag + len(wanted)], wanted) for lag in lags]
    return lags[int(np.argmax(found))]


@pytest.fixture
def sit(begin: Callable[..., Station], browser: Any, rubric: Path, tmp_path: Path) -> Iterator[Callable[[], Station]]:
    def one() -> Station:
        station = begin(tmp_path / "ward", "--rater", "x", "--rubric", rubric, "--store", tmp_path / "s.sqlite")
        visit(browser, station)
        return station

    yield one


def exams(browser: Any, folder: Path) -> Iterator[str]:
    for place in range(len(list(folder.iterdir()))):
        if place:  # the first one is open
            browser.execute_script(
                "const list = document.getElementById('exams'); list.value = arguments[0];"
                "list.dispatchEvent(new Event('change'))",
                place,
            )
        wait(browser, f"document.getElementById('progress').textContent.startsWith('Exam {place + 1} ')")
        video = "document.getElementById('video')"  # a copy is made first of what no browser plays
        wait(browser, f"{video}.src.endsWith('media/{place}') && {video}.readyState >= 2")
        wait(browser, "document.getElementById('wait').hidden")
        yield text(browser, "#who").rpartition(" ")[2]


def seen(browser: Any) -> np.ndarray:
    raw = browser.execute_script(
        "const v = document.getElementById('video'), c = document.createElement('canvas');"
        "c.width = v.videoWidth; c.height = v.videoHeight; const x = c.getContext('2d'); x.drawImage(v, 0, 0);"
        "return [c.width, c.height, [...x.getImageData(0, 0, c.width, c.height).data]]"
    )
    return np.array(raw[2], np.uint8).reshape(raw[1], raw[0], 4)[..., :3]


def go(browser: Any, seconds: float) -> np.ndarray:
    """Go to a second by keyboard; the picture that is shown there then."""
    keys(browser, "g", f"{int(seconds // 60)}:{seconds % 60:05.2f}", ENTER)
    last, still = seen(browser), 0
    while still < 4:  # a seek may be followed by another
        time.sleep(0.1)
        wait(browser, "!document.getElementById('video').seeking")
        now = seen(browser)
        still = still + 1 if np.array_equal(now, last) else 0
        last = now
    return last


def marked(store: Path) -> dict[str, float | None]:
    """Start of the step ``look`` by the name of the exam, as the log says."""
    log = EventLog.read(store)
    names = {digest: known.name for digest, known in log.exams().items()}
    return {names[exam]: state.step("look").start for (_, exam), state in replay_exams(log.events("rate")).items()}


@pytest.fixture
def late_pictures(browser: Any) -> Iterator[None]:
    """A browser that tells a page of each picture half a second late, as one that has much to do."""
    late = "const real = HTMLVideoElement.prototype.requestVideoFrameCallback;"
    late += "HTMLVideoElement.prototype.requestVideoFrameCallback = function (told) {"
    late += "return real.call(this, (...shown) => setTimeout(() => told(...shown), 500)); };"
    known = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": late})
    yield
    browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", known)


@pytest.mark.usefixtures("late_pictures")
def test_a_jump_before_the_first_picture_is_logged_as_shown(
    browser: Any, sit: Callable[[], Station], tmp_path: Path
) -> None:
    """The log said picture 24 of a recording in milliseconds where 25 was on screen."""
    (tmp_path / "ward").mkdir()
    film = make_film(tmp_path / "ward" / "late.ts")
    sit()
    assert number(go(browser, 1.53)) == 25
    time.sleep(1)
    keys(browser, "s")
    assert marked(tmp_path / "s.sqlite")["late.ts"] == pytest.approx(float(read_timeline(film).times[25]), abs=1e-6)


def test_the_second_of_a_picture_is_one_everywhere(browser: Any, sit: Callable[[], Station], tmp_path: Path) -> None:
    """Acts were up to 50 pictures off, where pictures begin after the sound."""
    (tmp_path / "ward").mkdir()
    films = [make_film(tmp_path / "ward" / name) for name in LATE]
    sit()
    shown = {}
    for name in exams(browser, tmp_path / "ward"):
        shown[name] = number(go(browser, float(LATE[name][0]) + 1.03))
        keys(browser, "s")
    starts = marked(tmp_path / "s.sqlite")
    for film in films:
        first, numbered = float(LATE[film.name][0]), shown[film.name]
        began = starts[film.name]
        assert began is not None
        slack = 0.022 if film.suffix == ".ts" else 0.0011  # its sound begins with what AAC needs to begin
        assert numbered == 25, film.name
        assert began == pytest.approx(first + numbered / 25, abs=slack), film.name
        clip = view(film, span=(began, began + 0.5), frames=8, mode="video", cache=tmp_path / "cache").path
        assert clip is not None
        built = tmp_path / f"{film.name}.mp4"
        result = normalise(film, built, keep_audio=True)
        with av.open(str(clip)) as cut, av.open(str(built)) as whole:
            assert number(next(cut.decode(video=0)).to_ndarray(format="rgb24")) == numbered, film.name
            pictures = [number(each.to_ndarray(format="rgb24")) for each in whole.decode(video=0)]
        assert (pictures[int(began * 25 + 0.5)], result.lost) == (numbered, 0), film.name
        assert sorted(set(pictures)) == list(range(80)), film.name
        heard = float(read_timeline(film).times[MARK])
        rounded = 16 if film.suffix in (".mkv", ".webm") else 1  # to a millisecond
        assert abs(off(film, heard)) <= rounded and abs(off(built, heard)) <= rounded, film.name


@pytest.mark.weekly
@pytest.mark.skipif(not FOOTAGE.is_dir(), reason="the recordings are not there")
def test_real_recordings_show_what_their_log_says(browser: Any, sit: Callable[[], Station], tmp_path: Path) -> None:
    (tmp_path / "ward").mkdir()
    for name in WHOLE:
        (tmp_path / "ward" / name).symlink_to(FOOTAGE / name)
    sit()
    found = {}
    for name in exams(browser, tmp_path / "ward"):
        found[name] = go(browser, 1.23)
        keys(browser, "s")
    starts = marked(tmp_path / "s.sqlite")
    for name in WHOLE:
        with av.open(str(FOOTAGE / name)) as film:
            begin = max(0, film.start_time or 0) / 1e6
            frames = [(each.time - begin, each.reformat(width=64, height=36, format="gray").to_ndarray())
                      for each in film.decode(video=0)]  # fmt: skip
        grey = av.VideoFrame.from_ndarray(np.ascontiguousarray(found[name]), format="rgb24")
        screen = grey.reformat(width=64, height=36, format="gray").to_ndarray().astype(float)
        apart = np.array([((screen - frame) ** 2).mean() for _, frame in frames])
        times = np.array([at for at, _ in frames])
        expected = int(np.searchsorted(times, 1.23 + 1e-4, side="right")) - 1
        assert starts[name] == pytest.approx(times[expected], abs=1e-3), name
        assert apart[expected] <= 1.1 * apart.min() + 1, (name, expected, int(apart.argmin()))
