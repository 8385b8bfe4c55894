"""What leaves this machine: recordings only to those whom the data set names, nothing in them but what they show."""

import re
import socket
import struct
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import av
import numpy as np
import pytest
import yaml
from av.bitstream import BitStreamFilterContext

from siming_tasks.cli import main
from siming_tasks.common.errors import DataError, MediaError, OptionsError
from siming_tasks.common.hosts import is_here, read_by
from siming_tasks.data import open_dataset, restate, withhold
from siming_tasks.data.consent import HERE, UNSTATED, recipients, refuse_without_consent
from siming_tasks.media import FrameStore, read_timeline, view
from siming_tasks.media.modes import backends
from siming_tasks.media.plain_copy import copy_plain, has_user_data
from siming_tasks.plugin.preflight import recipient_of
from siming_tasks.study.report.viewer_files import VideoLinker
from siming_tasks.tools.builder import BuildOptions, build_dataset
from siming_tasks.tools.builder.transcode import normalise
from siming_tasks.tools.exchange.hub_upload import push
from tests.data.conftest import RUBRIC, STEPS, state, write_video
from tests.tools.builder.test_left_behind import CAPTIONS, KINDS, SECRET, planted

PLACE, NAME, SERIAL, DAY = "+48.8566+002.3522/", "Dr. Wang Mei", "SN-4711-cam", "2026-03-14T09:26:53.000000Z"
SECRETS = (b"48.8566", b"Wang Mei", b"SN-4711", b"2026-03-14", b"+002.3522")


def told(path: Path, name: str = "film.mp4") -> Path:
    """A film as phones and editors write them, which tells place, day, name and device in every way that a file has."""
    plain = write_video(path / f"plain-{Path(name).suffix[1:]}.mp4", audio=True)
    tags = {"location": PLACE, "title": NAME, "comment": f"{NAME}, {SERIAL}", "creation_time": DAY, "artist": NAME}
    target = path / name
    with av.open(str(plain)) as source, av.open(str(target), "w") as out:
        out.metadata.update(tags)
        pictures, sound = source.streams.video[0], source.streams.audio[0]
        shown, heard = out.add_stream_from_template(pictures), out.add_stream_from_template(sound)
        shown.metadata["handler_name"] = heard.metadata["handler_name"] = heard.metadata["title"] = NAME
        note = "h264_metadata=sei_user_data=086f3693-b7b3-4f2c-9653-21492feee5b8+" + PLACE[:8] + SERIAL
        noting = BitStreamFilterContext(note, pictures, shown)
        for packet in source.demux(pictures, sound):
            if packet.dts is not None:
                track = shown if packet.stream is pictures else heard
                for part in noting.filter(packet) if track is shown else [packet]:
                    part.stream = track
                    out.mux(part)
    plain.unlink()
    if target.suffix == ".mp4":  # a box that no reader knows
        box = NAME.encode() + PLACE.encode()
        with target.open("ab") as stream:
            stream.write(struct.pack(">I4s16s", 24 + len(box), b"uuid", bytes(16)) + box)
    assert any(secret in target.read_bytes() for secret in SECRETS)
    return target


def leaked(*files: Path) -> list[bytes]:
    return [secret for file in files for secret in SECRETS if secret in file.read_bytes()]


@pytest.fixture
def real(folder: Path) -> Path:
    """A data set of real recordings, one of which tells everything."""
    told(folder / "media", "v001.mp4")
    state(folder, simulated={"labels": True}, sound=False)
    restate(folder)
    return folder


def test_a_plain_copy_shows_the_same_and_tells_nothing(tmp_path: Path) -> None:
    source = told(tmp_path)
    assert has_user_data(source)
    for sound in (False, True):
        copy_plain(source, tmp_path / "copy.mp4", sound=sound)
        assert leaked(tmp_path / "copy.mp4") == [] and not has_user_data(tmp_path / "copy.mp4")
        assert np.array_equal(read_timeline(source).times, read_timeline(tmp_path / "copy.mp4").times)
        with av.open(str(source)) as before, av.open(str(tmp_path / "copy.mp4")) as after:
            assert len(after.streams) == 1 + sound and "location" not in after.metadata
            for old, new in zip(before.decode(video=0), after.decode(video=0), strict=True):
                assert np.array_equal(old.to_ndarray(), new.to_ndarray())
    first = (tmp_path / "copy.mp4").read_bytes()
    copy_plain(tmp_path / "copy.mp4", tmp_path / "again.mp4", sound=True)
    assert (tmp_path / "again.mp4").read_bytes() == first, "a copy of a copy is the copy"
    for codec, options in (("mpeg4", {}), ("libx265", {"x265-params": "log-level=none"})):
        other = write_video(tmp_path / f"{codec}.mp4", codec=codec, options=options)
        with pytest.raises(MediaError, match="may contain more than pictures"):
            copy_plain(other, tmp_path / "refused.mp4")
    assert not (tmp_path / "refused.mp4").exists()


