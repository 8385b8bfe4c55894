"""Measure what classes of lmms-eval do with our requests: ``python utils/measure_model_classes.py [ROW ...]``.

The real class runs in lmms-eval's own evaluation of two tasks. A stand-in takes the place of its weights, tokenizer and
processor (whatever it loads by ``from_pretrained``) and of packages that are not installed. It writes down every
picture, text and argument that it is handed, and answers ``reply 0``, ``reply 1``, ...: hence it is known which request
a reply in the log belongs to. A table is printed; ``--json`` writes what was seen, for the tests.

Data set, frames and the like are those of the environment (``SIMING_DATA``, ``SIMING_FRAMES``, ...).
"""

from __future__ import annotations

import argparse
import base64
import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import json
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from PIL import Image
from transformers import BatchFeature

THUMB = (48, 27)
TOKENS = 777
"""New tokens that are asked for: no class's own number."""
FAILURE = "the stand-in fails"
ABSENT = ("dashscope", "easydict", "librosa", "reka", "soundfile")
"""Packages that a stand-in replaces where they are not installed."""
MEAN, DEVIATION = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])  # of ImageNet, which many subtract


@dataclass
class Seen:
    """Pictures, files, text and arguments that the weights were handed for one reply."""

    pictures: list[list[int]] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    text: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)


class Notes:
    """Notes of a run: what arrived since the last reply, and what each reply was an answer to."""

    def __init__(self) -> None:
        self.pending, self.replies, self.fails_at = Seen(), list[Seen](), -1

    def note(self, *values: Any) -> None:
        """Note pictures, paths and texts, however they are nested."""
        for value in values:
            if isinstance(value, str):
                if value.endswith(".mp4"):
                    self.pending.files.append(value)
                elif value.endswith(".jpg") and Path(value).is_file():
                    self.pending.pictures.append(thumb(Image.open(value)))
                else:
                    self.pending.text += value
            elif isinstance(value, Image.Image):
                self.pending.pictures.append(thumb(value))
            elif isinstance(value, torch.Tensor | np.ndarray):
                if value.ndim >= 3 and 3 in value.shape:
                    flat = value.reshape(-1, *value.shape[-3:])
                    self.pending.pictures += [thumb(item) for item in flat]
            elif isinstance(value, dict):
                self.note(*value.values())
            elif isinstance(value, list | tuple):
                self.note(*value)

    def reply(self, arguments: dict[str, Any]) -> str:
        """Reply to what has arrived."""
        names = ("max_new_tokens", "max_length", "max_tokens", "temperature", "do_sample", "num_beams", "top_p")
        self.pending.arguments = {name: arguments[name] for name in names if name in arguments}
        self.replies.append(self.pending)
        self.pending = Seen()
        if len(self.replies) - 1 == self.fails_at:
            raise RuntimeError(FAILURE)
        return f"reply {len(self.replies) - 1}"


def thumb(picture: Any) -> list[int]:
    """A picture as 27 rows of 48 grey values, whatever its size and whatever was subtracted from its colours."""
    if not isinstance(picture, Image.Image):
        array = np.asarray(picture.float() if hasattr(picture, "float") else picture, dtype=float)
        array = np.moveaxis(array, 0, -1) if array.shape[0] == 3 else array
        if array.min() < 0:
            array = array * DEVIATION + MEAN
        array = array * 255 if array.max() <= 1.5 else array
        picture = Image.fromarray(array.clip(0, 255).round().astype(np.uint8))
    return np.asarray(picture.convert("L").resize(THUMB, Image.Resampling.BOX)).ravel().tolist()


class Anything:
    """Object that has every attribute, can be called, and is itself whatever is asked of it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.__dict__.update(kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return itself."""
        return self


class Tokenizer(Anything):
    """Tokenizer of one token for each byte."""

    eos_token, eos_token_id, pad_token, pad_token_id, padding_side, bos_token_id = "\0", 0, "\0", 0, "left", None

    def encode(self, text: str, **_: Any) -> list[int]:
        """Token ids of a text."""
        return list(text.encode())

    def decode(self, tokens: Any, **_: Any) -> str:
        """Text of token ids, or of one."""
        return bytes(int(token) for token in ([tokens] if isinstance(tokens, int) else tokens) if token).decode()

    def batch_decode(self, rows: Any, **_: Any) -> list[str]:
        """Text of each row."""
        return [self.decode(row) for row in rows]

    def apply_chat_template(self, messages: Any, tokenize: bool = True, **kwargs: Any) -> Any:
        """All texts of a conversation, or their tokens."""
        text = "".join(_strings(messages))
        return self(text, **kwargs) if tokenize else text

    def __call__(self, text: Any = "", *args: Any, **kwargs: Any) -> BatchFeature:
        """Rows of token ids, padded on the left."""
        texts = [text] if isinstance(text, str) else list(text)
        width = max(len(item.encode()) for item in texts)
        rows = [[0] * (width - len(item.encode())) + list(item.encode()) for item in texts]
        ids = torch.tensor(rows)
        return BatchFeature({"input_ids": ids, "attention_mask": (ids != 0).long()})


