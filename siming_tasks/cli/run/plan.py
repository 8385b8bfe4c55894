"""``siming plan``: what a run will show, need and cost."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from siming_tasks.cli.arguments import Checked
from siming_tasks.cli.dataset import open_chosen
from siming_tasks.cli.flags import add_options, options_from
from siming_tasks.cli.markdown import show
from siming_tasks.cli.run.prepare import media_options
from siming_tasks.options import Decimal, Whole

if TYPE_CHECKING:
    from siming_tasks.common.schema import Scope
    from siming_tasks.data import Dataset
    from siming_tasks.media import Policy
    from siming_tasks.media.plan import ExamFacts, RunPlan, SettingPlan
    from siming_tasks.models.recipes import Service
    from siming_tasks.rubrics import Rubric
    from siming_tasks.tasks.prompting import Asking

__all__ = ["add"]

DURATION = 168.9
"""Mean length in seconds of the benchmark's videos, as the paper gives it."""


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    command = commands.add_parser("plan", help="requests, frames, tokens, disk, time, cost, and steps beyond judging")
    media_options(command)
    add_options(command, "image_format", "limits", "prompt", "ask")
    command.add_argument("--videos", action=Checked, kind=Whole(), metavar="V", help="of a plan without a dataset")
    command.add_argument(
        "--duration",
        action=Checked,
        kind=Decimal(above=0),
        metavar="S",
        help=f"their length in seconds (default {DURATION})",
    )
    command.add_argument(
        "--model", metavar="NAME", help="a recipe, a model of the paper or a service: its frames, limits"
    )
    command.add_argument("--tokens", metavar="F[,F]", default="qwen2_5_vl,openai_tiles", help="image-token formulas")
    for way in ("in", "out"):
        price = Decimal(least=0, metavar="P")
        command.add_argument(f"--price-{way}", action=Checked, kind=price, help=f"price of a million {way}put tokens")
    command.set_defaults(run=plan)


def plan(arguments: argparse.Namespace) -> None:
    """Work out the run and print it."""
    from siming_tasks.common.errors import OptionsError
    from siming_tasks.media import Policy
    from siming_tasks.media.plan import alike
    from siming_tasks.media.plan import plan as work_out
    from siming_tasks.media.tokens import TOKEN_FORMULAS
    from siming_tasks.rubrics import default_rubric
    from siming_tasks.tasks.prompting import REASONED_TOKENS, TOKENS, Asking

    options = options_from(arguments)
    policy, service = Policy.of(options), None
    if arguments.model:
        frames, service = _model(arguments.model)
        if frames and arguments.frames is not None and not service:
            raise OptionsError("--model stands for a number of frames; give it or --frames.")
        policy = replace(policy, frames=policy.frames if arguments.frames else frames or policy.frames)
    formulas = arguments.tokens.split(",")
    if unknown := [name for name in formulas if name not in TOKEN_FORMULAS]:
        raise OptionsError(f"--tokens {unknown[0]!r} is not one of {', '.join(TOKEN_FORMULAS)}.")
    if (arguments.price_in is None) != (arguments.price_out is None):
        raise OptionsError("Give --price-in and --price-out together.")
    if arguments.videos is not None:
        if arguments.data is not None:
            raise OptionsError("--videos plans without a data set; give it or --data.")
        rubric, duration = default_rubric(), arguments.duration or DURATION
        exams = alike(rubric, arguments.videos, duration)
        print(f"{len(exams)} videos of {duration:g} s, 1280 x 720, 25 frames/s, silent; {rubric.rubric_id};")
    else:
        if arguments.duration is not None:
            raise OptionsError("--duration is the length of the videos of --videos; give both or neither.")
        dataset = open_chosen(arguments, options, media=True)
        rubric, exams = dataset.rubric, _exams(dataset)
        print(f"{dataset.name}: {len(exams)} videos, {sum(exam.duration for exam in exams) / 60:.1f} min;")
    print(f"{policy.frames} frames per video, {_clip_words(policy)}, longest side {policy.frame_size} pixels.", end=" ")
    print("Tokens and cost are upper bounds.")
    if policy.sampler != "uniform":
        print(f"Frames by {policy.sampler}: as many as stand here; which, and so the rate of each step, is known once")
        print("they are prepared. Below, steps are judged by the mean rate.")
    asking = Asking.of(options)
    reply = REASONED_TOKENS if asking.style == "reasoned" else TOKENS
    found = work_out(
        exams,
        rubric,
        policy,
        formulas=formulas,
        prompt_bytes=_prompt_bytes(rubric, exams, asking),
        reply_tokens=reply,
        asking=asking,
        prices=None if arguments.price_in is None else (arguments.price_in, arguments.price_out),
    )
    _print_plan(found, rubric, formulas, reply)
    if service:
        from siming_tasks.cli.fit import print_fit

        print_fit(found, exams, policy, service)