HIDDEN = b"Wang Mei SN-4711-cam 48.8566 2026-03-14"


def remuxed(source: Path, target: Path, *, behind_sound: bytes = b"", mp3: bool = False, **tags: str) -> Path:
    """A film anew, with tags of the container, of its streams (``video_...``, ``audio_...``), or bytes behind sound."""
    with av.open(str(source)) as film, av.open(str(target), "w") as out:
        pictures, sound = film.streams.video[0], film.streams.audio[0]
        shown = out.add_stream_from_template(pictures)
        heard: Any = out.add_stream("libmp3lame", rate=16000, layout="mono") if mp3 else None
        heard = heard or out.add_stream_from_template(sound)
        for name, text in tags.items():
            holder = {"video": shown.metadata, "audio": heard.metadata}.get(name.partition("_")[0], out.metadata)
            holder[name.removeprefix("video_").removeprefix("audio_")] = text
        for packet in film.demux(pictures, sound):
            if packet.dts is None:
                continue
            new: list[Any] = [packet]
            if packet.stream is sound and mp3:
                new = [each for frame in packet.decode() for each in heard.encode(frame)]
            for each in new:
                if packet.stream is sound and behind_sound:
                    longer = av.Packet(bytes(each) + behind_sound)
                    longer.pts, longer.dts, longer.duration = each.pts, each.dts, each.duration
                    longer.time_base, each = each.time_base, longer
                each.stream = shown if packet.stream is pictures else heard
                out.mux(each)
    return target


def with_profile(source: Path, target: Path) -> Path:
    """A film whose head holds a colour profile (ICC) that names the device: boxes grow by a ``colr``, moov is last."""
    data = bytearray(source.read_bytes())
    box = struct.pack(">I4s4s", 12 + 128 + len(HIDDEN), b"colr", b"prof") + bytes(36) + b"acsp" + bytes(88) + HIDDEN
    at, ends = 0, []
    heads = dict.fromkeys((b"moov", b"trak", b"mdia", b"minf", b"stbl"), 8) | {b"stsd": 16, b"avc1": 86}
    for name, skip in heads.items():
        while bytes(data[at + 4 : at + 8]) != name:
            at += int.from_bytes(data[at : at + 4], "big")
        ends.append(at)
        at += skip
    for place in ends:
        data[place : place + 4] = (int.from_bytes(data[place : place + 4], "big") + len(box)).to_bytes(4, "big")
    data[at:at] = box
    target.write_bytes(data)
    return target


def units_planted(units: list[bytes], behind: bool = False) -> Any:
    return lambda film, target: planted(film, target, units, behind=behind)


def tags_planted(**tags: str) -> Any:
    return lambda film, target: remuxed(film, target, **{name: HIDDEN.decode() for name in tags})


def box_planted(kind: bytes, head: bytes = b"") -> Any:
    box = struct.pack(">I4s", 8 + len(head + HIDDEN), kind) + head + HIDDEN
    return lambda film, target: target.write_bytes(film.read_bytes() + box)


def behind_slices(film: Path, target: Path) -> Path:
    """The last slice of each picture goes on with writing: its unit is longer."""

    def longer(data: bytes) -> bytes:
        at = 0
        while (end := at + 4 + int.from_bytes(data[at : at + 4], "big")) < len(data):
            at = end
        return data[:at] + (len(data) - at - 4 + len(HIDDEN)).to_bytes(4, "big") + data[at + 4 :] + HIDDEN

    return planted(film, target, [], change=longer)


