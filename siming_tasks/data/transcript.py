"""Transcript of a video: the spoken words with time and speaker, in the key ``transcript`` of its row.

::

    {"video_id": "v001", ..., "transcript": [{"start": 2.6, "end": 4.0, "text": "All safe.", "who": "trainee"}, ...]}

Rows are part of a data set's digest, and so are transcripts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pydantic

from siming_tasks.benchmark.exams import Video
from siming_tasks.common.errors import DataError
from siming_tasks.common.files import sha256_json


@pydantic.dataclasses.dataclass(frozen=True, config={"extra": "forbid", "allow_inf_nan": False})
class Utterance:
    """Words that were said from ``start`` to ``end`` (s of the media file) by ``who``, or by nobody knows whom."""

    start: float
    end: float
    text: str
    who: str = ""

    @property
    def line(self) -> str:
        """One line of the prompt: time in seconds, speaker, words; nothing that is said can begin a line of its own."""
        said = " ".join(self.text.split())
        speaker = f"{' '.join(self.who.split())}: " if self.who.strip() else ""
        return f"[{self.start:.1f} s] {speaker}{said}"


_ROWS = pydantic.TypeAdapter(tuple[Utterance, ...])


def transcript_of(video: Video) -> tuple[Utterance, ...] | None:
    """The transcript that a video's row states, by time; None if it states none (an empty one: nothing was said).

    Raises:
        DataError: the row's ``transcript`` is of another form.
    """
    rows = video.extra.get("transcript")
    if rows is None:
        return None
    try:
        return tuple(sorted(_ROWS.validate_python(rows), key=lambda said: (said.start, said.end)))
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise DataError(
            f"videos.jsonl: {video.video_id}: transcript[{place}]: {first['msg']}. A transcript is a list of "
            "objects with start and end (seconds), text and, if known, who."
        ) from None


def said_within(transcript: Iterable[Utterance], start: float, end: float) -> tuple[Utterance, ...]:
    """Utterances within a part, with times from its start; words that begin before it are those of another part."""
    return tuple(
        Utterance(said.start - start, min(said.end, end) - start, said.text, said.who)
        for said in transcript
        if start <= said.start < end
    )


def transcript_text(transcript: Sequence[Utterance]) -> str:
    """The transcript as prompts contain it."""
    lines = "\n".join(said.line for said in transcript) or "(nothing is said)"
    return f"Transcript of what is said, each line with its time from the start:\n\n{lines}"


def transcript_facts(transcript: Sequence[Utterance]) -> dict[str, object]:
    """Facts of a transcript, as small JSON for the record of a request."""
    return {"lines": len(transcript), "sha256": sha256_json([said.line for said in transcript])}
