"""Options of a run: one field each, with its meaning, its accepted values, its environment variable and its flag.

lmms-eval has no place for a task's own options, so they are environment variables; the commands of ``siming`` set the
same fields by flags (:mod:`siming_tasks.cli.parameters`). Whatever changes a result is written into the results. This
is the only module that reads the environment.

The reader is our own: pydantic-settings takes 0.21 s of CPU to import and read these fields, this module 0.06 s, and
``siming --help``, which shows them, has 0.25 s in all.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

from siming_tasks.common.doc_pages import see
from siming_tasks.common.errors import OptionsError
from siming_tasks.common.input_kinds import expect
from siming_tasks.common.redact import redact
from siming_tasks.common.value_kinds import Choice, Decimal, ImageFormat, Kind, Refused, Share, Text, Whole

__all__ = [
    "OPTIONS",
    "PUBLIC_SETS",
    "Choice",
    "Decimal",
    "ImageFormat",
    "Kind",
    "Option",
    "Options",
    "Refused",
    "Share",
    "Text",
    "Whole",
    "lmms_eval_variables",
    "videos_of_public_set",
]

_log = logging.getLogger(__name__)


PUBLIC_SETS = ("egooops", "captaincook4d", "egoems")
"""Names that stand for a public set in place of its folder, each with a variable ``<NAME>_VIDEO_DIR``."""

Changes = Literal["data", "place", "shown", "scored", "asking"]
"""Effect of an option: the exams, the place of files, the media shown, the scoring, or how lmms-eval asks."""


@dataclass(frozen=True)
class Option:
    """Description of one field of :class:`Options`.

    Attributes:
        name: of the field.
        default: its value if nothing sets it.
        kind: the values that it accepts.
        help: its meaning, without the default.
        changes: what depends on it.
        otherwise: the default in words, where an empty value stands for something.
    """

    name: str
    default: object
    kind: Kind
    help: str
    changes: Changes
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
    def has_flag(self) -> bool:
        """True if a command of ``siming`` takes it; only a run of lmms-eval asks a model."""
        return self.changes != "asking"

    @property
    def default_text(self) -> str:
        """Default for help texts and tables."""
        return self.otherwise or (f"{self.default:g}" if isinstance(self.default, float) else str(self.default))

    def check(self, value: object) -> object:
        """Return the value that the field holds (OptionsError: names the field, the value and what is accepted)."""
        try:
            return self.kind.check(value)
        except Refused as refused:
            raise OptionsError(f"{self.name}={value!r} {refused}") from None

    def read(self, text: str) -> object:
        """Convert the variable's text (OptionsError: names the variable, the text and what is accepted)."""
        try:
            return self.kind.read(text)
        except Refused as refused:
            raise OptionsError(f"{self.variable}={text!r} {refused}") from None