PLANTS: dict[str, Any] = {
    **{f"tag {name}": tags_planted(**{name: ""}) for name in ("title", "comment", "artist", "album", "description",
       "copyright", "video_handler_name", "audio_handler_name")},
    **{f"box {name}": box_planted(name.encode(), bytes(16) if name == "uuid" else b"")
       for name in ("uuid", "free", "skip", "udta", "meta", "abcd")},
    **{f"unit: {name}": units_planted(units, "filler" in name) for name, units in KINDS.items()},
    "payload of a delimiter (9)": units_planted([bytes([9, 0xF0]) + HIDDEN]),
    "unit 2": units_planted([bytes([0x62]) + HIDDEN]),
    "unit 7": units_planted([bytes([0x67, 100, 0, 31, 1]) + HIDDEN]),
    "unit 8": units_planted([bytes([0x68, 1]) + HIDDEN]),
    "unit 7 behind": units_planted([bytes([0x67, 100, 0, 31, 1]) + HIDDEN], True),
    "bytes behind slices": behind_slices,
    "bytes behind units": lambda film, target: planted(film, target, [], change=lambda data: data + HIDDEN),
    "bytes behind AAC": lambda film, target: remuxed(film, target, behind_sound=HIDDEN),
    "bytes behind MP3": lambda film, target: remuxed(film, target, behind_sound=HIDDEN, mp3=True),
    "a colour profile": with_profile,
}  # fmt: skip


def test_each_kind_of_mark_stays_behind_or_the_film_is_refused(tmp_path: Path) -> None:
    film = write_video(tmp_path / "film.mp4", audio=True)
    outcomes = {}
    for number, (name, plant) in enumerate(PLANTS.items()):
        plant(film, source := tmp_path / f"{number}.mp4")
        marks = (HIDDEN, SECRET[:16])
        assert any(mark in source.read_bytes() for mark in marks) or "captions" in name, name
        try:
            copy_plain(source, copy := tmp_path / f"copy-{number}.mp4", sound=True)
        except MediaError as error:
            outcomes[name] = "refused"
            assert HIDDEN.decode() not in str(error)
            continue
        left = [mark for mark in (HIDDEN, SECRET[:8], CAPTIONS[:8]) if mark in copy.read_bytes()]
        outcomes[name] = "left" if left else "gone"
        with av.open(str(film)) as before, av.open(str(copy)) as after:
            for old, new in zip(before.decode(video=0), after.decode(video=0), strict=True):
                assert np.array_equal(old.to_ndarray(), new.to_ndarray()), name
    assert len(PLANTS) >= 28 and "left" not in outcomes.values()
    refused = {"unit 7", "unit 8", "unit 7 behind", "bytes behind slices", "bytes behind units", "bytes behind AAC",
               "bytes behind MP3", "a colour profile"}  # fmt: skip
    assert {name for name, outcome in outcomes.items() if outcome == "refused"} == refused
    for number, name in enumerate(PLANTS):  # a build encodes those anew
        if name in refused - {"bytes behind units"}:  # which no decoder takes
            normalise(tmp_path / f"{number}.mp4", built := tmp_path / "built.mp4")
            assert HIDDEN not in built.read_bytes(), name


def test_no_file_that_leaves_tells_more_than_its_pictures(real: Path, tmp_path: Path) -> None:
    """The public folder, a report's copy, the whole recording, and a clip for a service."""
    dataset = open_dataset(real)
    public = withhold(real, tmp_path / "public", tmp_path / "key.json")
    assert leaked(*(path for path in public.root.rglob("*") if path.is_file())) == []
    link = VideoLinker("copy", dataset, tmp_path / "report", tmp_path)
    assert link(dataset.videos[0]) == "../media/v001.mp4" and leaked(tmp_path / "media" / "v001.mp4") == []
    source, about = dataset.media_path(dataset.videos[0]), {"frames": 4, "mode": "video", "cache": tmp_path / "cache"}
    for span in (None, (0.0, 0.9)):
        shown = view(source, span=span, plain=True, **about).path
        assert shown is not None and shown != source and leaked(shown) == []
    store = FrameStore.of(source, tmp_path / "cache")
    assert leaked(store.plain()) == []
    assert leaked(*(path for path in (tmp_path / "cache").rglob("*") if path.is_file())) == []


