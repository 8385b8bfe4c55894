"""Sound is decoded once, placed to the sample by its times, and cut like frames."""

import hashlib
import io
import wave
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from scipy.signal import resample_poly

from siming_tasks.common.errors import MediaError
from siming_tasks.media import FrameStore, has_sound, sound_of
from siming_tasks.media.sound import RATE, Sound, decode_sound, silences_of

SECOND = 48_000
FOOTAGE = Path(__file__).parents[3] / "shared" / "footage"


def recording(path: Path, *, late: float = 0.0, gap: float = 0.0, video_from: int = 0) -> np.ndarray:
    """An .mkv of two seconds of picture with PCM of 48 kHz, which begins late or pauses; returns the mono sound."""
    at = np.arange(SECOND) / SECOND
    tone = np.round(8000 * np.sin(2 * np.pi * 440 * at) * np.linspace(0.2, 1, SECOND)).astype(np.int16)
    with av.open(str(path), "w", format="matroska") as out:
        video = out.add_stream("libx264", rate=10)
        video.width = video.height = 64
        sound = out.add_stream("pcm_s16le", rate=SECOND, layout="mono")
        for index in range(20):
            frame = av.VideoFrame.from_ndarray(np.full((64, 64, 3), 10 * index, np.uint8), format="rgb24")
            frame.pts, frame.time_base = index + video_from, Fraction(1, 10)
            out.mux(video.encode(frame))
        out.mux(video.encode(None))
        for part in range(10):
            piece = av.AudioFrame.from_ndarray(tone[None, part * 4800 : (part + 1) * 4800], format="s16", layout="mono")
            piece.sample_rate, piece.time_base = SECOND, Fraction(1, SECOND)
            piece.pts = round((late + part * 0.1 + (gap if part >= 5 else 0)) * SECOND)
            out.mux(sound.encode(piece))
        out.mux(sound.encode(None))
    return tone.astype(float)


def test_the_samples_stand_where_they_are_heard(tmp_path: Path) -> None:
    tone = resample_poly(recording(tmp_path / "v.mkv"), 1, 3)
    ours = decode_sound(tmp_path / "v.mkv", 0.0).samples
    assert abs(len(ours) - RATE) < 20 and np.corrcoef(ours[100:15_900], tone[100:15_900])[0, 1] > 0.9999
    recording(tmp_path / "late.mkv", late=0.25, gap=0.3)
    late = decode_sound(tmp_path / "late.mkv", 0.0).samples
    assert not late[: round(0.25 * RATE) - 20].any()
    assert not late[round(0.77 * RATE) : round(1.03 * RATE)].any()  # the pause
    assert np.corrcoef(late[4000 + 100 : 4000 + 7900], tone[100:7900])[0, 1] > 0.9999
    after = 4000 + 8000 + 4800
    assert np.corrcoef(late[after + 100 : after + 7900], tone[8100:15_900])[0, 1] > 0.999


def test_second_0_is_where_a_player_starts_also_before_the_first_picture(tmp_path: Path) -> None:
    recording(tmp_path / "v.mkv", video_from=5)
    store = FrameStore(tmp_path / "cache", tmp_path / "v.mkv", "d" * 64)
    assert (store.timeline().zero, store.timeline().times[0]) == (0, pytest.approx(0.5))
    assert np.array_equal(sound_of(store).samples, decode_sound(tmp_path / "v.mkv", 0.0).samples)
    assert (store.folder / "sounds" / "whole.wav").is_file()