class Processor(Tokenizer):
    """Processor that notes all that it is given."""

    def __init__(self, notes: Notes) -> None:
        self.notes, self.tokenizer = notes, Tokenizer()

    def apply_chat_template(self, messages: Any, tokenize: bool = True, **kwargs: Any) -> Any:
        """As :class:`Tokenizer`; what is tokenized is noted."""
        if not tokenize:
            return "".join(_strings(messages))
        self.notes.note(messages)
        return Tokenizer.__call__(self, "".join(_strings(messages)))

    def __call__(self, *args: Any, **kwargs: Any) -> BatchFeature:
        """Note what is given, and return the tokens of its texts."""
        self.notes.note(*args, *(value for name, value in kwargs.items() if name not in ("return_tensors", "padding")))
        texts = list(_strings([*args, kwargs.get("text"), kwargs.get("conversation")]))
        batch = kwargs.get("text") if isinstance(kwargs.get("text"), list) else ["".join(texts) or " "]
        return Tokenizer.__call__(self, batch)


class Weights(torch.nn.Module):
    """Weights that answer with the number of the reply; ``echoes``: the prompt comes first, as transformers does."""

    def __init__(self, notes: Notes, echoes: bool = True) -> None:
        super().__init__()
        self.notes, self.echoes = notes, echoes
        self.config, self.generation_config, self.device, self.dtype = Anything(), Anything(), "cpu", torch.float32
        self.language_model = Anything(name_or_path="", config=Anything())

    def to(self, *_: Any, **__: Any) -> Any:
        """Stay where it is."""
        return self

    cuda = half = bfloat16 = float = to

    def generate(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        """Token ids of one reply for each row of the input."""
        ids = kwargs.get("input_ids", args[0] if args else None)
        reply = self.notes.reply({**kwargs, **vars(kwargs.get("generation_config") or Anything())})
        rows = 1 if ids is None else len(ids)
        answers = torch.tensor([list(reply.encode())] * rows)
        return torch.cat([ids, answers], 1) if self.echoes and ids is not None else answers

    def tie_weights(self) -> None:
        """Do nothing: there is nothing to tie."""

    def chat(self, tokenizer: Any, *args: Any, **kwargs: Any) -> tuple[str, None]:
        """Reply as text, the way of many models whose code comes with their weights."""
        generation = next((value for value in args if isinstance(value, dict)), {})
        self.notes.note(*(value for value in args if value is not generation))
        return self.notes.reply({**kwargs, **generation}), None


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in ("type", "role", "video_path", "image_path"):
                yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)


class _Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finder of empty packages in place of those that are not installed: every name in them is a class."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        root = name.partition(".")[0]
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if root in ABSENT else None

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        def named(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return type(name, (Anything,), {"from_pretrained": classmethod(lambda cls, *_, **__: cls())})

        module.__getattr__ = named  # type: ignore[method-assign]


def on_the_processor() -> None:
    """Keep on this machine's processor what a class sends to a graphics card."""

    def here(value: Any) -> Any:
        return "cpu" if str(value).startswith("cuda") else value

    for owner in (torch.Tensor, BatchFeature):
        old = owner.to

        def to(self: Any, *args: Any, old: Any = old, **kwargs: Any) -> Any:
            return old(self, *map(here, args), **{name: here(value) for name, value in kwargs.items()})

        owner.to = to
    torch.Tensor.cuda = lambda self, *_, **__: self  # type: ignore[method-assign, assignment]


@dataclass(frozen=True)
class Case:
    """A class with a stand-in behind it.

    Attributes:
        row: its name in the table of backends.
        arguments: ``model_args`` without which it cannot be made here.
        echoes: what its weights generate begins with the prompt.
        prepare: replaces further names of its module.
    """

    row: str
    arguments: str = "pretrained=stand-in"
    echoes: bool = True
    prepare: Callable[[ModuleType, Notes], None] = lambda module, notes: None

    @property
    def model(self) -> str:
        """Its name for ``--model``."""
        return self.row.partition(".")[2]


def _reka(module: ModuleType, notes: Notes) -> None:
    def create(messages: Any, **kwargs: Any) -> Any:
        for part in messages[0].content:
            notes.note(_image(part["image_url"]) if "image_url" in part else part["text"])
        text = notes.reply(kwargs)
        return Anything(usage=None, responses=[Anything(message=Anything(content=text))])

    vars(module).update(ChatMessage=Anything, RekaClient=lambda **_: Anything(chat=Anything(create=create)))
    vars(module)["NUM_SECONDS_TO_SLEEP"] = 0


def _qwen_vl_api(module: ModuleType, notes: Notes) -> None:
    def call(messages: Any, **kwargs: Any) -> Any:
        notes.note([part.get("text") or Image.open(part["image"]) for part in messages[0]["content"]])
        text = notes.reply(kwargs)
        return {"output": {"choices": [{"message": {"content": [{"text": text}]}}]}}

    vars(module).update(dashscope=Anything(MultiModalConversation=Anything(call=call)), NUM_SECONDS_TO_SLEEP=0)


def _image(url: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(url.partition("base64,")[2])))


