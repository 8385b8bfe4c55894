"""No second clock: the list of all modules that touch the times of packets and frames, and what they do with them."""

from __future__ import annotations

import ast
from pathlib import Path

import siming_tasks

CLOCK = "media/timeline.py"
"""Where second 0 is found (:func:`siming_tasks.media.timeline.read_packets`)."""
ZERO = {
    CLOCK,
    "media/sound.py",  # asks the timeline where the whole sound begins
    "data/check/media_checks.py",  # says that a file begins late, and hands it to the sound
    "tools/builder/source_gate.py",  # when sound begins and ends
    "tools/builder/transcode.py",  # hands it to the sound, and compares it with 0
}
"""Who knows at which second of the container second 0 lies."""
TIMES = {
    CLOCK,
    "media/clips.py",  # distances from a clip's first frame; times of new films
    "media/decode.py",  # which frame comes out of the decoder
    "media/plain_copy.py",  # packets without a time; hidden ones
    "media/sound.py",  # when a piece of sound is heard; packets that are moved
    "tools/builder/kept_sound.py",  # the same of sound that is kept
    "tools/builder/source_gate.py",  # the first and last packet of sound
    "tools/builder/transcode.py",  # which picture comes out of the decoder; times of the new film
    "tools/simulator/video.py",  # times of new films
}
"""Who looks at a packet's or a frame's time."""


def users(*names: str) -> set[str]:
    """Modules of the package that use an attribute of one of these names, with the text of its owner before it."""
    root = Path(siming_tasks.__file__).parent
    return {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in names
    }


def test_one_module_knows_where_a_container_starts() -> None:
    assert users("start_time") == {CLOCK}


def test_who_touches_times_is_listed() -> None:
    assert users("zero") == ZERO
    assert users("pts", "dts", "time_base") == TIMES
