"""Media modes: one object each, which every place asks; records name them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.common.errors import OptionsError
from siming_tasks.media import FRAMES, MEDIA_MODES, NOTHING_SHOWN, PROXY, UNKNOWN_MODE, VIDEO, Backend, recorded_mode

PACKAGE = Path(__file__).parents[2] / "siming_tasks"


def test_modes_declare_image_output_and_frame_sampling() -> None:
    facts = {name: (mode.images, mode.sampled) for name, mode in MEDIA_MODES.items()}
    assert facts == {"frames": (True, True), "video": (False, False), "proxy": (False, True)}
    assert [mode.of_ablations for mode in (FRAMES, VIDEO, PROXY)] == [FRAMES, PROXY, PROXY]


@pytest.mark.parametrize(
    ("takes", "refused"),
    [
        ({"images": "several", "video": True}, []),
        ({"images": "one", "video": True}, ["frames"]),
        ({"images": "none", "video": True}, ["frames"]),
        ({"images": "several"}, ["video", "proxy"]),
        ({"images": "several", "video": True, "file": "faulty"}, ["video", "proxy"]),
        ({"images": "several", "video": True, "file": "short"}, ["video", "proxy"]),
    ],
)
def test_a_mode_refuses_classes_that_cannot_take_it(takes: dict[str, Any], refused: list[str]) -> None:
    backend, names = Backend("x", **takes), []
    for name, mode in MEDIA_MODES.items():
        try:
            mode.check_backend(backend, name)
        except OptionsError as error:
            assert str(error).startswith(f"SIMING_MEDIA={name}: ")
            assert "Unset SIMING_MEDIA" in str(error)
            names.append(name)
    assert names == refused


def test_arguments_packages_and_batches_depend_on_the_mode() -> None:
    backend = Backend("x", frames={"a": 1}, arguments={"b": 2}, needs=("p",), video_needs=("q",), batch="file")
    assert [dict(mode.arguments(backend)) for mode in (FRAMES, VIDEO, PROXY)] == [{"a": 1}, {"b": 2}, {"b": 2}]
    assert [mode.packages(backend) for mode in (FRAMES, VIDEO, PROXY)] == [("p",), ("p", "q"), ("p", "q")]
    assert [mode.needs_single_batches(backend) for mode in (FRAMES, VIDEO, PROXY)] == [False, True, True]
    assert all(mode.needs_single_batches(Backend("x", batch="one")) for mode in MEDIA_MODES.values())
    assert not any(mode.needs_single_batches(Backend("x")) for mode in MEDIA_MODES.values())


def test_records_name_their_mode_and_unknown_ones_claim_nothing() -> None:
    assert [recorded_mode({"mode": name}) for name in MEDIA_MODES] == list(MEDIA_MODES.values())
    for media in (NOTHING_SHOWN, {"mode": UNKNOWN_MODE}, {}, None, {"mode": ["frames"]}):
        mode = recorded_mode(media)
        assert (mode.images, mode.sampled) == (False, False)


def test_no_module_compares_a_mode_with_its_name() -> None:
    compared = re.compile(r"""mode\w*(?:\(\w*\)|"\))? *(?:[!=]=|in) *\(?["'](?:frames|video|proxy)["']""")
    assert compared.search('if media.get("mode") == "frames"') and compared.search('if mode in ("frames", "proxy")')
    modules = sorted(PACKAGE.rglob("*.py"))
    assert modules and [str(path) for path in modules if compared.search(path.read_text())] == []