def hide(path: Path, begin: int, of_sound: bool) -> None:
    """Have the edit list of the pictures or of the sound show the second from ``begin`` (units of the track) on."""
    data = bytearray(path.read_bytes())
    at = (data.rindex(b"elst") if of_sound else data.index(b"elst")) + 12  # the length of its only edit, in ms
    data[at : at + 8] = struct.pack(">2I", 1000, begin)
    path.write_bytes(data)


def seconds_held(path: Path, **options: str) -> float:
    with av.open(str(path), container_options=options) as container:
        return sum(float(packet.duration * packet.time_base) for packet in container.demux(audio=0) if packet.dts)


@pytest.mark.parametrize("begin", [0, 16000], ids=["the end is hidden", "the beginning is hidden"])
def test_sound_that_is_trimmed_away_stays_behind_and_pictures_are_refused(tmp_path: Path, begin: int) -> None:
    """But for the packet (1,024 samples) at the cut, and the one before that a decoder needs."""
    source = write_video(tmp_path / "v.mp4", audio=True, options={"bf": "0"})
    hide(source, begin, of_sound=True)
    copy_plain(source, tmp_path / "copy.mp4", sound=True)
    assert seconds_held(source, ignore_editlist="1") > 1.9
    assert 0.9 <= seconds_held(tmp_path / "copy.mp4", ignore_editlist="1") < 1 + 2 * 1024 / 16000
    with av.open(str(tmp_path / "copy.mp4")) as copied:
        assert 0.9 < sum(frame.samples for frame in copied.decode(audio=0)) / 16000 < 1.1
    hide(source, begin // 16000 * 5120, of_sound=False)
    assert read_timeline(source).n_frames == 10
    with pytest.raises(MediaError, match="may contain more than pictures"):
        copy_plain(source, tmp_path / "refused.mp4")


@pytest.mark.parametrize(("name", "keep_audio"), [("exam.mp4", True), ("exam.mkv", False)])
def test_a_build_leaves_out_what_a_film_tells(tmp_path: Path, name: str, keep_audio: bool) -> None:
    told(tmp_path / "videos", name)
    (tmp_path / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC))
    rows = [f"{Path(name).stem},{step},consensus,{top:g}" for step, top in STEPS]
    (tmp_path / "labels.csv").write_text("\n".join(["video_id,step_id,rater,points", *rows]))
    options = BuildOptions(keep_audio=keep_audio, consent=("api.example.com",))
    inputs = {"rubric": tmp_path / "rubric.yaml", "labels": tmp_path / "labels.csv", "videos": tmp_path / "videos"}
    built = build_dataset(tmp_path / "out", **inputs, options=options).dataset
    assert recipients(built) == ("api.example.com",)
    assert leaked(*(path for path in built.root.rglob("*") if path.is_file())) == []
    public = withhold(built.root, tmp_path / "public", tmp_path / "key.json")
    assert recipients(public) == ("api.example.com",)
    file = public.media_path(public.videos[0])
    copy_plain(file, tmp_path / "again.mp4", sound=keep_audio)
    assert (tmp_path / "again.mp4").read_bytes() == file.read_bytes(), "so that an upload knows it"


def test_a_refusal_names_only_the_ways_out_that_this_recipient_has(real: Path) -> None:
    for recipient, services, here in (
        ("https://huggingface.co", "services: [huggingface.co]", False),
        ("http://192.0.2.7", "services: [192.0.2.7]", True),
        ("http://gpu.hospital.local", "services: [gpu.hospital.local]", True),
        ("http://node7:8000", "dataset.yaml: for your own machine `consent: {here: [node7]}`.", True),
        (UNSTATED, "where HOST is the host of your service, such as api.openai.com.", False),
    ):
        with pytest.raises(DataError) as caught:
            refuse_without_consent(open_dataset(real), recipient)
        said = str(caught.value)
        assert (
            services in said
            and ("for your own machine `consent: {here: [" in said) == here
            and "use a model" not in said
        )