CASES = {
    case.row: case
    for case in (
        Case("simple.penguinvl", "pretrained=stand-in,device_map=cpu,device=cpu"),
        Case("simple.phi3v", "model_id_name=stand-in,device=cpu"),
        Case("simple.videollama3", echoes=False),
        Case("simple.internvl2"),
        Case("simple.internvl3"),
        Case("simple.internvl3_5"),
        Case("simple.xcomposer2d5"),
        Case("simple.llava_onevision1_5", "pretrained=stand-in,device=cpu,device_map=cpu"),
        Case("simple.qwen_vl_api", "model_version=stand-in", prepare=_qwen_vl_api),
        Case("chat.llava_onevision2", "pretrained=stand-in,device=cpu,device_map=cpu"),
        Case("chat.llava_onevision1_5", "pretrained=stand-in,device=cpu,device_map=cpu"),
        Case("simple.phi4_multimodal"),
        Case("simple.reka", "model_version=stand-in", prepare=_reka),
    )
}
"""Classes that can be measured, by row."""


@dataclass
class Measured:
    """Samples of the two tasks in one run of a class, or the error that ended it."""

    row: str
    batch_size: int
    error: str = ""
    samples: list[dict[str, Any]] = field(default_factory=list)


@contextmanager
def stand_ins(case: Case, notes: Notes) -> Iterator[None]:
    """Put stand-ins in place of what a class's module loads."""
    module = importlib.import_module(f"lmms_eval.models.{case.row}")
    modules = [module]
    if case.row == "simple.internvl3_5":
        modules = [importlib.import_module("lmms_eval.models.simple.internvl3")]
    if case.row.startswith("chat."):
        simple = f"lmms_eval.models.{case.row.replace('chat.', 'simple.')}"
        modules += [importlib.import_module(simple)] if importlib.util.find_spec(simple) else []
    kinds: list[tuple[str, Callable[..., Any]]] = [
        ("Tokenizer", lambda *_, **__: Tokenizer()),
        ("Processor", lambda *_, **__: Processor(notes)),
        ("Config", lambda *_, **__: Anything()),
        ("", lambda *_, **__: Weights(notes, case.echoes)),
    ]
    with patch.dict(sys.modules):
        saved = [(place, dict(vars(place))) for place in modules]
        for place in modules:
            for name, value in list(vars(place).items()):
                if isinstance(value, type) and hasattr(value, "from_pretrained"):
                    load = next(load for word, load in kinds if word in name)
                    vars(place)[name] = type(name, (), {"from_pretrained": staticmethod(load)})
            case.prepare(place, notes)
        try:
            yield
        finally:
            for place, names in saved:
                vars(place).update(names)


@functools.cache
def _task_manager() -> Any:
    from lmms_eval.tasks import TaskManager

    return TaskManager()  # reads all task files of lmms-eval, which takes longer than a run here


def measure(case: Case, *, batch_size: int = 1, fails_at: int = -1, limit: int = 2) -> Measured:
    """Run a class with stand-ins through the evaluation of a task of full videos and one of clips."""
    from lmms_eval.evaluator import simple_evaluate

    notes, result = Notes(), Measured(case.row, batch_size)
    notes.fails_at = fails_at
    try:
        with stand_ins(case, notes):
            found = simple_evaluate(
                model=case.model, model_args=case.arguments, batch_size=batch_size, limit=limit,
                tasks=["siming_full_score", "siming_clip_score"], task_manager=_task_manager(),
                force_simple=case.row.startswith("simple."), gen_kwargs=f"max_new_tokens={TOKENS}", log_samples=True,
            )  # fmt: skip
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a crash is what is measured
        traceback.print_exc(limit=-3)
        result.error = f"{type(error).__name__}: {error}"
        return result
    for task, samples in found["samples"].items():
        for sample in samples:
            record, reply = sample["siming_stderr"], str(sample["filtered_resps"][0])
            number = re.fullmatch(r"reply (\d+)", reply)
            seen = asdict(notes.replies[int(number[1])]) if number else None
            result.samples.append({
                "task": task, "video": sample["doc"]["video_id"], "step": sample["doc"]["step_id"], "reply": reply,
                "status": record["status"], "media": record["media"], "seen": seen,
            })  # fmt: skip
    return result


def line(result: Measured) -> str:
    """Row of the printed table."""
    if result.error:
        return f"{result.row:28} batch {result.batch_size}: {result.error[:200]}"
    pairs = [(len(item["seen"]["pictures"]), item["media"].get("n_frames")) if item["seen"] else item["reply"]
             for item in result.samples]  # fmt: skip
    arguments = next((item["seen"]["arguments"] for item in result.samples if item["seen"]), {})
    return f"{result.row:28} batch {result.batch_size}: pictures, recorded {pairs}; {arguments}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure rows and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    sys.meta_path.append(_Absent())
    on_the_processor()
    results = []
    for row in options.rows or CASES:
        case = CASES[row]
        for ask in ({}, {"batch_size": 2}, {"fails_at": 1}):
            results.append(measure(case, **ask))
            print(line(results[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(list(map(asdict, results)), default=str))


if __name__ == "__main__":
    main()
