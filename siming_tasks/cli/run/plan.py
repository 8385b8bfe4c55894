"""``siming run plan``: what a run will show, need and cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from siming_tasks.cli.parameters import MEDIA_OPTIONS, Checked, DatasetChoice, command, dataset_flags, option_flags
from siming_tasks.cli.terminal import show_markdown
from siming_tasks.options import Decimal, Options, Whole

if TYPE_CHECKING:
    from siming_tasks.common.schema import Scope
    from siming_tasks.data import Dataset
    from siming_tasks.media import Policy
    from siming_tasks.media.run_plan import ExamFacts, RunPlan, SettingPlan
    from siming_tasks.models.recipes import Service, Weight
    from siming_tasks.rubrics import Rubric
    from siming_tasks.tasks.prompting import PromptOptions

__all__ = ["plan"]

DURATION = 168.9
"""Mean length in seconds of the benchmark's videos, as the paper gives it."""

BYTES_PER_PIXEL = {"jpeg90": 0.33, "jpeg75": 0.18, "jpeg60": 0.13, "jpeg40": 0.09, "webp80": 0.21, "png": 1.9}
"""Bytes per pixel of a sharp 720p recording with sensor noise, scaled to 896 x 504; smooth pictures take a third."""


@command()
@dataset_flags()
@option_flags(*MEDIA_OPTIONS, "image_format", "limits", "prompt", "ask")
@click.option(
    "--videos",
    type=Checked(Whole()),
    metavar="V",
    help="number of videos, to plan without a data set",
)
@click.option(
    "--duration",
    type=Checked(Decimal(above=0)),
    metavar="S",
    help=f"length of the videos in seconds (default {DURATION})",
)
@click.option(
    "--model", metavar="NAME", help="a recipe, a model of the paper or a service; sets its frames and checks its limits"
)
@click.option("--tokens", default="qwen2_5_vl,openai_tiles", metavar="F[,F]", help="image-token formulas")
@click.option(
    "--price-in",
    type=Checked(Decimal(least=0, metavar="P")),
    metavar="P",
    help="price of a million input tokens",
)
@click.option(
    "--price-out",
    type=Checked(Decimal(least=0, metavar="P")),
    metavar="P",
    help="price of a million output tokens",
)
def plan(
    chosen: DatasetChoice,
    options: Options,
    videos: int | None,
    duration: float | None,
    model: str | None,
    tokens: str,
    price_in: float | None,
    price_out: float | None,
) -> None:
    """Work out the run and print it."""
    from siming_tasks.common.errors import OptionsError
    from siming_tasks.media import Policy
    from siming_tasks.media.model_figures import TOKEN_FORMULAS
    from siming_tasks.media.run_plan import identical_exams, plan_run
    from siming_tasks.rubrics import default_rubric
    from siming_tasks.tasks.prompting import MAX_TOKENS, MAX_TOKENS_REASONED, PromptOptions

    policy, service = Policy.of(options), None
    if model:
        frames, service = _model(model)
        source = click.get_current_context().get_parameter_source("frames")
        on_command_line = source is click.core.ParameterSource.COMMANDLINE
        if frames and on_command_line and not service:
            raise OptionsError("--model stands for a number of frames; give it or --frames.")
        policy = replace(policy, frames=policy.frames if on_command_line else frames or policy.frames)
    formulas = tokens.split(",")
    if unknown := [name for name in formulas if name not in TOKEN_FORMULAS]:
        raise OptionsError(f"--tokens {unknown[0]!r} is not one of {', '.join(TOKEN_FORMULAS)}.")
    if (price_in is None) != (price_out is None):
        raise OptionsError("Give --price-in and --price-out together.")
    if videos is not None:
        if chosen.data is not None:
            raise OptionsError("--videos plans without a data set; give it or --data.")
        rubric, duration = default_rubric(), duration or DURATION
        exams = identical_exams(rubric, videos, duration)
        print(f"{len(exams)} videos of {duration:g} s, 1280 x 720, 25 frames/s, silent; {rubric.rubric_id};")
    else:
        if duration is not None:
            raise OptionsError("--duration is the length of the videos of --videos; give both or neither.")
        dataset = chosen.open(media=True)
        rubric, exams = dataset.rubric, _exams(dataset)
        print(f"{dataset.name}: {len(exams)} videos, {sum(exam.duration for exam in exams) / 60:.1f} min;")
    print(f"{policy.frames} frames per video, {_clip_words(policy)}, longest side {policy.frame_size} pixels.", end=" ")
    print("Tokens and cost are upper bounds.")
    if policy.sampler != "uniform":
        print(f"Frames by {policy.sampler}: as many as stand here; which, and so the rate of each step, is known once")
        print("they are prepared. Below, steps are judged by the mean rate.")
    asking = PromptOptions.from_options(options)
    reply = MAX_TOKENS_REASONED if asking.style == "reasoned" else MAX_TOKENS
    run_plan = plan_run(
        exams,
        rubric,
        policy,
        formulas=formulas,
        prompt_bytes=_prompt_bytes(rubric, exams, asking),
        reply_tokens=reply,
        asking=asking,
        prices=None if price_in is None or price_out is None else (price_in, price_out),
    )
    _print_plan(run_plan, rubric, formulas, reply)
    if service:
        _print_fit(run_plan, exams, policy, service)


