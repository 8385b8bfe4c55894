"""What comes out of the normaliser: the same pictures at the same times, and nothing else."""

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from siming_tasks.benchmark.exams import StepLabel, Video
from siming_tasks.common.errors import MediaError, Problem
from siming_tasks.data.check.media_checks import inspect
from siming_tasks.media import read_timeline
from siming_tasks.media.sound import RATE, decode_sound
from siming_tasks.tools.builder.transcode import normalise
from tests.data.conftest import damage, write_video
from tests.media.conftest import MATRICES_OF_PHONES, make, number, psnr, remux, turned, upright
from tests.tools.builder.conftest import film_with_tone, late_sound, with_other_sound


def pictures(path: Path) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Times (s) and upright grey pictures, decoded one after the other."""
    with av.open(str(path)) as container:
        frames = [
            (frame.time, np.rot90(frame.to_ndarray(format="gray"), round(frame.rotation / 90)))
            for frame in container.decode(video=0)
        ]
    return np.array([time for time, _ in frames]), np.array([picture for _, picture in frames], np.float32)


def checked(path: Path) -> list[Problem]:
    duration = read_timeline(path).duration
    video = Video("v", "v.mp4", duration, (StepLabel("s", 0.0, duration),))
    return list(inspect(path, video, 1).problems)


def close(first: NDArray[np.float32], second: NDArray[np.float32], decibels: float = 30) -> None:
    error = ((first - second) ** 2).mean(axis=(1, 2))
    assert (10 * np.log10(255**2 / np.maximum(error, 1e-9))).min() > decibels


def test_damaged_pictures_of_a_copy_are_counted_as_the_check_counts_them(tmp_path: Path) -> None:
    source = write_video(tmp_path / "a.mp4", frames=60, rate=30, options={"bf": "0"})
    damage(source)
    result = normalise(source, tmp_path / "b.mp4")
    found = next(problem.what for problem in checked(source) if problem.code == "media-damaged")
    lost, damaged = (int(number) for number in re.findall(r"\b\d+(?= pictures? undecodable| damaged)", found))
    assert result.copied and result.frames == 60 and result.damaged == lost + damaged > 0
    source = write_video(tmp_path / "a.mkv", frames=60, rate=30, options={"bf": "0"})
    damage(source)
    result = normalise(source, tmp_path / "c.mp4")
    assert (result.copied, result.frames) == (False, 60) and result.damaged > 0


@pytest.mark.parametrize("name", ["a.MP4", "a.mov", "a.m4v"])
def test_what_is_plain_already_is_copied_bit_for_bit(tmp_path: Path, name: str) -> None:
    tags = {"title": "Zhang San", "location": "+39+116/"}
    made = tmp_path / name.replace("MP4", "mp4")
    source = write_video(made, audio=name != "a.m4v", metadata=tags).rename(tmp_path / name)
    result = normalise(source, tmp_path / "b.mp4")
    assert (result.copied, result.frames, result.rate, result.duration) == (True, 20, "10", 2.0)
    np.testing.assert_array_equal(pictures(source)[1], pictures(tmp_path / "b.mp4")[1])
    assert checked(tmp_path / "b.mp4") == []
    assert b"Zhang" not in (tmp_path / "b.mp4").read_bytes()


@pytest.mark.parametrize(
    ("name", "how", "size"),
    [
        ("a.avi", {"codec": "mpeg4"}, (64, 48)),
        ("a.mkv", {"options": {"bf": "2"}}, (64, 48)),
        ("a.webm", {"codec": "libvpx"}, (64, 48)),
        ("a.mp4", {"codec": "libx265", "options": {"x265-params": "log-level=none"}}, (64, 48)),
        ("a.mp4", {"pixels": "yuv420p10le"}, (64, 48)),
        ("a.mkv", {"codec": "ffv1", "size": (63, 47), "pixels": "yuv444p"}, (62, 46)),  # odd sides become even
        ("a.ts", {}, (64, 48)),
    ],
)
def test_other_kinds_are_encoded_picture_for_picture(
    tmp_path: Path, name: str, how: dict[str, Any], size: tuple[int, int]
) -> None:
    source = write_video(tmp_path / name, **how)
    result = normalise(source, tmp_path / "out.mp4")
    assert (result.frames, result.rate, result.width, result.height, result.copied) == (20, "10", *size, False)
    times, images = pictures(tmp_path / "out.mp4")
    np.testing.assert_allclose(times, np.arange(20) / 10, atol=1e-6)
    if size == (64, 48):
        close(images, pictures(source)[1])
    assert checked(tmp_path / "out.mp4") == []


@pytest.mark.parametrize(("how", "size"), [("sar=2/1", (128, 48)), ("interlaced=1", (64, 48))])
def test_what_would_be_shown_otherwise_is_not_copied(tmp_path: Path, how: str, size: tuple[int, int]) -> None:
    """Pixels that are not square become so; of two half pictures in one, every reader would make another."""
    source = write_video(tmp_path / "a.mp4", options={"x264-params": how})
    result = normalise(source, tmp_path / "b.mp4")
    assert (result.copied, result.width, result.height, result.frames) == (False, *size, 20)
    assert checked(tmp_path / "b.mp4") == []


def test_pictures_that_begin_late_stay_late(tmp_path: Path) -> None:
    """Sound from 0 s, pictures from 1 s: a player shows the first picture at 1 s, and so must spans count."""
    source = write_video(tmp_path / "a.mkv", pts=[1000 + 100 * n for n in range(20)], audio=True, options={"bf": "0"})
    result = normalise(source, tmp_path / "b.mp4")
    assert result.duration == pytest.approx(3.0, abs=0.11)
    _, images = pictures(tmp_path / "b.mp4")
    close(images[-10:], pictures(source)[1][-10:])
    assert checked(tmp_path / "b.mp4") == []


@pytest.mark.parametrize(("name", "late"), [("mdn_friday.mp4", 0.6), ("moviepy_fire2.mp4", 0.0)])
def test_sound_that_is_kept_is_whole_and_at_its_time(tmp_path: Path, footage: Path, name: str, late: float) -> None:
    """Real speech in stereo and a fire in mono; the sound before the first decoded picture was lost, and mono 3 dB."""
    source = late_sound(footage / name, tmp_path / "a.mkv", late)
    normalise(source, tmp_path / "b.mp4", keep_audio=True)
    before, after = (decode_sound(path, 0.0).samples.astype(float) for path in (source, tmp_path / "b.mp4"))
    assert len(after) == pytest.approx(len(before), abs=800)
    before, after = before[: len(after)], after[: len(before)]
    begin = round(late * RATE)
    assert np.abs(before[begin : begin + RATE]).max() > 500  # there is sound at once
    agreement = {lag: np.corrcoef(before[1000:-1000], np.roll(after, lag)[1000:-1000])[0, 1] for lag in range(-3, 4)}
    assert max(agreement, key=agreement.__getitem__) == 0 and agreement[0] > (0.97 if late else 0.999)
    assert after.std() == pytest.approx(before.std(), rel=0.02)


@pytest.mark.parametrize("layout", ["mono", "stereo", "5.1"])
def test_channels_are_mixed_without_being_cut_off(tmp_path: Path, layout: str) -> None:
    """The same tone in every channel, of peak 0.5 and root mean square 0.354, but for the low one that is no voice's.

    Six channels were added to 1.2 of the highest level at the build, and cut off at 1.
    """
    source = film_with_tone(tmp_path / "a.mov", layout)
    loudest = normalise(source, tmp_path / "b.mp4", keep_audio=True).loudest
    assert loudest == pytest.approx(16_384, abs=300)
    for path in (source, tmp_path / "b.mp4"):
        tone = decode_sound(path, 0.0).samples[2000:14_000] / 32768
        assert tone.std() == pytest.approx(0.3536, rel=0.03) and np.abs(tone).max() == pytest.approx(0.5, abs=0.04)
    normalise(source, tmp_path / "mute.mp4")
    for name, kinds in (("b", ["video", "audio"]), ("mute", ["video"])):  # kept only on demand
        with av.open(str(tmp_path / f"{name}.mp4")) as built:
            assert [stream.type for stream in built.streams] == kinds


def test_a_stream_that_goes_on_in_another_form_is_built(tmp_path: Path) -> None:
    """In stereo and at another rate; one channel on two is 3 dB quieter. It ended the build with a library's error."""
    first = film_with_tone(tmp_path / "1.ts", "mono", codec="mp2")
    second = film_with_tone(tmp_path / "2.ts", "stereo", codec="mp2", rate=32_000, start=1.0)
    (tmp_path / "a.ts").write_bytes(first.read_bytes() + second.read_bytes())
    normalise(tmp_path / "a.ts", tmp_path / "b.mp4", keep_audio=True)
    sound = decode_sound(tmp_path / "b.mp4", 0.0).samples / 32768
    assert len(sound) / RATE == pytest.approx(2.0, abs=0.1)
    for begin in (0.2, 1.4):
        part = sound[round(begin * RATE) :][: RATE // 2]
        spectrum = np.abs(np.fft.rfft(part * np.hanning(len(part))))
        assert spectrum.argmax() * 2 == 440 and 0.24 < part.std() < 0.37


def test_damaged_sound_is_counted_and_silent(tmp_path: Path) -> None:
    """Ten packets of 1,024 samples from 0.213 s to 0.427 s; the decoder fades on both sides."""
    film_with_tone(tmp_path / "a.mkv", "mono", codec="aac")

    def change(number: int, packet: Any) -> Any:
        if not 11 <= number <= 20:
            return packet
        spoilt: Any = av.Packet(b"\xff" * packet.size)
        spoilt.pts, spoilt.dts, spoilt.time_base = packet.pts, packet.dts, packet.time_base
        return spoilt

    damaged = with_other_sound(tmp_path / "a.mkv", tmp_path / "b.mkv", change)
    with pytest.raises(MediaError, match=r"b\.mkv: its sound is damaged at 0\.2\d s"):
        decode_sound(damaged, 0.0)
    assert normalise(damaged, tmp_path / "c.mp4", keep_audio=True).unheard == 10
    sound = decode_sound(tmp_path / "c.mp4", 0.0).samples / 32768
    assert np.abs(sound[round(0.28 * RATE) : round(0.38 * RATE)]).max() < 0.01
    assert sound[round(0.5 * RATE) : round(0.9 * RATE)].std() == pytest.approx(0.3536, rel=0.05)


def numbers(path: Path) -> list[int]:
    with av.open(str(path)) as container:
        return [number(frame.to_ndarray(format="rgb24")) for frame in container.decode(video=0)]


@pytest.mark.parametrize("how", [{}, {"codec": "mpeg4", "options": {"bf": "2"}}])
def test_an_avi_states_no_times_and_every_picture_is_in_its_place(tmp_path: Path, how: dict[str, Any]) -> None:
    """FFmpeg guesses when pictures are shown, and with B-frames guesses wrong."""
    source = make(tmp_path / "a.avi", 40, size=(160, 96), **how)
    result = normalise(source, tmp_path / "b.mp4")
    assert (result.rate, result.stored, result.lost) == ("25", 40, 0)
    assert numbers(tmp_path / "b.mp4") == list(range(40))


@pytest.mark.parametrize(
    ("gaps", "rate", "lost"),
    [
        ([33] * 100, "1000/33", 0),  # 30.3 per second: at 30 one in a hundred would fall out
        ([33, 100, 34, 66, 34, 33] * 10, "30", 0),  # filmed at 30, every third dropped
        ([5] * 239, "60", 167),  # 200 per second become 60
    ],
)
def test_the_rate_keeps_every_picture_or_what_it_loses_is_counted(
    tmp_path: Path, gaps: list[int], rate: str, lost: int
) -> None:
    pts = [sum(gaps[:index]) for index in range(len(gaps) + 1)]
    source = make(tmp_path / "a.mkv", len(pts), size=(160, 96), pts=pts, time_base=Fraction(1, 1000), codec="libx264")
    result = normalise(source, tmp_path / "b.mp4")
    shown = numbers(tmp_path / "b.mp4")
    assert (result.rate, result.stored, result.lost) == (rate, len(pts), lost)
    assert lost == len(pts) - len(set(shown))
    period = 1 / float(Fraction(result.rate))
    first = np.array([shown.index(index) for index in sorted(set(shown))]) * period
    assert shown == sorted(shown)
    assert np.abs(first - np.array(pts)[sorted(set(shown))] / 1000).max() < period / 2 + 0.001


@pytest.mark.parametrize("name", ["rotated_90", "mirrored", "transversed"])
def test_every_turn_and_flip_of_a_display_matrix_is_built(tmp_path: Path, name: str) -> None:
    """A selfie film was built mirrored: the turn alone was read."""
    plain_film, matrix = make(tmp_path / "plain.mp4", 10), MATRICES_OF_PHONES[name]
    source = turned(plain_film, tmp_path / "a.mp4", matrix)
    result = normalise(source, tmp_path / "b.mp4")
    assert not result.copied and read_timeline(tmp_path / "b.mp4").standard
    with av.open(str(plain_film)) as stored, av.open(str(tmp_path / "b.mp4")) as built:
        for before, after in zip(stored.decode(video=0), built.decode(video=0), strict=True):
            expected = upright(before.to_ndarray(format="rgb24"), matrix)
            assert psnr(after.to_ndarray(format="rgb24"), expected) > 33


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_what_was_trimmed_without_encoding_keeps_its_clock_and_says_what_is_lost(tmp_path: Path, suffix: str) -> None:
    """Cut between keyframes at 0 and 30: pictures 7 to 29 have nothing to be decoded from."""
    whole = make(tmp_path / "whole.mp4", 60, size=(160, 96), options={"g": "30", "bf": "0"})
    result = normalise(remux(whole, tmp_path / f"cut{suffix}", range(7, 60)), tmp_path / "b.mp4")
    assert (result.stored, result.lost, result.frames) == (53, 23, 53)
    assert numbers(tmp_path / "b.mp4")[23:] == list(range(30, 60))
    nothing = remux(whole, tmp_path / f"nothing{suffix}", range(7, 25))
    with pytest.raises(MediaError, match=rf"nothing{suffix}: no picture can be decoded"):
        normalise(nothing, tmp_path / "c.mp4")
