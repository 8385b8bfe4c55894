"""``--model siming_nano``: a small trained judge that watches, as an ordinary chat model of lmms-eval.

It sees what any model sees, its messages, and no document, label, rubric or file name besides.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from lmms_eval.api.model import lmms
from tqdm import tqdm

from siming_tasks.common.files import sha256_json
from siming_tasks.models.nano import exam_judge, networks
from siming_tasks.models.nano.exam_judge import Watcher

logger = logging.getLogger(__name__)


class SimingNano(lmms):  # type: ignore[misc]
    """A chat model of about a million parameters.

    Args:
        device: ``cpu``, ``cuda`` ...; default: a GPU where there is one.
        batch_size: requests at a time.
        frames, clip_frames: frames that it takes of a video file of an exam, of a clip (with SIMING_MEDIA=video).
    """

    is_simple = False
    concurrent = True  # several requests are asked in one call

    def __init__(
        self, device: str | None = None, batch_size: int | str = 1, frames: int | str = 64,
        clip_frames: int | str = 16, **_: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        self.accelerator = Accelerator()
        self._rank, self._world_size = self.accelerator.process_index, self.accelerator.num_processes
        self.batch_size = max(1, int(batch_size)) if str(batch_size).isdecimal() else 8
        self.watcher = Watcher(device, frames=int(frames), clip_frames=int(clip_frames))
        self.device = self.watcher.device
        sources = [Path(str(module.__file__)).read_text(encoding="utf-8") for module in (exam_judge, networks)]
        self.replies_depend_on = {"judge": sha256_json([self.watcher.digest, sources])[:16]}

    def generate_until(self, requests: list[Any]) -> list[str]:
        """One JSON reply per request, in order."""
        replies: list[str] = []
        self.watcher.refuse_other_rubric([str(request.args[0]) for request in requests])
        with tqdm(total=len(requests), desc="siming_nano", disable=self.rank != 0) as bar:
            for first in range(0, len(requests), self.batch_size):
                conversations = []
                for request in requests[first : first + self.batch_size]:
                    _, doc_to_messages, _, doc_id, task, split = request.args
                    conversations.append(doc_to_messages(self.task_dict[task][split][doc_id]))
                replies += self.watcher.replies(conversations)
                bar.update(len(conversations))
        for reason, count in self.watcher.silent.items():
            logger.warning("siming_nano did not answer: %s (%d).", reason, count)
        self.watcher.silent.clear()
        return replies

    def loglikelihood(self, requests: list[Any]) -> Any:
        """Not part of the benchmark."""
        raise NotImplementedError("siming_nano answers generate_until requests only")

    generate_until_multi_round = loglikelihood
