"""The options of a run.

lmms-eval has no place for a task's own options, so they are environment variables; the command line of ``siming`` sets
the same fields (:mod:`siming_tasks.cli.flags`). Everything that changes a result is written into the results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

from siming_tasks.common.doc_pages import see
from siming_tasks.options.environment import values_in
from siming_tasks.options.option import Changes, Option
from siming_tasks.options.values import Choice, Decimal, ImageFormat, Kind, Text, Whole

__all__ = ["OPTIONS", "Options"]


def _option(default: Any, kind: Kind | None, changes: Changes, help: str, otherwise: str = "") -> Any:
    """A field; without a kind it is one of the words of its ``Literal`` type."""
    return field(default=default, metadata={"kind": kind, "changes": changes, "help": help, "otherwise": otherwise})


@dataclass(frozen=True)
class Options:
    """One run's options. They check themselves however they are made.

    ``OPTIONS[name]`` says what each field means, what it accepts and what it changes. ``SIMING_<FIELD NAME>`` in the
    environment and ``--<field-name>`` on the command line set a field.

    Raises:
        OptionsError: a value cannot be used; names the field, the value and what is accepted.

    Example:
        >>> from siming_tasks import Options
        >>> Options(rater="rater_a", resamples=2000).frames
        64
        >>> Options(frames=0)
        Traceback (most recent call last):
        siming_tasks.common.errors.OptionsError: frames=0 must be at least 1.
    """

    data: str = _option(
        "",
        Text("DIR|ORG/NAME"),
        "data",
        "dataset folder or Hugging Face dataset (`org/name[@revision]`)",
        "the folder that a finished run names, else the synthetic demo",
    )
    media: Literal["auto", "frames", "video", "proxy"] = _option(
        "auto",
        None,
        "shown",
        "`frames` (our images, each with its time), `video` (a file for the model's own reader), `proxy` (a short file "
        "of just the frames that `frames` would show) or `auto`: frames for every model that takes several images, "
        "a file for the others",
    )
    frames: int = _option(64, Whole(), "shown", "frames per full video, but in video mode")
    clip_frames: int = _option(16, Whole(), "shown", "frames per step clip, but in video mode")
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
    resamples: int = _option(10_000, Whole(least=2), "scored", "resamples of the cluster bootstrap")
    seed: int = _option(0, Whole(least=0, metavar="S"), "scored", "seed of the resamples and other random draws")
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
        f"`off`: ask a service although its known limits say that the requests do not fit ({see('recipes')})",
    )
    replies: str = _option(
        "",
        Text("DIR|off"),
        "asking",
        "folder where every reply of a model is kept when it arrives, so that a run that was cut short goes on where "
        "it stopped; `off` keeps none",
        "`replies` in the cache folder",
    )
    prices: str = _option(
        "",
        Text("FILE"),
        "place",
        "price table (YAML) of what models cost per million tokens",
        "costs are not told",
    )
    limit_cost: float = _option(
        0.0,
        Decimal(least=0, metavar="MONEY"),
        "asking",
        "stop asking, with everything kept, when a run has cost this much; needs `SIMING_PRICES`",
        "no limit",
    )
    demo_videos: int = _option(16, Whole(), "data", "videos in the synthetic demo")

    def __post_init__(self) -> None:
        for name, option in OPTIONS.items():
            object.__setattr__(self, name, option.check(getattr(self, name)))

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> Options:
        """The options that the environment gives; ``env`` stands for it in tests.

        An unknown variable that begins with ``SIMING_`` is warned of in the log, with the nearest known one.

        Raises:
            OptionsError: a variable has an unusable value; names the variable, the value and what is accepted.
        """
        return cls(**values_in(env, OPTIONS.values()))

    @property
    def cache_dir(self) -> Path:
        """The cache folder (not created here)."""
        if self.cache:
            return Path(self.cache).expanduser()
        from platformdirs import user_cache_path

        return user_cache_path("siming-tasks", appauthor=False)

    @property
    def replies_dir(self) -> Path:
        """Where replies are kept (not created here)."""
        return Path(self.replies).expanduser() if self.replies else self.cache_dir / "replies"


def _described() -> dict[str, Option]:
    types = get_type_hints(Options)
    found = {}
    for item in fields(Options):
        facts: dict[str, Any] = dict(item.metadata)
        facts["kind"] = facts["kind"] or Choice(get_args(types[item.name]))
        found[item.name] = Option(item.name, item.default, **facts)
    return found


OPTIONS = _described()
"""What each field of :class:`Options` means, accepts and changes, in the order of the table in the docs."""

Options.__doc__ = f"{Options.__doc__}\n    Attributes:\n" + "".join(
    f"        {option.name}: {option.help.replace('`', '``')}; default: {option.row.default}.\n"
    for option in OPTIONS.values()
)
