"""Plain copies of recordings: coded pictures, and sound if it is kept, packet by packet, and nothing else.

Cameras, phones and editors write places, dates, names and devices into a file: as tags of the container and of its
streams, as further streams (subtitles, telemetry, covers), as chapters and attachments, in boxes that no reader knows,
and next to each picture (supplemental information, SEI). A copy has none of this by construction: it is rebuilt from
the packets of one or two streams. A file that this package wrote is copied to the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from siming_tasks.common.errors import MediaError
from siming_tasks.common.files import atomic_path
from siming_tasks.media.container import open_video, sound_track
from siming_tasks.media.timeline import STATES_LENGTH, read_timeline

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.packet import Packet
    from av.video.stream import VideoStream

SLICES, SETS = (1, 5), (7, 8)
"""Kinds of H.264 units that travel: slices of pictures; and parameter sets, once, in the head of the file. Not
supplemental information (SEI), delimiters, filler and private kinds, nor what follows the syntax of a set."""
TEXT = re.compile(rb"(?:[ -~]|[\xe4-\xe9][\x80-\xbf]{2}){20,}\x80?\0*$")
"""Writing behind a slice. Its coded end cannot be found without decoding it, and chance writes as much once in 10^8."""
SEI, USER_DATA = {"h264": (6,), "hevc": (39, 40)}, 5
"""Numbers of the units with supplemental information by codec; number of user data without a registered owner in it."""
ENCODERS = (b"x264 - core", b"x265 (build")
"""Beginnings of two encoders' notes about their settings, after the 16 bytes that identify the encoder."""
AAC_RATES = (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 64_000, 88_200, 96_000)
"""Samples per second that AAC has; other sound is resampled."""
_BUILD = "Convert it with `siming data build`."


def sound_rate(track: AudioStream) -> int:
    """Samples per second of a track that is kept."""
    return track.rate if track.rate in AAC_RATES else 48_000


def options_for(sound: AudioStream | None) -> dict[str, str]:
    """FFmpeg's options for an .mp4 that says neither when nor by what it was written.

    The rate of a sound track that is kept is the clock of the file: else the beginning of the sound would be rounded to
    a millisecond.
    """
    clock = {"movie_timescale": str(sound_rate(sound))} if sound else {}
    return {"movflags": "+faststart", "fflags": "+bitexact", "write_btrt": "0", **clock}


def copy_plain(source: Path, target: Path, *, sound: bool = False) -> None:
    """Write an ``.mp4`` of H.264 pictures again, without anything that is neither picture nor sound (atomic).

    Args:
        source: the recording; where its sound stays behind also a ``.mov`` or ``.m4v``.
        target: the ``.mp4`` to write.
        sound: keep the part of the first sound track that players play, and the packet before.

    Raises:
        MediaError: it is coded otherwise, or readers differ about which pictures it has, so that its packets alone
            would not show the same; or the copy does not.
    """
    import av
    from av.bitstream import BitStreamFilterContext

    with ExitStack() as opened:
        container, stream = opened.enter_context(open_video(source))
        heard = sound_track(source, container) if sound else None
        temporary = opened.enter_context(atomic_path(target))
        output = opened.enter_context(av.open(str(temporary), "w", format="mp4", options=options_for(heard)))
        into_mp4 = not sound and target.suffix.lower() == ".mp4"  # other sound than AAC may be in a .mov
        timeline = read_timeline(source, STATES_LENGTH if into_mp4 else (".mp4",))
        if stream.codec_context.name != "h264" or not unit_lengths(stream) or not timeline.standard:
            raise MediaError(f"{source}: may contain more than pictures, which cannot be removed. {_BUILD}")
        with open_video(source) as (again, first), suppress(av.error.FFmpegError):
            for picture in islice(again.decode(first), 1):
                held: Any = picture.side_data
                if any(data.type.name == "ICC_PROFILE" for data in held):  # it names device and date
                    raise MediaError(f"{source}: has a colour profile, which cannot be removed. {_BUILD}")
        kept: dict[Any, Any] = {}
        for each in (stream, heard) if heard else (stream,):
            kept[each] = output.add_stream_from_template(each)
            kept[each].metadata.clear()
        hidden: list[Packet] = []  # an edit list hides sound that a decoder needs for the first that is heard: a packet
        began = False
        try:
            written_anew = "h264_metadata,filter_units=pass_types=" + "|".join(map(str, SLICES + SETS))
            pictures = BitStreamFilterContext(written_anew, stream, kept[stream])
            for packet in container.demux(list(kept)):
                track: Any = packet.stream
                parts = [packet]
                if packet.dts is None:
                    continue
                if track is stream:
                    parts = pictures.filter(_slices_of(packet))
                elif len(packet.decode()) > 1:
                    raise ValueError("bytes behind the sound of a packet")
                elif packet.is_discard:
                    hidden = [packet] * (not began)
                    continue
                else:
                    parts, hidden, began = [*hidden, packet], [], True
                for part in parts:
                    part.stream = kept[track]
                    output.mux(part)
        except (av.error.FFmpegError, ValueError) as error:
            raise MediaError(f"{source}: may contain more than pictures and sound ({error}). {_BUILD}") from None
    written = read_timeline(target)
    if not np.array_equal(written.times, timeline.times) or not written.standard:
        target.unlink()
        raise MediaError(f"{source}: a copy of its packets has different times. {_BUILD}")