@pytest.mark.parametrize(
    ("services", "recipient", "goes"),
    [
        (None, "https://api.openai.com/v1", False),
        (None, "http://localhost:8000/v1", True),
        (None, "http://127.0.0.1.evil.example/v1", False),
        (None, UNSTATED, False),
        (["openai.com"], "https://api.openai.com/v1", True),
        (["OpenAI.com."], "https://API.openai.com:443/v1", True),
        (["[::ffff:192.0.2.7]", "2001:DB8::7"], "http://192.0.2.7:8000", True),
        (["[::ffff:192.0.2.7]", "2001:DB8::7"], "http://[2001:db8:0::7]:8000", True),
        (["192.0.2.7"], "http://1.192.0.2.7", False),
        (["openai.com"], "https://evilopenai.com/v1", False),
        (["api.openai.com"], "generativelanguage.googleapis.com", False),
        (["api.openai.com"], UNSTATED, True),
        ("any", "https://api.openai.com/v1", True),
    ],
)
def test_recordings_go_to_those_whom_the_data_set_names(real: Path, services: Any, recipient: str, goes: bool) -> None:
    if services:
        state(real, consent={"services": services})
    if goes:
        refuse_without_consent(open_dataset(real), recipient)
        return
    with pytest.raises(DataError, match="consent and ethics approval"):
        refuse_without_consent(open_dataset(real), recipient)
    state(real, simulated={"videos": True})
    refuse_without_consent(open_dataset(real), recipient)


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"simulated": {}, "simulation": {"seed": 1}}, "a `simulation` makes both videos and labels"),
        ({"synthetic": True}, "`synthetic` does not say what is simulated. Write `simulated: {videos: true"),
        ({"consent": {"services": "everybody"}}, "consent.services"),
        *(
            ({"consent": {"services": [host]}}, said)
            for host, said in {
                "": "is not a host name",
                "com": "would match every name",
                "com.cn": "would match every name",
                "node7": "for your own machine write `here`",
                "https://api.openai.com": "Write api.openai.com",
                "api.openai.com:443": "names a port; consent is given to a host. Write api.openai.com",
                "[::1]:8000": "names a port; consent is given to a host. Write ::1",
                "*.openai.com": "is not a host name",
                "127.1": "is not a host name",
                "öpenai.com": "is not a host name",
            }.items()
        ),
    ],
)
def test_what_consent_cannot_mean_is_refused_where_it_is_stated(real: Path, stated: Any, said: str) -> None:
    state(real, **stated)
    with pytest.raises(DataError, match=re.escape(said)):
        open_dataset(real)
    for host in (stated.get("consent") or {}).get("services") or ():
        if len(host) > 1:
            with pytest.raises(OptionsError, match=re.escape(said)):
                BuildOptions(consent=(host,))


def test_a_simulation_shows_nobody_and_simulated_labels_do_not_make_it_one(real: Path) -> None:
    assert open_dataset(real).synthetic and not open_dataset(real).simulated.videos
    info = yaml.safe_load((real / "dataset.yaml").read_text())
    del info["simulated"]
    (real / "dataset.yaml").write_text(yaml.safe_dump({**info, "simulation": {"seed": 1}}))
    assert open_dataset(real).simulated.videos and open_dataset(real).simulated.labels


def test_this_machine_is_what_it_can_be_reached_by() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        own = probe.getsockname()[0]
    here = (own, "127.0.0.2", "localhost", "http://0.0.0.0:8000", "[::1]:9", socket.gethostname(), "node7")
    assert all(is_here(each, ["node7"]) for each in here)
    assert not any(map(is_here, ("192.0.2.1", "node7", "224.0.0.1.example", "localhost.example", "")))


PROXY = "http://proxy.example.com:3128"


@pytest.mark.parametrize(
    ("name", "client", "arguments", "host"),
    [
        ("chat.openai", "https://api.openai.com/v1/", {}, "https://api.openai.com"),
        ("chat.async_openai", "http://node7:8000/v1", {}, "http://node7:8000"),
        ("chat.openai", "http://[::1]:8000/v1", {}, HERE),
        ("chat.openai", "http://[2001:db8::7]:8000/v1", {}, "http://[2001:db8::7]:8000"),
        ("chat.gemini", None, {}, "generativelanguage.googleapis.com"),
        ("simple.claude", None, {"base_url": "http://127.0.0.1:9"}, "api.anthropic.com"),
        ("simple.gpt4v", None, {"base_url": "http://127.0.0.1:9"}, UNSTATED),
        ("chat.litellm", None, {}, UNSTATED),
        ("chat.qwen2_5_vl", None, {}, HERE),
    ],
)
def test_who_is_asked_is_known_before_the_first_request(
    name: str, client: str | None, arguments: dict[str, str], host: str
) -> None:
    model = SimpleNamespace(client=SimpleNamespace(base_url=client))
    assert recipient_of(model, backends()[name], arguments) == host


