"""``--model siming_reference``: a judge behind lmms-eval's model interface.

It answers in the prompt's JSON and is then parsed and scored like any model, so ``kind=oracle`` proves that nothing is
lost between prompt, parser and metrics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from accelerate import Accelerator
from lmms_eval.api.model import lmms
from tqdm import tqdm

from siming_tasks.benchmark.exams import Video
from siming_tasks.benchmark.parsing import format_answers
from siming_tasks.benchmark.parsing.parsed_reply import ABSTAINED
from siming_tasks.benchmark.rubrics import RubricStep
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.models.baselines import judge, pointer, stated_errors, unseen
from siming_tasks.plugin.reply import ASKED
from siming_tasks.plugin.run_context import current_run


class SimingReference(lmms):  # type: ignore[misc]
    """A reference judge as a chat model.

    Args:
        kind: see :data:`siming_tasks.models.baselines.KINDS`.
        seed: of ``kind=random``.
        media: build the whole message, frames decoded, as a model would get it (proves the media path); False skips it.
    """

    is_simple = False
    keeps_replies = False  # they cost nothing, and depend on labels

    def __init__(self, kind: str = "oracle", seed: int = 0, media: bool = True, **_: Any) -> None:
        super().__init__()
        self.kind, self.seed, self.media = kind, int(seed), str(media).lower() not in ("false", "0", "no")
        dataset = current_run().dataset
        self._judge = judge(self.kind, dataset, self.seed)
        self._point = pointer(self.kind, dataset, self.seed)
        self.accelerator = Accelerator()
        self.device = self.accelerator.device
        self._rank, self._world_size = self.accelerator.process_index, self.accelerator.num_processes

    def generate_until(self, requests: list[Any]) -> list[str]:
        """Give one JSON reply per request, in order."""
        replies, run = [], current_run()
        for request in tqdm(requests, desc=f"siming_reference {self.kind}", disable=self.rank != 0):
            _, doc_to_messages, _, doc_id, task, split = request.args
            doc = self.task_dict[task][split][doc_id]
            if self.media:
                doc_to_messages(doc)
            setting, steps, video = TASKS[doc["setting"]], run.steps(doc), run.dataset.video(doc["video_id"])
            answers, form = self._judge(video, steps, setting.answer), setting.answer_format
            shown = asked.media() if self.media and (asked := ASKED.get()) else {}
            gone = unseen(self.kind, steps, shown) if ABSTAINED in form.statuses else []
            details = {key: self._detail(field, doc, video, steps) for field, key in form.reply_keys.items()}
            answers = {name: value for name, value in answers.items() if name not in gone}
            replies.append(format_answers(answers, steps, setting.answer, abstained=gone, details=details or None))
        return replies

    def _detail(self, field: str, doc: Any, video: Video, steps: Sequence[RubricStep]) -> dict[str, Any]:
        """The judge's statement on every step for a field of an answer format; empty if it has no rule for it."""
        if field != "evidence":
            return stated_errors(self.kind, video, steps) if field == "named_errors" else {}
        if doc["step_id"]:  # in seconds of what is shown: a clip is nothing but the step
            span = video.step(doc["step_id"]).span
            return {doc["step_id"]: [(0.0, span[1] - span[0])] if span else []}
        return self._point(video, steps)

    def loglikelihood(self, requests: list[Any]) -> Any:
        """Not part of the benchmark."""
        raise NotImplementedError("siming_reference answers generate_until requests only")

    generate_until_multi_round = loglikelihood
