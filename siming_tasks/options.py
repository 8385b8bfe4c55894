"""Options of a run: one field each, with its meaning, its accepted values, its environment variable and its flag.

lmms-eval has no place for a task's own options, so they are environment variables; the commands of ``siming`` set the
same fields by flags (:mod:`siming_tasks.cli.parameters`). Whatever changes a result is written into the results. This
is the only module that reads the environment.

The reader is our own: pydantic-settings takes 0.21 s of CPU to import and read these fields, and ``siming --help``,
which shows them, has 0.25 s in all.
"""

from __future__ import annotations

import logging
import operator
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, SupportsFloat, SupportsIndex, get_args, get_type_hints

from siming_tasks.common.choices import AskUnit, LabelMapping, PromptStyle, SchemaUse
from siming_tasks.common.errors import OptionsError
from siming_tasks.common.input_kinds import expect
from siming_tasks.common.sanitize import is_well_formed

__all__ = ["OPTIONS", "Option", "Options", "shard_of", "variable"]

_log = logging.getLogger(__name__)

CONDITIONS = ("dataset", "prompt", "schema", "media", "frames", "size", "density", "encoding", "sampler", "pixels")
"""What a request was asked about, and how."""
DIFFERENCES = (*CONDITIONS, "videos", "steps")
"""Differences that compared runs may have, by the names under which a user allows them."""

Changes = Literal["data", "place", "shown", "scored", "asking"]
"""Effect of an option: the exams, the place of files, the media shown, the scoring, or how lmms-eval asks."""


