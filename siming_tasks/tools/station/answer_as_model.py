"""Answering as a model: the questions of one setting, from exactly the frames that a model gets."""

from __future__ import annotations

import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import sha256_json
from siming_tasks.data import Dataset
from siming_tasks.media import FRAMES, Policy, View, view
from siming_tasks.options import Options
from siming_tasks.parsing import Parsed
from siming_tasks.results.read_predictions import write_predictions
from siming_tasks.results.record import Conditions, Record
from siming_tasks.rubrics import RubricStep
from siming_tasks.tasks import TaskSpec
from siming_tasks.tasks.expected_requests import expected_requests, record_id, steps_of
from siming_tasks.tasks.prompt import build_prompt, prompt_frame, template_hash
from siming_tasks.tools.station.event_log import EventLog, Known
from siming_tasks.tools.station.replay import replay
from siming_tasks.tools.station.station_exams import Exam
from siming_tasks.tools.station.worklist import Frames, Item, Work

_WRITTEN_EVERY = 10.0
"""Seconds between two writings of the prediction file while the work goes on; the event log has every event at once."""


class AsModel(Work):
    """The work of ``siming data rate DIR --as-model --setting S``.

    Answers given under other conditions (data, prompt, frames) are another work of the event log and are left alone.

    Attributes:
        out: the prediction file; holds the questions that are answered whole.
    """

    mode = "model"
    unit = "questions"

    def __init__(
        self, event_log: EventLog, rater: str, dataset: Dataset, setting: TaskSpec, options: Options, out: Path
    ) -> None:
        self.dataset, self.setting, self.options, self.out = dataset, setting, options, out
        self.policy = Policy.of(options)
        self.kinds = ("points",) if setting.answer == "score" else ("verdict",)
        self._written = 0.0
        exams = {}
        for video in dataset.videos:
            digest, path = dataset.media_digest(video, options.cache_dir), dataset.media_path(video)
            exams[video.video_id] = Exam(video.video_id, path, digest, tuple(step.step_id for step in video.steps))
        event_log.know(Known(exam.name, exam.digest, exam.steps) for exam in exams.values())
        self._view = lru_cache(maxsize=4)(self._seen)
        items = [
            Item(exams[name], steps_of(setting, dataset.video(name), step), record_id(setting.name, name, step), step)
            for name, step in expected_requests(setting, dataset.videos)
        ]
        shown = {**self.policy.facts(), "media": FRAMES.name}
        conditions = sha256_json([dataset.digest, template_hash(setting, dataset.rubric), shown])
        work = f"{setting.name}/{conditions[:12]}"
        super().__init__(event_log, work, rater, dataset.rubric, items)
        if any(self.events()):  # an older file stays until there is something to write
            self.write()

    def frames(self, item: Item) -> Frames:
        """Times of the shown frames as a model is told them: a clip does not tell where it was cut from."""
        seen = self._view(item)
        first = seen.times[0] if item.part else 0.0
        times = [round(at - first, 3) for at in seen.times]
        return Frames(tuple(times), times[-1] + round(1 / seen.rate, 3))

    def facts(self, item: Item) -> dict[str, Any]:
        """Media facts of the request, as its record has them."""
        return {**self._view(item).info(), "density": self.policy.density_of(self.setting.scope)}

    def title(self, item: Item) -> str:
        """A model is not told which exam it is."""
        return ""

    def player(self, number: int) -> dict[str, Any]:
        """Single frames."""
        return {"kind": "frames", "src": f"/frame/{number}"}

    def shown(self, item: Item) -> dict[str, Any]:
        """Question of the request in the words of its prompt."""
        return {"setting": self.setting.name, "task": prompt_frame(self.setting, self._rules(item), self.rubric)}

    def picture(self, item: Item, frame: int) -> Path | None:
        """A shown frame as it is in the store, from which models get it."""
        seen = self._view(item)
        if not 0 <= frame < len(seen.indices):
            return None
        seen.store.fill(seen.indices)  # another process may have evicted it
        return seen.store.path(seen.indices[frame])

    def event(self, number: int, name: Any, step: Any, kind: Any, value: Any) -> dict[str, Any]:
        """As :meth:`Work.event`; the prediction file follows within seconds."""
        news = super().event(number, name, step, kind, value)
        if time.monotonic() - self._written > _WRITTEN_EVERY:
            with suppress(DataError):  # the event is in the event log; the end of the work says what is wrong
                self.write()
        return news

    def end(self) -> str:
        """Write the prediction file once more."""
        return f"{self.out}: {self.write()} answered questions. Next: siming score {self.dataset.root} {self.out}"

    def write(self) -> int:
        """Write the prediction file; returns how many questions it holds.

        Raises:
            DataError: it cannot be written.
        """
        records = []
        for item, events in sorted(zip(self.items, self.events(), strict=True), key=lambda pair: pair[0].key):
            state = replay(events)
            if state.left(item.steps):
                continue
            answers = {}
            for step in item.steps:  # as a record has it: points, or 1 for incorrect
                answer = state.step(step)
                answers[step] = float(answer.verdict == "incorrect" if answer.points is None else answer.points)
            media = next((event.value for event in reversed(events) if event.kind == "open"), None)
            prompt = sha256_json(build_prompt(self.setting, self._rules(item), None, self.rubric))[:12]
            conditions = Conditions(prompt=prompt, dataset=self.dataset.digest, media=media or {})
            reply = Parsed("ok", answers)
            records.append(Record.from_reply(self.setting.name, item.exam.name, item.part, reply, conditions))
        try:
            write_predictions(records, self.out)
        except OSError as error:
            raise DataError(
                f"{self.out}: cannot be written ({error.strerror}). Name another file with --out."
            ) from None
        self._written = time.monotonic()
        return len(records)

    def _rules(self, item: Item) -> list[RubricStep]:
        return [step for step in self.rubric.steps if step.id in item.steps]

    def _seen(self, item: Item) -> View:
        video = self.dataset.video(item.exam.name)
        span = video.step(item.part).span if item.part else None
        request = self.policy.request(video.duration, span, self.setting.scope)
        return view(
            item.exam.path,
            digest=item.exam.digest,
            span=request.span,
            budget=request.budget,
            cache=self.options.cache_dir,
            size=self.policy.frame_size,
            quality=self.policy.quality,
            cache_gb=self.options.cache_gb,
            also=self.policy.requests(video, [self.setting]),
        )
