"""Modalities: the input from an exam in a question (pictures, sound or a transcript); the benchmark uses only pictures.

Runs of different modality answer different questions and are tasks of their own, so that no table ranks them together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Modality:
    """One choice of what a question gives of an exam."""

    name: str  # stands in the names of its tasks; empty for the benchmark's
    title: str = ""  # for people, in a few words
    given: str = ""  # what is given, in a sentence
    pictures: bool = True  # whether frames or a file are shown
    sound: bool = False  # whether the sound is given
    transcript: bool = False  # whether a transcript of what is said is given
    # what the prompt says is given of a full video and of a clip; ``{called}`` and ``{where}`` are the exam's
    of_full: str = ""
    of_clip: str = ""

    def __bool__(self) -> bool:
        return bool(self.name)

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of what a data set must have for it, besides the pictures: ``sound``, ``transcript``."""
        return tuple(name for name in ("sound", "transcript") if getattr(self, name))


PICTURES = Modality("")
"""The benchmark's modality."""

_FULL = " one complete examination{called}, in which a trainee performs the procedure below{where}."
_CLIP = " an examination{called}, in which a trainee performs a procedure{where}."

_MODALITIES = (
    Modality(
        "video_audio", "video and sound", "The video is shown and its sound is given.", sound=True,
        of_full=f"The video and its sound are of{_FULL}",
        of_clip=f"The video clip and its sound are cut from{_CLIP} They are of the one step below.",
    ),
    Modality(
        "audio", "sound alone", "The sound is given and nothing is shown.", pictures=False, sound=True,
        of_full=f"The sound recording, without any picture, is of{_FULL}",
        of_clip=f"The sound recording, without any picture, is cut from{_CLIP} It is of the one step below.",
    ),
    Modality(
        "video_transcript", "video and transcript", "The video is shown, and what is said is given in writing.",
        transcript=True, of_full=f"The video and the transcript of what is said are of{_FULL}",
        of_clip=f"The video clip and the transcript are cut from{_CLIP} They are of the one step below.",
    ),
)  # fmt: skip

MODALITIES: Mapping[str, Modality] = MappingProxyType({modality.name: modality for modality in _MODALITIES})
"""Every modality except the benchmark's, by its name."""
