"""lmms-eval's command, with what a model really receives written down: all that a processor of pictures is given.

One line of JSON for each call of ``generate``, into the file ``SPY_LOG``. Nothing is changed.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "utils"))
from stand_ins.notes import Notes, Seen

NOTES = Notes()


def watch(kind: str, owner: Any) -> None:
    call = owner.__call__

    def spied(self: Any, media: Any = None, *args: Any, **kwargs: Any) -> Any:
        NOTES.note(kwargs.get(kind) if media is None else media)
        return call(self, *(() if media is None else (media,)), *args, **kwargs)

    owner.__call__ = spied


def watch_generate(owner: Any) -> None:
    generate = owner.generate

    def spied(self: Any, *args: Any, **kwargs: Any) -> Any:
        tensors = [name for name, value in kwargs.items() if hasattr(value, "shape")]
        with Path(os.environ["SPY_LOG"]).open("a") as stream:
            stream.write(json.dumps({"pictures": NOTES.pending.pictures, "tensors": tensors}) + "\n")
        NOTES.pending = Seen()
        return generate(self, *args, **kwargs)

    owner.generate = spied


if __name__ == "__main__":
    from lmms_eval.cli.dispatch import main
    from transformers.generation.utils import GenerationMixin
    from transformers.image_processing_utils import BaseImageProcessor
    from transformers.video_processing_utils import BaseVideoProcessor

    watch("images", BaseImageProcessor)
    watch("videos", BaseVideoProcessor)
    watch_generate(GenerationMixin)
    sys.argv[0] = "lmms-eval"
    main()
