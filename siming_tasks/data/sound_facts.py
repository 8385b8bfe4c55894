"""Sound of a data set, and who can judge the steps that need it: in the card, in ``siming data check``, in findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from siming_tasks.benchmark.exams import Rater, Video, human_raters
from siming_tasks.benchmark.rubrics import Rubric
from siming_tasks.common.printed_value import counted


class SoundFacts(NamedTuple):
    """Facts about sound.

    ``steps`` are the ids of the rubric's steps that need sound. ``heard`` says of every person who gave points whether
    that person heard (None: not stated). ``sentences`` say what is kept and who cannot judge which steps; none where
    nothing is heard.
    """

    steps: tuple[str, ...]
    heard: Mapping[str, bool | None]
    sentences: tuple[str, ...]

    def raters(self, heard: bool | None) -> list[str]:
        """Names of the persons who heard, did not, or of whom it is not stated."""
        return [name for name, value in self.heard.items() if value is heard]


def sound_facts_of(
    rubric: Rubric, kept: bool | None, videos: Sequence[Video], raters: Sequence[str], facts: Mapping[str, Rater]
) -> SoundFacts:
    """The facts of a data set; ``kept`` is what ``dataset.yaml`` states, ``facts`` what it states of its raters."""
    steps = tuple(step.id for step in rubric.steps if step.evidence.is_heard)
    transcripts = sum(video.extra.get("transcript") is not None for video in videos)
    heard = {name: facts.get(name, Rater()).heard for name in human_raters(raters, facts)}
    lines = []
    if kept:
        lines.append("Sound is kept: voices identify people, and what is said can name them.")
    if transcripts:
        of = f"{transcripts} of {counted(len(videos), 'video')}"
        lines.append(f"There is a transcript of {of}; it can name people, too.")
    if not steps:
        return SoundFacts(steps, heard, tuple(lines))
    need = "needs" if len(steps) == 1 else "need"
    lines.append(f"{len(steps)} of the {len(rubric.steps)} steps {need} sound ({', '.join(steps)}).")
    if kept:
        lines.append("Models that do not hear cannot judge them, and the benchmark's own tasks give pictures alone.")
    elif kept is None:
        lines.append("Whether the videos have sound is not stated (`sound: true` or `false` in `dataset.yaml`).")
    elif transcripts:
        lines.append("The videos have none: models can judge them from a transcript.")
    else:
        lines.append("The videos have none, so that no model can judge them.")
    lost = ", which the videos no longer give" if kept is False else ""
    for value, begin, end in (
        (False, "", "judged them without hearing."),
        (True, "", f"heard the sound{lost}."),
        (None, "Whether ", "heard it is not stated (`heard` of `raters`)."),
    ):
        if names := [name for name, said in heard.items() if said is value]:
            lines.append(f"{begin}{', '.join(names)} {end}")
    return SoundFacts(steps, heard, tuple(lines))