def _slices_of(packet: Packet) -> Packet:
    """A packet with the slices of another and nothing else (ValueError: there is more that may be needed, or none)."""
    import av

    stream: Any = packet.stream
    size, data, setup = unit_lengths(stream), bytes(packet), stream.codec_context.extradata
    found = [*units(data, size)]
    slices = [unit for unit in found if unit[:1] and unit[0] & 31 in SLICES]
    if b"".join(len(unit).to_bytes(size, "big") + unit for unit in found) != data:
        raise ValueError("bytes behind the units of a picture")
    if any(unit[:1] and unit[0] & 31 in SETS and len(unit).to_bytes(2, "big") + unit not in setup for unit in found):
        raise ValueError("parameter sets that its head does not have")
    if not slices or any(TEXT.search(unit[-256:]) for unit in slices):
        raise ValueError("writing behind the slices of a picture" if slices else "a packet without a picture")
    plain = av.Packet(b"".join(len(unit).to_bytes(size, "big") + unit for unit in slices))
    plain.pts, plain.dts, plain.duration, plain.time_base = packet.pts, packet.dts, packet.duration, packet.time_base
    plain.is_keyframe, plain.stream = packet.is_keyframe, packet.stream
    return plain


def unit_lengths(stream: VideoStream) -> int:
    """Bytes of the length before each unit of a packet, as an ``.mp4`` stores H.264 or HEVC; 0 if it is not so."""
    setup, name = stream.codec_context.extradata or b"", stream.codec_context.name
    place = {"h264": 4, "hevc": 21}.get(name, 0)
    return (setup[place] & 3) + 1 if place and len(setup) > place and setup[0] == 1 else 0


def units(packet: bytes, size: int) -> Iterator[bytes]:
    """The units of a packet, each of which begins with its length in ``size`` bytes."""
    at = 0
    while at + size < len(packet):
        end = at + size + int.from_bytes(packet[at : at + size], "big")
        yield packet[at + size : end]
        at = end


def has_user_data(path: Path) -> bool:
    """True if the pictures of an H.264 or HEVC file carry user data other than an encoder's note about its settings.

    Packets are read, not pictures: decoded ones would keep their side data in memory.
    """
    with open_video(path) as (container, stream):
        size, kinds = unit_lengths(stream), SEI.get(stream.codec_context.name, ())
        for packet in container.demux(stream) if size else ():
            for unit in units(bytes(packet), size):
                hevc = stream.codec_context.name == "hevc"
                kind = (unit[0] >> 1) & 63 if hevc else unit[0] & 31
                if kind in kinds and _user_data(unit[2 if hevc else 1 :]):
                    return True
    return False


def _user_data(messages: bytes) -> bool:
    """True if one of a unit's messages is user data of somebody else than a known encoder (H.264, 7.3.2.3.1)."""
    rest = messages.replace(b"\0\0\3", b"\0\0")
    while len(rest) > 2:
        kind, rest = _number(rest)
        length, rest = _number(rest)
        if kind == USER_DATA and not rest[16:length].startswith(ENCODERS):
            return True
        rest = rest[length:]
    return False


def _number(data: bytes) -> tuple[int, bytes]:
    """The kind or length at the head of a message, to which each leading 255 adds as much, and what follows."""
    full = len(data) - len(data.lstrip(b"\xff"))
    return 255 * full + sum(data[full : full + 1]), data[full + 1 :]