@dataclass(frozen=True)
class Option:
    """Description of one field of :class:`Options`.

    Attributes:
        name: of the field.
        default: its value if nothing sets it; of the type of every value.
        help: its meaning, without the default.
        changes: what it affects.
        words: the words to choose from; empty: any value of the type.
        metavar: placeholder of the value in help and tables.
        least: smallest number.
        otherwise: description of the default, if an empty value means something.
    """

    name: str
    default: Any
    help: str
    changes: Changes
    words: tuple[str, ...] = ()
    metavar: str = ""
    least: float = 1
    otherwise: str = ""

    @property
    def variable(self) -> str:
        """Environment variable."""
        return f"SIMING_{self.name.upper()}"

    @property
    def flag(self) -> str:
        """Flag of every command that takes this option."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def default_text(self) -> str:
        """Default for help texts and tables."""
        return self.otherwise or (f"{self.default:g}" if isinstance(self.default, float) else str(self.default))

    def check(self, value: object, said: str = "") -> object:
        """Return the value as plain ``int``, ``float`` or ``str``.

        Raises:
            OptionsError: names the field and the value (or says what ``said`` does), and what is accepted.
        """
        refused = (said or f"{self.name}={value!r}") + " "
        if self.words:
            if not isinstance(value, str) or value not in self.words:
                raise OptionsError(f"{refused}is not one of {', '.join(self.words)}.")
            return value
        if isinstance(self.default, str):
            text = os.fspath(value) if isinstance(value, os.PathLike) else value
            if not isinstance(text, str):
                raise OptionsError(f"{refused}is not text.")
            if self.default and not text:
                raise OptionsError(f"{refused}must not be empty.")
            if not is_well_formed(text):
                raise OptionsError(f"{refused}is not UTF-8. Rename the file or folder.")
            return text
        whole = isinstance(self.default, int)
        if isinstance(value, bool | str) or not isinstance(value, SupportsIndex if whole else SupportsFloat):
            raise OptionsError(f"{refused}is not a {'whole ' * whole}number.")
        number = operator.index(value) if isinstance(value, SupportsIndex) else float(value)
        if not self.least <= number <= 1e9:  # nor is NaN
            raise OptionsError(f"{refused}must be from {self.least:g} to 1,000,000,000.")
        return type(self.default)(number)

    def read(self, text: str, named: str = "") -> object:
        """Convert the text of the variable, or of a flag that is ``named`` (OptionsError: as :meth:`check`)."""
        try:
            value = text.strip().lower() if self.words else type(self.default)(text.strip())
        except ValueError:
            value = text
        said = f"{named or self.variable}={text!r}"
        if self.otherwise and isinstance(value, float) and value <= self.default:  # which stands for "not set"
            raise OptionsError(f"{said} must be above {self.default:g}; unset it for {self.otherwise}.")
        return self.check(value, said)


def _option(default: Any, metavar: str, changes: Changes, help: str, otherwise: str = "", least: float = 1) -> Any:
    """Declare a field; without a metavar it is one of the words of its ``Literal`` type."""
    facts = {"metavar": metavar, "changes": changes, "help": help, "otherwise": otherwise, "least": least}
    return field(default=default, metadata=facts)


@dataclass(frozen=True)
class Options:
    """Options of one run. They check themselves however they are made.

    ``OPTIONS[name]`` says what each field means, what it accepts and what it changes. ``SIMING_<FIELD NAME>`` in the
    environment and ``--<field-name>`` on the command line set a field.

    Raises:
        OptionsError: a value cannot be used; names the field, the value and what is accepted.

    Example:
        >>> from siming_tasks import Options
        >>> Options(rater="rater_a").frames
        64
        >>> Options(frames=0)
        Traceback (most recent call last):
        siming_tasks.common.errors.OptionsError: frames=0 must be from 1 to 1,000,000,000.
    """

    data: str = _option(
        "", "DIR|ORG/NAME", "data",
        "dataset folder, Hugging Face dataset (`org/name[@revision]`) or public set (`siming data fetch` lists them)",
        "that of a finished run, otherwise the SYNTHETIC demo, which lmms-eval draws",
    )  # fmt: skip
    split: str = _option(
        "", "[SPLIT:]PART", "data",
        "only this part of a split: `test` of the main split, `person:test` of a named one",
        "that of a finished run, otherwise all videos",
    )  # fmt: skip
    media: Literal["auto", "frames", "video", "proxy"] = _option(
        "auto", "", "shown",
        "`frames` (images, each with its time), `video` (a file for the model's own reader), `proxy` (a short file of "
        "the same frames) or `auto` (frames if the model takes several images)",
    )  # fmt: skip
    frames: int = _option(64, "N", "shown", "frames per full video; in `video` mode only for some classes")
    clip_frames: int = _option(16, "N", "shown", "frames per step clip; in `video` mode only for some classes")
    frame_size: int = _option(
        896, "PIXELS", "shown", "longest side of the images, except in `video` mode; never enlarged"
    )
    clip_density: Literal["native", "matched"] = _option(
        "native", "", "shown", "`matched` samples clips at the rate of the full video; a control"
    )
    sampler: Literal["uniform", "motion"] = _option(
        "uniform", "", "shown", "`motion` takes more frames where the picture moves; a control"
    )
    prompt: PromptStyle = _option(
        "plain", "", "shown",
        "`reasoned` asks to think step by step before the JSON object; a control",
    )  # fmt: skip
    ask: AskUnit = _option(
        "all", "", "shown",
        "steps of one request about a full video: `all`, or one `skill` or `step`, which are controls",
    )  # fmt: skip
    schema: SchemaUse = _option(
        "off", "", "shown", "`json`: the service enforces a JSON schema of the reply; a control"
    )
    mapping: LabelMapping = _option("absolute", "", "scored", "how points become the four labels of kappa")
    rater: str = _option("consensus", "NAME", "scored", "rater whose points are the reference")
    cache: str = _option("", "DIR", "place", "folder for the demo, decoded frames and clips", "the user's cache folder")
    cache_gb: float = _option(20.0, "GB", "place", "upper limit of decoded frames on disk, in gigabytes", least=0.001)
    replies: str = _option(
        "", "DIR|off", "asking",
        "folder where replies are saved as they arrive; `off` saves none",
        "`replies` in the cache folder",
    )  # fmt: skip
    shard: str = _option(
        "", "I/N", "asking",
        "one of several equal parts of each task's requests: `2/5` is the second of five",
        "all requests",
    )  # fmt: skip
    dry_run: Literal["no", "yes"] = _option("no", "", "asking", "`yes`: only print how many replies are saved")
    lmms_eval: Literal["tested", "any"] = _option(
        "tested", "", "asking", "`any`: accept a version of lmms-eval that was not tested"
    )
    prices: str = _option("", "FILE", "place", "prices of models per million tokens (YAML)", "costs are not reported")
    limit_cost: float = _option(
        0.0, "MONEY", "asking",
        "stop a run when it has cost this much; needs `SIMING_PRICES`",
        "no limit", least=0,
    )  # fmt: skip

    def __post_init__(self) -> None:
        for name, option in OPTIONS.items():
            object.__setattr__(self, name, option.check(getattr(self, name)))
        for name in ("cache", "replies"):
            if "://" in getattr(self, name):
                where = "is an address. Give a folder; mount remote storage, or synchronise it with a folder."
                raise OptionsError(f"{name}={getattr(self, name)!r} {where}")
        shard_of(self.shard)
        if self.schema != "off" and self.prompt == "reasoned":
            raise OptionsError(
                "schema='json' and prompt='reasoned' exclude each other: a reply with a schema has no "
                "room for reasoning. Set only one of them."
            )

    @classmethod
    def of(cls, given: object) -> Options:
        """The options that a function was given; None: the defaults (OptionsError: something else)."""
        return cls() if given is None else expect(given, cls, "options", 'Give Options(rater="rater_a"), for example.')

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> Options:
        """Read the options from the environment; a variable that is blank counts as not set.

        A variable that begins with ``SIMING_`` and sets no option is warned of in the log, with the nearest known one.

        Args:
            env: variables; None: those of this process.

        Raises:
            OptionsError: a variable has an unusable value; names the variable, the value and what is accepted.
        """
        env = os.environ if env is None else env
        by_variable = {option.variable: option for option in OPTIONS.values()}
        for name in sorted(env):
            if name.startswith("SIMING_") and name not in by_variable:
                _warn_unknown(name, tuple(by_variable))
        given = {option: env.get(variable, "").strip() for variable, option in by_variable.items()}
        shard_of(given[OPTIONS["shard"]], OPTIONS["shard"].variable)
        return cls(**{option.name: option.read(text) for option, text in given.items() if text})  # type: ignore[arg-type]

    @property
    def cache_dir(self) -> Path:
        """Cache folder (not created here)."""
        if self.cache:
            return Path(self.cache).expanduser()
        from platformdirs import user_cache_path

        return user_cache_path("siming-tasks", appauthor=False)

    @property
    def replies_dir(self) -> Path:
        """Folder of the kept replies (not created here)."""
        return Path(self.replies).expanduser() if self.replies else self.cache_dir / "replies"


def shard_of(text: str, name: str = "shard") -> tuple[int, int]:
    """Number and count of a part such as ``2/5``; (1, 1) for an empty text (OptionsError: it is not a part)."""
    match = re.fullmatch("([0-9]{1,9})/([0-9]{1,9})", text or "1/1")
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise OptionsError(f"{name}={text!r} is not a part such as 2/5, the second of five.")
    return int(match[1]), int(match[2])


@lru_cache(maxsize=64)  # once a process: every task that is loaded reads the environment
def _warn_unknown(name: str, known: tuple[str, ...]) -> None:
    import difflib  # needed for a misspelling only

    ends = [other.removeprefix("SIMING_") for other in known]  # the common prefix would make all of them look alike
    near = difflib.get_close_matches(name.removeprefix("SIMING_"), ends, n=1)
    way_out = f"did you mean SIMING_{near[0]}?" if near else f"the variables are {', '.join(known)}."
    _log.warning("%s is not a variable of siming-tasks and has no effect; %s", name, way_out)


def lmms_eval_variables() -> dict[str, str]:
    """Variables of lmms-eval that change what its models read of a video, where they are set."""
    return {name: value for name, value in sorted(os.environ.items()) if name.startswith("LMMS_VIDEO_DECODE")}


def environment_with(**changes: str) -> dict[str, str]:
    """Environment of a run of lmms-eval that is started from here: this process's, with these variables."""
    return {**os.environ, **changes}


def variable(name: str) -> str:
    """Variable of another program, such as torch's ``MASTER_ADDR``; empty if it is not set."""
    return os.environ.get(name, "").strip()


def _describe_fields() -> dict[str, Option]:
    types = get_type_hints(Options)
    options = {}
    for item in fields(Options):
        words = get_args(types[item.name])
        facts: dict[str, Any] = {**item.metadata, "words": words}
        facts["metavar"] = facts["metavar"] or "{" + ",".join(words) + "}"
        options[item.name] = Option(item.name, item.default, **facts)
    return options


OPTIONS = _describe_fields()
"""Description of each field of :class:`Options`, in the order of the table in the docs."""

Options.__doc__ = f"{Options.__doc__}\n    Attributes:\n" + "".join(
    f"        {option.name}: {option.help.replace('`', '``')}; default: {option.default_text}.\n"
    for option in OPTIONS.values()
)
