"""``siming run plan``: a run's requests, needs and costs, and the input that a model actually receives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import say, show_markdown
from siming_tasks.common.errors import OptionsError
from siming_tasks.common.printed_value import counted
from siming_tasks.options import Options

if TYPE_CHECKING:
    from siming_tasks.benchmark.rubrics import Rubric
    from siming_tasks.benchmark.tasks.prompting import PromptOptions
    from siming_tasks.media import Policy
    from siming_tasks.media.run_plan import ExamFacts, RunPlan
    from siming_tasks.models.recipes import Recipe, Service, Weight

_DURATION = 168.9  # mean seconds of the benchmark's videos, as the paper gives it
MOST_NAMED = 33  # steps named in a line; a rubric of 24 recipes has 358
_BYTES_PER_PIXEL = 0.33  # a JPEG of quality 90 of a sharp, noisy 720p recording, scaled to 896 x 504; smooth: a third

_SHOWN = {
    "siming_sound_video_audio_clip_score": ("frames of 4 s", "4 s of sound"),
    "siming_sound_audio_clip_score": ("4 s of sound",),
    "siming_clip_score": ("frames of 4 s",),
}
_CHANNELS = {
    ("sound", True): "the sound arrives and is used.",
    ("sound", False): "NOT SHOWN TO HEAR. The sound is dropped, or the model cannot count four tones.",
    ("pictures", True): "the pictures arrive and are used.",
    ("pictures", False): "NOT SHOWN TO SEE. The pictures are dropped, or the model cannot read a digit.",
}


@cli.command("run plan --data exams --frames 64", "siming run prepare --data exams --frames 64")
@cli.option_flags("data", "split", *cli.MEDIA_OPTIONS, "prompt", "ask")
@click.option("--videos", type=click.IntRange(1), help="number of videos, to plan without a data set")
@click.option("--duration", type=cli.ABOVE_ZERO, help=f"length of the videos in seconds (default {_DURATION})")
@click.option("--model", help="use the frames, limits and command of this model or service")
@click.option(
    "--tokens",
    metavar="F[,F]",
    default="qwen2_5_vl,openai_tiles",
    help="formulas for the tokens of an image, separated by commas",
)
@click.option("--price-in", type=cli.Number(0), help="price per million input tokens")
@click.option("--price-out", type=cli.Number(0), help="price per million output tokens")
@click.option("--canary", is_flag=True, help="instead, ask --model questions about pictures and sound")
@click.option("--model_args", default="", help="with --canary: as for lmms-eval")
@click.option("--force_simple", is_flag=True, help="with --canary: as for lmms-eval")
def plan(
    options: Options,
    videos: int | None,
    duration: float | None,
    model: str | None,
    tokens: str,
    price_in: float | None,
    price_out: float | None,
    canary: bool,
    model_args: str,
    force_simple: bool,
) -> int:
    """Estimate the requests, tokens, disk space, time and cost of a run; or probe what input a model receives."""
    if canary:
        return _ask_canary(model, model_args, force_simple)
    if model_args or force_simple:
        raise OptionsError("--model_args and --force_simple go with --canary.")
    from siming_tasks.benchmark.rubrics import default_rubric
    from siming_tasks.benchmark.tasks.prompting import PromptOptions
    from siming_tasks.data.consent import consent_in_words
    from siming_tasks.media import Policy
    from siming_tasks.media.model_figures import TOKEN_FORMULAS
    from siming_tasks.media.run_plan import ExamFacts, identical_exams, plan_run

    policy, entry, service = Policy.of(options), None, None
    if model:
        entry, service = _recipe_and_service(model)
        frames = entry and entry.full_frames
        if cli.given("frames"):
            if frames and not service:
                raise OptionsError("--model sets the number of frames; give only one of --model and --frames.")
        else:
            policy = replace(policy, frames=frames or policy.frames)
    formulas = tokens.split(",")
    if unknown := [name for name in formulas if name not in TOKEN_FORMULAS]:
        raise OptionsError(f"--tokens {unknown[0]!r} is not one of {', '.join(TOKEN_FORMULAS)}.")
    if (price_in is None) != (price_out is None):
        raise OptionsError("Give --price-in and --price-out together.")
    if videos is not None:
        if cli.given("data"):
            raise OptionsError("--videos plans without a data set; give only one of --videos and --data.")
        rubric, duration = default_rubric(), duration or _DURATION
        exams = identical_exams(rubric, videos, duration)
        say(f"{counted(len(exams), 'video')} of {duration:g} s, 1280 x 720, 25 frames/s, silent; {rubric.rubric_id};")
    else:
        if duration is not None:
            raise OptionsError("--duration goes with --videos; give both or neither.")
        dataset = cli.open_dataset(options, media=True)
        rubric, exams = dataset.rubric, [ExamFacts.read(dataset.media_path(video), video) for video in dataset.videos]
        minutes = sum(exam.timeline.duration for exam in exams) / 60
        say(f"{dataset.name}: {counted(len(exams), 'video')}, {minutes:.1f} min;")
        say(consent_in_words(dataset))
    matched = policy.density_of("clip") == "matched"
    clips = "clips at the same rate" if matched else f"{policy.clip_frames} per clip"
    size = f"longest side {policy.frame_size} pixels"
    say(f"{counted(policy.frames, 'frame')} per video, {clips}, {size}. Tokens and cost are upper bounds.")
    if policy.sampler != "uniform":
        say(
            f"Frames by {policy.sampler}: the same number; which frames, and so the rate "
            "per step, is known after `run prepare`."
        )
    asking = PromptOptions.from_options(options)
    run_plan = plan_run(
        exams,
        rubric,
        policy,
        formulas=formulas,
        prompt_bytes=_prompt_bytes(rubric, exams, asking),
        reply_tokens=asking.most_tokens,
        asking=asking,
        prices=None if price_in is None or price_out is None else (price_in, price_out),
    )
    _print_plan(run_plan, rubric, formulas, asking.most_tokens)
    if service:
        _print_fit(run_plan, exams, policy, service)
    say("SIMING_DRY_RUN=yes before an lmms-eval command counts the replies that are kept already, and asks nothing.")
    if entry:
        _print_commands(entry)
    return 0


def _ask_canary(model: str | None, model_args: str, force_simple: bool) -> int:
    """Ask a model the canary's questions and print which channels it receives; 1 if one is missing."""
    from siming_tasks.models.recipes import recipes
    from siming_tasks.tools.simulator.canary import DRAWS, ask

    if not model:
        raise OptionsError("--canary asks a model: give --model and --model_args as for lmms-eval.")
    if (known := recipes().get(model)) and known.model and not model_args:
        model, model_args = known.model, ",".join(f"{name}={value}" for name, value in known.model_args.items())
    found = ask(model, model_args, force_simple=force_simple)
    for sentence in found.refused:
        say(f"not asked: {sentence}")
    say(f"{model} got {counted(found.requests, 'request')} of {found.task}, each with {', '.join(_SHOWN[found.task])}.")
    for verdict in found.verdicts:
        right = sum(got == wanted for got, wanted in zip(verdict.got, verdict.wanted, strict=True))
        guessed = f"chance of {DRAWS} by guessing: 1 in {1 / verdict.by_guessing:,.0f}"
        say(f"{verdict.channel}: {right} of {DRAWS} right ({guessed}): {_CHANNELS[verdict.channel, verdict.arrives]}")
        if not verdict.arrives:
            replied = " ".join("-" if got is None else str(got) for got in verdict.got)
            say(f"  expected {' '.join(map(str, verdict.wanted))}, replied {replied} (-: unreadable)")
    return int(not all(verdict.arrives for verdict in found.verdicts))