def test_a_part_is_as_long_as_asked_and_silent_where_the_track_has_ended(tmp_path: Path) -> None:
    sound = Sound(np.arange(1, RATE + 1, dtype=np.int16))
    part = sound.part(0.5, 1.5)
    assert part.samples[0] == 8001 and len(part.samples) == RATE and not part.samples[8000:].any()
    assert len(sound.part(2.0, 2.25).samples) == 4000
    with wave.open(io.BytesIO(part.wav())) as file:
        assert file.readframes(RATE) == part.samples.tobytes()
    assert part.info() == {
        "seconds": 1.0, "form": "s16le mono 16000", "sha256": hashlib.sha256(part.samples.tobytes()).hexdigest(),
    }  # fmt: skip
    store = FrameStore(tmp_path / "cache", tmp_path / "v.mkv", "d" * 64)
    given = Sound(np.array([0, 16_384, -32_768], np.int16)).to_send("array", store)
    assert given["sampling_rate"] == 16_000 and given["array"].tolist() == [0.0, 0.5, -1.0]
    file = Path(part.to_send("path", store))
    assert file.read_bytes() == part.wav() and part.to_send("path", store) == str(file)


def test_sounds_count_against_the_limit_of_the_store(tmp_path: Path) -> None:
    """The limit passed them by: what was asked about sound alone grew without end."""
    recording(tmp_path / "v.mkv")
    older, newer = (
        FrameStore(tmp_path / "cache", tmp_path / "v.mkv", digit * 64, cache_gb=1e-4) for digit in "ab"
    )  # 100,000 bytes, about three files
    for number, store in enumerate((older, newer)):
        sound_of(store).to_send("path", store)
        held = sum(file.stat().st_size for file in (store.folder / "sounds").iterdir())
        assert held == pytest.approx(2 * 2 * RATE, abs=200)
        assert held == pytest.approx(int((store.folder / "bytes").read_text()), abs=1000)
        assert older.folder.exists() == (number == 0)


def test_a_silent_film_is_refused_by_name(tmp_path: Path, short_demo: Path) -> None:
    film = next((short_demo / "media").glob("*.mp4"))
    assert not has_sound(film)
    with pytest.raises(MediaError, match=r"has no sound.*--keep-audio"):
        decode_sound(film, 0.0)


@pytest.mark.weekly
@pytest.mark.skipif(not FOOTAGE.is_dir(), reason="the recordings are not there")
@pytest.mark.parametrize("name", ["mdn_friday.mp4", "torchcodec_nasa_13013.mp4", "drewnoakes_100_0306.avi"])
def test_real_sound_equals_another_resampler_without_delay(name: str) -> None:
    """Stereo of 44.1 kHz, stereo of 8 kHz, mono of 22.05 kHz, against scipy's polyphase filter."""
    ours = decode_sound(FOOTAGE / name, 0.0).samples.astype(float)
    with av.open(str(FOOTAGE / name)) as container:
        frames = list(container.decode(audio=0))
    planes = [frame.to_ndarray().reshape(-1, frame.layout.nb_channels).T if not frame.format.is_planar
              else frame.to_ndarray() for frame in frames]  # fmt: skip
    mono = np.concatenate(planes, axis=1).astype(float).mean(axis=0)
    ratio = Fraction(RATE, frames[0].sample_rate)
    theirs = resample_poly(mono, ratio.numerator, ratio.denominator)[: len(ours)]
    lags = {lag: np.corrcoef(ours[200:-200], np.roll(theirs, lag)[200:-200])[0, 1] for lag in (-1, 0, 1)}
    assert max(lags, key=lags.__getitem__) == 0 and lags[0] > 0.999


def test_silence_is_where_nothing_is_louder_than_a_converter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six seconds: 2.5 of nothing, one click, 1.5 of nothing, then a faint hiss."""
    samples = np.zeros(6 * RATE, np.int16)
    samples[round(2.55 * RATE)] = 100
    samples[4 * RATE :] = np.random.default_rng(0).integers(-40, 40, 2 * RATE)
    pieces = [(at, samples[at : at + 1024]) for at in range(0, len(samples), 1024)]
    monkeypatch.setattr("siming_tasks.media.sound._pieces", lambda path, zero: iter(pieces))
    assert silences_of(Path("v.mkv"), 0.0, 6.0) == [(0.0, 2.5)]
    assert silences_of(Path("v.mkv"), 0.0, 6.0, 1.0) == [(0.0, 2.5), (2.6, 4.0)]
    assert silences_of(Path("v.mkv"), 0.0, 9.0) == [(0.0, 2.5), (6.0, 9.0)], "beyond its end there is none"