def _model(name: str) -> tuple[int | None, Service | None]:
    """Frames of a full video and the service that is asked, as far as the name of a model or service says."""
    from siming_tasks.common.errors import OptionsError
    from siming_tasks.media import preset
    from siming_tasks.models.recipes import recipe, recipes, services

    if name.lower() in services():
        return None, services()[name.lower()]
    try:
        model_recipe = recipe(name)
    except OptionsError:
        frames = preset(name)  # the paper's word for it; refuses what is neither
        model_recipe = next(
            candidate
            for candidate in recipes().values()
            if candidate.paper and _name_key(candidate.paper) == _name_key(name)
        )
        return frames.frames, services().get(model_recipe.service)
    return model_recipe.full_frames, services().get(model_recipe.service)


def _name_key(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _clip_words(policy: Policy) -> str:
    matched = policy.density_of("clip") == "matched"
    return "clips at the same rate" if matched else f"{policy.clip_frames} per clip"


def _exams(dataset: Dataset) -> list[ExamFacts]:
    from siming_tasks.media.run_plan import ExamFacts

    return [ExamFacts.read(dataset.media_path(video), video) for video in dataset.videos]


def _prompt_bytes(rubric: Rubric, exams: Sequence[ExamFacts], asking: PromptOptions) -> dict[str, int]:
    """Bytes of the longest prompt of each setting."""
    from siming_tasks.tasks import STANDARD_TASKS, TASKS
    from siming_tasks.tasks.expected_requests import step_spans
    from siming_tasks.tasks.prompt import build_prompt

    longest = {}
    videos = {exam.video.video_id: exam.video for exam in exams}
    for name in STANDARD_TASKS:
        setting = TASKS[name]
        asked = [(videos[question.video_id], question.steps)
                 for question in asking.questions(setting, videos.values(), rubric.skill_of)]  # fmt: skip
        different = {(steps, step_spans(setting, video, steps)) for video, steps in asked}
        texts = (
            build_prompt(setting, [rubric.by_id[step] for step in steps], spans, rubric, asking.style)
            for steps, spans in different
        )
        longest[name] = max((len(text.encode()) for text in texts), default=0)
    return longest


def _print_plan(run_plan: RunPlan, rubric: Rubric, formulas: list[str], reply: int) -> None:
    from siming_tasks.common.schema import SCOPES
    from siming_tasks.report.table import Table
    from siming_tasks.tasks import BENCHMARK_TASKS, STANDARD_TASKS, TASKS

    head = ["setting", "requests", "images", "a request", "frames/s"]
    rows = [
        [
            setting.setting, f"{setting.requests:,}", f"{setting.frames:,}", str(setting.frames_max),
            f"{setting.fps:.2f}",
            *(f"{count:,}" for f in formulas for count in (setting.image_tokens[f][1], setting.context_max[f])),
        ]
        for setting in run_plan.settings
    ]  # fmt: skip
    print()
    show_markdown(
        Table.of([*head, *(word for name in formulas for word in (f"image tokens, {name}", "context"))], rows)
    )
    what = "images + 16 tokens per time stamp + prompt (its bytes)"
    print(f"\ncontext: the longest request = {what} + a reply of {reply:,}")
    print(f"\nframe store: {run_plan.stored:,} frames, {run_plan.disk / 1e9:.1f} GB; ", end="")
    print(f"one pass over all videos: {run_plan.decode_seconds / 60:.0f} min on two cores")
    controls = [name for name in STANDARD_TASKS if name not in BENCHMARK_TASKS]
    for names, words in ((BENCHMARK_TASKS, "the four settings"), (controls, ", ".join(controls))):
        for name, cost in run_plan.cost(names).items():
            print(f"API cost of {words}, {name}: at most {cost:,.2f} at the prices given")
    for scope in SCOPES:  # what can be seen does not depend on what is asked
        _print_no_video(scope, next(item for item in run_plan.settings if TASKS[item.setting].scope == scope), rubric)


def _print_no_video(scope: Scope, setting: SettingPlan, rubric: Rubric) -> None:
    always = {step: why for step, (share, why) in setting.unobservable.items() if share == 1}
    some = len(setting.unobservable) - len(always)
    print(f"\n{scope} video at {setting.fps:.2f} frames/s: " if scope == "full" else f"\n{scope}s: ", end="")
    print(
        f"{len(always)} of {len(rubric.steps)} steps lack the evidence that the rubric asks for"
        + (f", {some} in some videos only" * bool(some))
    )
    for why, words in (("silent", "need sound"), ("rate", "need a higher rate")):
        if named := [step for step, reason in always.items() if reason == why]:
            print(f"  {words}: {' '.join(named)}")


def _print_fit(run_plan: RunPlan, exams: Sequence[ExamFacts], policy: Policy, service: Service) -> None:
    """Print each setting's heaviest request beside the limits, and what would fit where it does not."""
    print(
        f"\n{service.title}, as of {service.checked}: {service.request_mb:g} MB and {service.images} images a request"
    )
    print(f"({service.source}{'; ' + service.note if service.note else ''}). Frames are taken for noisy photographs.")
    for setting in run_plan.settings:
        weight = _request_weight(setting.frames_max, exams, policy)
        reasons = service.refuses(weight)
        verdict = "fits" if not reasons else f"DOES NOT FIT: {'; '.join(reasons)}"
        print(f"  {setting.setting:17}{weight.images:5} images, about {weight.request / 1e6:5.1f} MB: {verdict}")
        if reasons:
            ways = list(_ways_to_fit(setting.frames_max, exams, policy, service))
            print(f"{'':19}would fit: {', or '.join(ways) if ways else 'nothing that changes one option alone'}")


def _bytes_per_pixel(policy: Policy) -> float:
    """Bytes per pixel of the images as they are sent: the nearest known quality that is not better."""
    encoding = policy.encoding.of_stored(policy.quality)
    if encoding.quality is None:
        return BYTES_PER_PIXEL["png"]
    known = {int(name[4:]): value for name, value in BYTES_PER_PIXEL.items() if name.startswith("jpeg")}
    share = known[min((quality for quality in known if quality >= encoding.quality), default=90)]
    return share * (BYTES_PER_PIXEL["webp80"] / known[75] if encoding.format == "webp" else 1)


def _request_weight(images: int, exams: Sequence[ExamFacts], policy: Policy) -> Weight:
    from siming_tasks.media.picture import fit_size
    from siming_tasks.models.recipes import Weight

    sides = [fit_size(exam.width, exam.height, policy.frame_size) for exam in exams]
    size = max((width * height for width, height in sides), default=0) * _bytes_per_pixel(policy)
    return Weight(images, round(images * size), round(size), max((max(pair) for pair in sides), default=0))


def _ways_to_fit(images: int, exams: Sequence[ExamFacts], policy: Policy, service: Service) -> Iterator[str]:
    from siming_tasks.media.stored_image import Encoding

    weight = _request_weight(images, exams, policy)
    if (fewer := service.fitting(weight)) > 0 and not service.refuses(_request_weight(fewer, exams, policy)):
        yield f"{fewer} frames"
    scale = math.sqrt(service.request_mb * 1e6 / weight.request)
    smaller = min(service.side_above_20_images or weight.side, math.floor(weight.side * scale / 32) * 32)
    if smaller >= 224 and not service.refuses(_request_weight(images, exams, replace(policy, frame_size=smaller))):
        yield f"--frame-size {smaller}"
    for form in ("jpeg", "jpeg75", "jpeg60", "jpeg40"):
        other = replace(policy, encoding=Encoding.of(form))
        if other.encoding != policy.encoding and not service.refuses(_request_weight(images, exams, other)):
            yield f"--image-format {form}"
            return