def _recipe_and_service(name: str) -> tuple[Recipe | None, Service | None]:
    """The recipe of a model and the service that it asks; for the name of a service, the service alone."""
    from siming_tasks.models.recipes import recipe, services

    if name.lower() in services():
        return None, services()[name.lower()]
    entry = recipe(name)
    return entry, services().get(entry.service)


def _print_commands(entry: Recipe) -> None:
    """Print the commands of a recipe: that of the model's server, if it needs one, and that of lmms-eval."""
    say(f"\nThe recipe of {entry.title}: {entry.undone or 'run to its end at a stand-in, not with the real model'}")
    for command in filter(None, (entry.server, entry.command())):
        say(f"  {command}")


def _prompt_bytes(rubric: Rubric, exams: Sequence[ExamFacts], asking: PromptOptions) -> dict[str, int]:
    """Bytes of the longest prompt of each setting."""
    from siming_tasks.benchmark.tasks import STANDARD_TASKS, TASKS
    from siming_tasks.benchmark.tasks.expected_requests import step_spans
    from siming_tasks.benchmark.tasks.prompt import build_prompt

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
    """Print the table of all settings, disk space, cost, and the steps that a video cannot show."""
    from siming_tasks.benchmark.tasks import BENCHMARK_TASKS, STANDARD_TASKS, TASKS
    from siming_tasks.benchmark.types import SCOPES
    from siming_tasks.study.report.table import Table

    head = ["setting", "requests", "images", "per request", "frames/s"]
    head += [word for name in formulas for word in (f"image tokens, {name}", f"context, {name}")]
    rows = []
    for setting in run_plan.settings:
        row = [setting.setting, f"{setting.requests:,}", f"{setting.frames:,}", str(setting.frames_max)]
        counts = [count for f in formulas for count in (setting.image_tokens[f][1], setting.context_max[f])]
        rows.append([*row, f"{setting.fps:.2f}", *(f"{count:,}" for count in counts)])
    say("")
    show_markdown(Table(head, rows))
    say(
        "\ncontext: the longest request = images + 16 tokens per time stamp + prompt (its bytes) + a reply of "
        f"{reply:,}\n\nframe store: {counted(run_plan.stored, 'frame')}, {run_plan.disk / 1e9:.1f} GB; one pass over "
        f"all videos: {run_plan.decode_seconds / 60:.0f} min on two cores"
    )
    controls = [name for name in STANDARD_TASKS if name not in BENCHMARK_TASKS]
    for names, words in ((BENCHMARK_TASKS, "the four settings"), (controls, ", ".join(controls))):
        expected = run_plan.cost(names, expected=True)
        for name, cost in run_plan.cost(names).items():
            bounds = f"about {expected[name]:,.2f} with short answers, at most {cost:,.2f} at the prices given"
            say(f"API cost of {words}, {name}: {bounds}")
    for scope in SCOPES:  # what can be seen does not depend on what is asked
        setting = next(item for item in run_plan.settings if TASKS[item.setting].scope == scope)
        always = {step: why for step, (share, why) in setting.unobservable.items() if share == 1}
        some = len(setting.unobservable) - len(always)
        shown = f"{scope} video at {setting.fps:.2f} frames/s" if scope == "full" else f"{scope}s"
        lacking = f"{len(always)} of {len(rubric.steps)} steps lack the evidence that the rubric asks for"
        say(f"\n{shown}: {lacking}{f', {some} in some videos only' * bool(some)}")
        unseen, timed = setting.unseen
        if scope == "full" and timed:
            apart = f"two frames are up to {setting.gap_max:.1f} s apart"
            say(f"  {unseen:,} of {timed:,} marked steps are shown in no frame ({unseen / timed:.1%}); {apart}")
        for why, words in (("silent", "need sound"), ("rate", "need a higher rate")):
            if named := [step for step, reason in always.items() if reason == why]:
                more = f" and {len(named) - MOST_NAMED:,} more" if len(named) > MOST_NAMED else ""
                say(f"  {words}: {' '.join(named[:MOST_NAMED])}{more}")