@pytest.mark.parametrize(
    ("variables", "address", "reader"),
    [
        ({}, "http://127.0.0.1:9", "http://127.0.0.1:9"),
        ({"http_proxy": PROXY}, "http://127.0.0.1:9", PROXY),
        ({"all_proxy": PROXY}, "https://localhost/v1", PROXY),
        ({"https_proxy": PROXY}, "api.openai.com", "api.openai.com"),
        ({"http_proxy": PROXY}, "http://api.openai.com/v1", PROXY),
        ({"http_proxy": PROXY, "no_proxy": "127.0.0.1"}, "http://127.0.0.1:9", "http://127.0.0.1:9"),
        ({"http_proxy": "http://localhost:3"}, "http://127.0.0.1:9", "http://127.0.0.1:9"),
    ],
)
def test_a_proxy_gets_what_is_not_encrypted_and_what_is_meant_for_this_machine(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], address: str, reader: str
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name.upper(), raising=False)
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert read_by(address) == reader


def test_jobs_and_uploads_need_consent_and_a_plan_says_who_has_it(
    real: Path, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIMING_CACHE", str(tmp_path / "cache"))
    job = ["run", "requests", str(tmp_path / "job.jsonl"), "--data", str(real), "--model", "m"]
    assert main(job) == 1 and "consent and ethics approval" in capsys.readouterr().err
    assert not (tmp_path / "job.jsonl").exists()
    assert main(["run", "plan", "--data", str(real)]) == 0
    assert "Its recordings stay on this machine" in capsys.readouterr().out
    public = withhold(real, tmp_path / "public", tmp_path / "key.json")
    with pytest.raises(DataError, match=r"would go to huggingface\.co"):
        push(public, "org/exams")
    state(real, consent={"services": ["openai.com"], "here": ["node7"]})
    assert main(job) == 0 and "may go to openai.com" in capsys.readouterr().out
    assert leaked(tmp_path / "job.jsonl") == []
    (public.root / "media" / "v001.mp4").write_bytes((real / "media" / "v001.mp4").read_bytes())
    state(public.root, consent={"services": "any"})
    restate(public.root)
    with pytest.raises(DataError, match="may contain more than pictures"):
        push(open_dataset(public.root), "org/exams")


@pytest.mark.parametrize(
    ("size", "refs", "decoded"),
    [
        pytest.param((3840, 2160), 3, 40, id="forty of 12 MB", marks=pytest.mark.weekly),
        pytest.param((5120, 2880), 16, 1, id="a decoder would hold 16 of 22 MB"),
    ],
)
def test_a_check_takes_at_most_300_mb_beside_one_picture(
    size: tuple[int, int], refs: int, decoded: int, tmp_path: Path
) -> None:
    flat = np.full((size[1] * 3 // 2, size[0]), 90, np.uint8)
    with av.open(str(tmp_path / "v.mp4"), "w") as out:
        stream = out.add_stream("libx264", rate=25)
        (stream.width, stream.height), stream.pix_fmt = size, "yuv420p"
        stream.options = {"preset": "ultrafast", "threads": "1", "x264-params": f"ref={refs}:bframes=3:rc-lookahead=0"}
        for number in range(40 if refs == 3 else 18):
            flat[100:200, 90 * number : 90 * number + 90] = 6 * number
            out.mux(stream.encode(av.VideoFrame.from_ndarray(flat, format="yuv420p")))
        out.mux(stream.encode(None))
    done = subprocess.run([sys.executable, "-c", MEASURE, str(tmp_path / "v.mp4")], capture_output=True, text=True)
    assert float(done.stdout.split()[0]) < 300 + flat.nbytes / 1e6 and int(done.stdout.split()[1]) == decoded


MEASURE = """
import resource, sys
from pathlib import Path
from siming_tasks.benchmark.exams import Video
from siming_tasks.data.check.media_checks import inspect
path = Path(sys.argv[1])
inspect(path, Video("v", "v.mp4", 1, ()), 1, quick=True)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
frames = inspect(path, Video("v", "v.mp4", 1, ()), 1).frames
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024, frames)
"""