def _option(default: Any, kind: Kind | None, changes: Changes, help: str, otherwise: str = "") -> Any:
    """Declare a field; without a kind it is one of the words of its ``Literal`` type."""
    return field(default=default, metadata={"kind": kind, "changes": changes, "help": help, "otherwise": otherwise})


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
        siming_tasks.common.errors.OptionsError: frames=0 must be at least 1.
    """

    data: str = _option(
        "",
        Text("DIR|ORG/NAME"),
        "data",
        "dataset folder, Hugging Face dataset (`org/name[@revision]`) or public set (`siming data fetch` lists them)",
        "the folder that a finished run names, else the SYNTHETIC demo that lmms-eval has drawn",
    )
    split: str = _option(
        "",
        Text("[SPLIT:]PART"),
        "data",
        "only the videos of one part of a split: `test` of the main one, `person:test` of a split that has a name",
        "the part that a finished run names, else all videos",
    )
    media: Literal["auto", "frames", "video", "proxy"] = _option(
        "auto",
        None,
        "shown",
        "`frames` (our images, each with its time), `video` (a file for the model's own reader), `proxy` (a short file "
        "of just the frames that `frames` would show) or `auto`: frames for every model that takes several images, "
        "a file for the others",
    )
    frames: int = _option(64, Whole(), "shown", "frames per full video, except in `video` mode")
    clip_frames: int = _option(16, Whole(), "shown", "frames per step clip, except in `video` mode")
    frame_size: int = _option(
        896, Whole(metavar="PIXELS"), "shown", "longest side, in pixels, of the images in frames mode; never enlarged"
    )
    clip_density: Literal["native", "matched"] = _option(
        "native",
        None,
        "shown",
        "`matched` samples clips at the full-video rate: a control, not the benchmark",
    )
    sampler: Literal["uniform", "motion", "scene"] = _option(
        "uniform",
        None,
        "shown",
        "which frames are taken: `uniform` (evenly), or as many by content: more where the picture moves (`motion`), "
        "or where it shows what was not there before (`scene`)",
    )
    image_format: str = _option(
        "jpeg",
        ImageFormat(),
        "shown",
        "how images are sent to a service: `jpeg` (the stored files as they are, quality 90), `png` (the same pixels, "
        "about six times the bytes), or encoded again and smaller (`jpeg75`, `webp80`)",
        "what LMMS_IMAGE_ENCODE_FORMAT and LMMS_IMAGE_JPEG_QUALITY say, else jpeg",
    )
    prompt: Literal["plain", "reasoned"] = _option(
        "plain",
        None,
        "shown",
        "`reasoned` asks to think step by step before the JSON object: a control, not comparable with `plain`",
    )
    ask: Literal["all", "skill", "step"] = _option(
        "all",
        None,
        "shown",
        "what one request about a full video asks about: `all` steps as in the paper, one `skill`, or one `step`; "
        "controls, not comparable with `all`",
    )
    schema: Literal["off", "json"] = _option(
        "off",
        None,
        "shown",
        "`json`: the service is given a JSON schema of the reply, to which it holds the model; a control, not "
        "comparable with `off`; classes that cannot take one are refused",
    )
    mapping: Literal["absolute", "proportional", "proportional-3/4"] = _option(
        "absolute",
        None,
        "scored",
        "points to the four labels of kappa: `absolute` or `proportional`",
    )
    positive: Literal["error", "correct"] = _option(
        "error",
        None,
        "scored",
        "positive class of precision, recall and F1: `error` or `correct`",
    )
    rater: str = _option("consensus", Text("NAME", empty=False), "scored", "whose points are the reference")
    cluster: Literal["auto", "video", "performance", "student", "site"] = _option(
        "auto",
        None,
        "scored",
        "what is left out at a time for intervals, as videos that share it are not independent: `site`, `student` or "
        "`performance`, each with what lies within, single videos (`video`), or `auto`: the largest of these of which "
        "there are at least five",
    )
    cache: str = _option(
        "", Text("DIR"), "place", "folder for the demo, decoded frames and clips", "the user's cache folder"
    )
    cache_gb: float = _option(
        20.0, Decimal(above=0, metavar="GB"), "place", "upper limit of decoded frames on disk, in gigabytes"
    )
    limits: Literal["known", "off"] = _option(
        "known",
        None,
        "place",
        f"`off`: run although the requests exceed the known limits of a service ({see('recipes')})",
    )
    replies: str = _option(
        "",
        Text("DIR|off"),
        "asking",
        "folder where every reply of a model is kept when it arrives, so that a run that was cut short goes on where "
        "it stopped; `off` keeps none",
        "`replies` in the cache folder",
    )
    shard: str = _option(
        "",
        Share(empty=True),
        "asking",
        "only one of several equal parts of each task's requests: `2/5` is the second of five; the folders of all are "
        "one run",
        "all requests",
    )
    lmms_eval: Literal["tested", "any"] = _option(
        "tested", None, "asking", "`any`: run although these tasks were not tested with this version of lmms-eval"
    )
    prices: str = _option(
        "",
        Text("FILE"),
        "place",
        "price table (YAML) of what models cost per million tokens",
        "costs are not reported",
    )
    limit_cost: float = _option(
        0.0,
        Decimal(least=0, metavar="MONEY"),
        "asking",
        "stop a run when it has cost this much; the replies so far are kept; needs `SIMING_PRICES`",
        "no limit",
    )
    demo_videos: int = _option(16, Whole(), "data", "videos in the synthetic demo")

    def __post_init__(self) -> None:
        for name, option in OPTIONS.items():
            object.__setattr__(self, name, option.check(getattr(self, name)))
        for name in ("cache", "replies"):
            if "://" in getattr(self, name):
                where = "is an address. Name a folder; a store elsewhere is mounted, or synchronised with it."
                raise OptionsError(f"{name}={redact(getattr(self, name))!r} {where}")
        if self.schema != "off" and self.prompt == "reasoned":
            raise OptionsError(
                "schema='json' and prompt='reasoned' exclude each other: a reply that is held to the schema has no "
                "room for reasoning. Set one of them."
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
        texts = {name: env.get(name, "").strip() for name in by_variable}
        texts["SIMING_IMAGE_FORMAT"] = texts["SIMING_IMAGE_FORMAT"] or _image_format_of_lmms_eval(env)
        return cls(**{option.name: option.read(texts[name]) for name, option in by_variable.items() if texts[name]})  # type: ignore[arg-type]

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


def _image_format_of_lmms_eval(env: Mapping[str, str]) -> str:
    """Image format that lmms-eval's own two variables ask for; empty if neither is set.

    Raises:
        OptionsError: lmms-eval would fail at, or make something else of, their value.
    """
    name, number = "LMMS_IMAGE_ENCODE_FORMAT", "LMMS_IMAGE_JPEG_QUALITY"
    image_format, quality = (env.get(variable, "").strip() for variable in (name, number))
    try:
        quality = str(Whole(1, 100).read(quality)) if quality else ""
    except Refused as refused:
        raise OptionsError(f"{number}={quality!r} {refused}") from None
    if image_format.upper() not in ("", "PNG", "JPEG", "JPG", "WEBP"):
        raise OptionsError(f"{name}={image_format!r} is not one of PNG, JPEG, WEBP.")
    if image_format.upper() == "PNG":  # lmms-eval does not look at the quality of a PNG
        return "png"
    return f"{image_format or 'jpeg'}{quality}" if image_format or quality else ""


@lru_cache(maxsize=64)  # once a process: every task that is loaded reads the environment
def _warn_unknown(name: str, known: tuple[str, ...]) -> None:
    import difflib  # needed for a misspelling only

    ends = [other.removeprefix("SIMING_") for other in known]  # the common prefix would make all of them look alike
    near = difflib.get_close_matches(name.removeprefix("SIMING_"), ends, n=1)
    way_out = f"did you mean SIMING_{near[0]}?" if near else f"the variables are {', '.join(known)}."
    _log.warning("%s is no variable of siming-tasks and changes nothing; %s", name, way_out)


def lmms_eval_variables() -> dict[str, str]:
    """Variables of lmms-eval that change what its models read of a video, where they are set."""
    return {name: value for name, value in sorted(os.environ.items()) if name.startswith("LMMS_VIDEO_DECODE")}


def environment_with(**changes: str) -> dict[str, str]:
    """Environment of a run of lmms-eval that is started from here: this process's, with these variables."""
    return {**os.environ, **changes}


def videos_of_public_set(name: str) -> Path | None:
    """Folder that the variable of a public set's videos names, as lmms-eval has such: ``EGOOOPS_VIDEO_DIR``."""
    folder = os.environ.get(f"{name.upper()}_VIDEO_DIR", "").strip()
    return Path(folder).expanduser() if folder else None


@contextmanager
def one_process() -> Iterator[None]:
    """While the block runs, lmms-eval takes this process for the only one of the run."""
    before = {name: os.environ.pop(name) for name in ("WORLD_SIZE", "RANK", "LOCAL_RANK") if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(before)


def _describe_fields() -> dict[str, Option]:
    types = get_type_hints(Options)
    options = {}
    for item in fields(Options):
        facts: dict[str, Any] = dict(item.metadata)
        facts["kind"] = facts["kind"] or Choice(get_args(types[item.name]))
        options[item.name] = Option(item.name, item.default, **facts)
    return options


OPTIONS = _describe_fields()
"""Description of each field of :class:`Options`, in the order of the table in the docs."""

Options.__doc__ = f"{Options.__doc__}\n    Attributes:\n" + "".join(
    f"        {option.name}: {option.help.replace('`', '``')}; default: {option.default_text}.\n"
    for option in OPTIONS.values()
)