def _print_fit(run_plan: RunPlan, exams: Sequence[ExamFacts], policy: Policy, service: Service) -> None:
    """Print each setting's largest request with the limits, and what would fit if it does not."""
    source = f"{service.source}{'; ' + service.note if service.note else ''}"
    say(
        f"\n{service.title}, as of {service.checked}: {service.request_mb:g} MB and {service.images} images per request"
        f"\n({source}). Frame sizes are estimated for noisy video."
    )
    for setting in run_plan.settings:
        weight = _request_weight(setting.frames_max, exams, policy)
        reasons = service.refuses(weight)
        verdict = "fits" if not reasons else f"DOES NOT FIT: {'; '.join(reasons)}"
        say(f"  {setting.setting:17}{weight.images:5} images, about {weight.request / 1e6:5.1f} MB: {verdict}")
        if reasons:
            fewer = service.fitting(weight)
            fits = fewer > 0 and not service.refuses(_request_weight(fewer, exams, policy))
            say(f"{'':19}would fit: {counted(fewer, 'frame') if fits else 'smaller images (--frame-size)'}")


def _request_weight(images: int, exams: Sequence[ExamFacts], policy: Policy) -> Weight:
    """Bytes of a request with this many images of the largest exam, as stored."""
    from siming_tasks.media.picture import fit_size
    from siming_tasks.models.recipes import Weight

    sides = [fit_size(exam.width, exam.height, policy.frame_size) for exam in exams]
    size = max((width * height for width, height in sides), default=0) * _BYTES_PER_PIXEL
    return Weight(images, round(images * size), round(size), max((max(pair) for pair in sides), default=0))
