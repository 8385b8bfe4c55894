"""How every H.264 file here is encoded: the same bytes each time, and nothing but pictures in them."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache

__all__ = ["x264"]

_SSE2 = "MMX2,SSE2"
_AVX2 = "MMX2,SSE2Fast,SSSE3,SSE4.2,AVX,FMA3,BMI2,AVX2"
_CPU_AVX2 = 11
"""OpenCV's number of the question whether there is AVX2; it has no name in Python."""


def x264(options: Mapping[str, str], params: str = "") -> dict[str, str]:
    """FFmpeg's options for ``libx264``.

    Closed captions and whatever else travels beside a camera's pictures are left out. The AVX-512 code of x264 164 for
    macroblock trees decides by what was left in memory: of files of 480 x 272 one in eight differed from the others by
    a grey level or two. It is not used.

    Args:
        options: FFmpeg's own.
        params: x264's, ``name=value`` with colons between them.
    """
    asm = _instructions()
    chosen = ":".join(filter(None, (params, asm and f"asm={asm}")))
    return {**options, "a53cc": "0", "udu_sei": "0", **({"x264-params": chosen} if chosen else {})}


@cache
def _instructions() -> str:
    """What x264 may use of this processor; nothing is said of one that is not an x86."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return ""
    import cv2

    return _AVX2 if cv2.checkHardwareSupport(_CPU_AVX2) else _SSE2