def _model(name: str) -> tuple[int | None, Service | None]:
    """Frames of a full video and the service that is asked, as far as the name of a model or service says."""
    from siming_tasks.common.errors import OptionsError
    from siming_tasks.media import preset
    from siming_tasks.models.recipes import recipe, recipes, services

    if name.lower() in services():
        return None, services()[name.lower()]
    try:
        found = recipe(name)
    except OptionsError:
        frames = preset(name)  # the paper's word for it; refuses what is neither
        found = next(one for one in recipes().values() if one.paper and _plain(one.paper) == _plain(name))
        return frames.frames, services().get(found.service)
    return found.full_frames, services().get(found.service)


def _plain(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _clip_words(policy: Policy) -> str:
    matched = policy.density_of("clip") == "matched"
    return "clips at the same rate" if matched else f"{policy.clip_frames} per clip"


def _exams(dataset: Dataset) -> list[ExamFacts]:
    from siming_tasks.media.plan import ExamFacts

    return [ExamFacts.read(dataset.media_path(video), video) for video in dataset.videos]


def _prompt_bytes(rubric: Rubric, exams: Sequence[ExamFacts], asking: Asking) -> dict[str, int]:
    """Bytes of the longest prompt of each setting."""
    from siming_tasks.tasks import PLAIN_TASKS, TASKS
    from siming_tasks.tasks.expected_requests import step_spans
    from siming_tasks.tasks.prompt import build_prompt

    longest = {}
    videos = {exam.video.video_id: exam.video for exam in exams}
    for name in PLAIN_TASKS:
        setting = TASKS[name]
        asked = [(videos[one.video_id], one.steps)
                 for one in asking.questions(setting, videos.values(), rubric.skill_of)]  # fmt: skip
        different = {(steps, step_spans(setting, video, steps)) for video, steps in asked}
        texts = (
            build_prompt(setting, [rubric.by_id[step] for step in steps], spans, rubric, asking.style)
            for steps, spans in different
        )
        longest[name] = max((len(text.encode()) for text in texts), default=0)
    return longest


def _print_plan(found: RunPlan, rubric: Rubric, formulas: list[str], reply: int) -> None:
    from siming_tasks.common.schema import SCOPES
    from siming_tasks.report.table import Table
    from siming_tasks.tasks import BENCHMARK_TASKS, PLAIN_TASKS, TASKS

    head = ["setting", "requests", "images", "a request", "frames/s"]
    rows = [
        [
            setting.setting, f"{setting.requests:,}", f"{setting.frames:,}", str(setting.frames_max),
            f"{setting.fps:.2f}",
            *(f"{count:,}" for f in formulas for count in (setting.image_tokens[f][1], setting.context_max[f])),
        ]
        for setting in found.settings
    ]  # fmt: skip
    print()
    show(Table.of([*head, *(word for name in formulas for word in (f"image tokens, {name}", "context"))], rows))
    what = "images + 16 tokens per time stamp + prompt (its bytes)"
    print(f"\ncontext: the longest request = {what} + a reply of {reply:,}")
    print(f"\nframe store: {found.stored:,} frames, {found.disk / 1e9:.1f} GB; ", end="")
    print(f"one pass over all videos: {found.decode_seconds / 60:.0f} min on two cores")
    controls = [name for name in PLAIN_TASKS if name not in BENCHMARK_TASKS]
    for names, words in ((BENCHMARK_TASKS, "the four settings"), (controls, ", ".join(controls))):
        for name, cost in found.cost(names).items():
            print(f"API cost of {words}, {name}: at most {cost:,.2f} at the prices given")
    for scope in SCOPES:  # what can be seen does not depend on what is asked
        _print_no_video(scope, next(item for item in found.settings if TASKS[item.setting].scope == scope), rubric)


def _print_no_video(scope: Scope, setting: SettingPlan, rubric: Rubric) -> None:
    always = {step: why for step, (share, why) in setting.blind.items() if share == 1}
    some = len(setting.blind) - len(always)
    print(f"\n{scope} video at {setting.fps:.2f} frames/s: " if scope == "full" else f"\n{scope}s: ", end="")
    print(
        f"{len(always)} of {len(rubric.steps)} steps lack the evidence that the rubric asks for"
        + (f", {some} in some videos only" * bool(some))
    )
    for why, words in (("silent", "need sound"), ("rate", "need a higher rate")):
        if named := [step for step, reason in always.items() if reason == why]:
            print(f"  {words}: {' '.join(named)}")
