"""The ledger of a board: submissions, their senders, and their published results. It alone orders and counts.

``INBOX.ledger.jsonl`` is next to the inbox and has a line for each archive and set of labels. A build adds its lines
before it publishes anything, all or none of them; no line is ever changed. Labels can be found out from it by trying:
it is as private as they are. ``INBOX.senders.txt`` is the host's list of senders.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import atomic_write, read_text, sha256_json
from siming_tasks.common.printed_value import counted
from siming_tasks.common.processes import locked
from siming_tasks.common.sanitize import alike, one_line, shown_name
from siming_tasks.data import Dataset
from siming_tasks.data.jsonl import parse_object
from siming_tasks.options import Options
from siming_tasks.tools.board.admission import Entry
from siming_tasks.tools.board.disclosure import NUMBERS, Told, is_scored


class Line(BaseModel):
    """One archive, when it was first seen with these exams.

    ``exams`` are their keys (:func:`exam_keys`), ``shown`` is, by setting, the number that boards show for it, or a
    word for why they show none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    seen: str
    sender: str
    archive: str
    sha256: str
    mapping: str
    exams: list[str]
    shown: dict[str, Told]


@dataclass
class Ledger:
    """A ledger for a build with these exams and this mapping; ``senders`` is the host's list, sender by folder."""

    path: Path
    text: str
    lines: Sequence[Line]
    senders: Mapping[str, str]
    exams: Sequence[str]
    mapping: str

    def check(self, entry: Entry) -> None:
        """Refuse an archive that is not the one that came under its name (DataError)."""
        name = one_line(entry.received.path.name)
        came = [line for line in self.lines if line.archive == name and self._sender(line) == entry.sender]
        if came and entry.received.sha256 not in {line.sha256 for line in came}:
            what = f"not the file that came under this name ({came[0].seen}, SHA-256 {came[0].sha256[:12]})"
            raise DataError(f"{entry.received.path}: {what}. Restore the first one; give a new archive a new name.")

    def order(self, entry: Entry) -> tuple[int, str]:
        """The place of an archive: as it was first seen; new ones of one build by their SHA-256."""
        known = (number for number, line in enumerate(self.lines) if self._is_of(line, entry))
        return next(known, len(self.lines)), entry.received.sha256

    def told(self, entry: Entry) -> dict[str, Told]:
        """By setting, the results that boards on exactly these exams and labels have published for an archive."""
        mine = self.mapping, set(self.exams)
        same = (line for line in self.lines if self._is_of(line, entry) and (line.mapping, set(line.exams)) == mine)
        return {setting: said for line in same for setting, said in line.shown.items()}

    def spent(self) -> Counter[tuple[str, str]]:
        """By setting and sender, the results that reveal something about labels of any of these exams."""
        mine, counts = set(self.exams), Counter[tuple[str, str]]()
        for line in self.lines:
            if mine & set(line.exams):
                scored = (setting for setting, said in line.shown.items() if is_scored(said))
                counts.update((setting, self._sender(line)) for setting in scored)
        return counts

    def append(self, told: Sequence[tuple[Entry, Mapping[str, Told]]]) -> None:
        """Add a line for each archive of which something is told for the first time; all are on the disk, or none."""
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        text = self.text
        for entry, shown in told:
            if shown:
                name, digest = one_line(entry.received.path.name), entry.received.sha256
                line = Line(seen=now, sender=entry.sender, archive=name, sha256=digest, mapping=self.mapping,
                            exams=list(self.exams), shown=dict(shown))  # fmt: skip
                text += line.model_dump_json() + "\n"
        if not text:
            return  # an empty ledger is one that was lost
        with atomic_write(self.path, private=True) as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())

    def _is_of(self, line: Line, entry: Entry) -> bool:
        return line.sha256 == entry.received.sha256 and self._sender(line) == entry.sender

    def _sender(self, line: Line) -> str:
        return self.senders.get(alike(line.sender), line.sender)


@contextmanager
def open_ledger(inbox: Path, archives: int, dataset: Dataset, options: Options, *, new: bool) -> Iterator[Ledger]:
    """The ledger of an inbox with this many archives; another build waits until the block has ended.

    Raises:
        DataError: no list of senders, no ledger without ``new``, one with it, or an invalid line.
    """
    senders, path, lines = read_senders(inbox), _beside(inbox, ".ledger.jsonl"), list[Line]()
    with locked(f"{path}.lock"):
        is_there = path.exists() and path.stat().st_size > 0
        if new and is_there:
            raise DataError(f"{path}: a ledger already exists. Leave --new-ledger out.")
        if not new and not is_there:
            raise DataError(
                f"{path}: {'empty' if path.exists() else 'no such file'}, but {inbox} contains "
                f"{counted(archives, 'archive')}. Put it back. A new one (--new-ledger) forgets all published results, "
                f"and allows {NUMBERS} more per sender and setting on the same hidden labels."
            )
        text = "" if new else read_text(path, 256_000_000)
        text += "" if text.endswith("\n") or not text else "\n"
        for number, line in enumerate(text.split("\n")[:-1], 1):
            try:
                lines.append(Line.model_validate(parse_object(line)))
            except (ValueError, RecursionError) as error:  # pydantic's is a ValueError
                what = f"{path}:{number}: not a line of a ledger ({one_line(error, 200)})"
                raise DataError(f"{what}. Put the last good copy back; nothing was counted.") from None
        yield Ledger(path, text, lines, senders, exam_keys(dataset, options.rater), options.mapping)


def read_senders(inbox: Path) -> dict[str, str]:
    """The sender of each folder, from the host's list: a line is a sender, with commas between the folders' names.

    Raises:
        DataError: no list, or a name that is in it twice.
    """
    path, found = _beside(inbox, ".senders.txt"), dict[str, str]()
    fix = "Write one line per sender: the name of its folder in the inbox."
    for number, line in enumerate(read_text(path, 4_000_000, fix).splitlines(), 1):
        names = [name.strip() for name in line.split(",") if name.strip()]
        for name in names:
            if alike(name) in found:
                raise DataError(f"{path}:{number}: {shown_name(name)} is in the list twice. Keep one.")
            found[alike(name)] = shown_name(names[0])
    return found


def _beside(inbox: Path, ending: str) -> Path:
    """The host's file beside an inbox, wherever a link to either leads."""
    place = Path(os.path.realpath(inbox))
    return Path(os.path.realpath(place.with_name(place.name + ending)))


def exam_keys(dataset: Dataset, rater: str) -> list[str]:
    """Keys of the labelled exams: each by its name, and by the times of its steps, with the points of every step.

    So a new edition in which the films or the names of the exams are new has the same keys.
    """
    keys = set()
    for video in dataset.videos:
        given = [step.scores.get(rater) if step.applicable else None for step in video.steps]
        points = [None if each is None else float(each) for each in given]
        times = [step.span for step in video.steps]
        names = [video.video_id, times] if any(times) else [video.video_id]
        keys |= {sha256_json([name, points])[:16] for name in names}
    return sorted(keys)
