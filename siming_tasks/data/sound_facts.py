"""Sound of a data set, and who can judge the steps that need it: in the card, in ``siming data check``, in findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from siming_tasks.common.schema import Rater, human_raters
from siming_tasks.rubrics import Rubric


@dataclass(frozen=True)
class SoundFacts:
    """Facts about sound.

    Attributes:
        steps: ids of the rubric's steps that need sound.
        all_steps: number of the rubric's steps.
        kept: whether the videos have their sound; None if ``dataset.yaml`` does not state it.
        videos: number of videos.
        transcripts: number of videos with a transcript.
        heard: by person who gave points, whether that person heard (None: not stated).
    """

    steps: tuple[str, ...]
    all_steps: int
    kept: bool | None
    videos: int
    transcripts: int
    heard: Mapping[str, bool | None]

    @classmethod
    def of(
        cls,
        rubric: Rubric,
        *,
        kept: bool | None,
        videos: int,
        transcripts: int,
        raters: Iterable[str],
        facts: Mapping[str, Rater],
    ) -> SoundFacts:
        """The facts of a data set; ``raters`` are the names with points, ``facts`` what is stated of them."""
        steps = tuple(step.id for step in rubric.steps if step.evidence.is_heard)
        heard = {name: facts.get(name, Rater()).heard for name in human_raters(raters, facts)}
        return cls(steps, len(rubric.steps), kept, videos, transcripts, heard)

    def raters(self, heard: bool | None) -> list[str]:
        """Names of the persons who heard, did not, or of whom it is not stated."""
        return [name for name, value in self.heard.items() if value is heard]

    @property
    def sentences(self) -> list[str]:
        """Sentences on what is kept, which steps need sound and who cannot judge them; none where nothing is heard."""
        lines = []
        if self.kept:
            lines.append("Sound is kept: voices identify people, and what is said can name them.")
        if self.transcripts:
            lines.append(f"{self.transcripts} of {self.videos} videos have a transcript, which can name people, too.")
        if not self.steps:
            return lines
        lines.append(f"{len(self.steps)} of the {self.all_steps} steps need sound ({_listed(self.steps)}).")
        if self.kept:
            lines.append(
                "Models that do not hear cannot judge them, and the benchmark's own tasks give pictures alone."
            )
        elif self.kept is None:
            lines.append("Whether the videos have sound is not stated (`sound: true` or `false` in `dataset.yaml`).")
        elif self.transcripts:
            lines.append("The videos have none: models can judge them from a transcript.")
        else:
            lines.append("The videos have none, so that no model can judge them.")
        if deaf := self.raters(False):
            lines.append(f"{_listed(deaf)} judged them without hearing.")
        if heard := self.raters(True):
            given = "" if self.kept else ", which the videos no longer give" if self.kept is False else ""
            lines.append(f"{_listed(heard)} heard the sound{given}.")
        if unstated := self.raters(None):
            lines.append(f"Whether {_listed(unstated)} heard it is not stated (`heard` of `raters`).")
        return lines


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
