"""Plan of a run before it starts: what it asks, shows, needs and costs, as counts and upper bounds; no decoding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

from siming_tasks.benchmark.exams import StepLabel, Video
from siming_tasks.benchmark.rubrics import Rubric
from siming_tasks.benchmark.tasks import BENCHMARK_TASKS, STANDARD_TASKS, TASKS
from siming_tasks.benchmark.tasks.prompting import DEFAULT_PROMPTING, MAX_TOKENS, PromptOptions
from siming_tasks.common.errors import MediaError
from siming_tasks.media.decode import decode
from siming_tasks.media.model_figures import TOKEN_FORMULAS
from siming_tasks.media.picture import Orientation, fit_size
from siming_tasks.media.policy import Policy, unobservable_reason
from siming_tasks.media.request_media import Request
from siming_tasks.media.sampler import SLACK
from siming_tasks.media.timeline import Timeline, read_timeline

BYTES_PER_PIXEL = 0.12  # stored JPEG (quality 90) of a noisy 720p recording; smooth pictures take a third
DECODE_PIXELS = 650e6  # pixels a second that a linear decode of H.264 passes on two cores; one-pass preparation too
CAPTION_TOKENS = 16  # upper bound for the time before each frame and the markers around it

SHORT_ANSWER = 9
"""Tokens of a short answer for each step that is asked about: {"scores": {...}} of 33 steps has 291 of OpenAI's cl100k,
{"verdict": "incorrect"} has 7."""
EXPECTED_CAPTION, PROMPT_BYTES_PER_TOKEN = 8, 4  # measured with the same tokenizer on the prompts of the four settings


@dataclass(frozen=True, eq=False)
class ExamFacts:
    """Facts that planning needs: a video's row in the data set, its frames' times, and its pixels."""

    video: Video
    timeline: Timeline
    width: int
    height: int

    @classmethod
    def read(cls, path: Path, video: Video) -> ExamFacts:
        """Read the facts of a file; its sound does not count, because the four settings give none.

        Raises:
            MediaError: the file is not a readable video.
        """
        timeline = read_timeline(path)
        ((_, frame),) = decode(path, timeline, [0])
        return cls(video, timeline, *Orientation.of(frame).size(frame.width, frame.height))

    def shown(self, request: Request) -> tuple[tuple[int, ...], float]:
        """Find the frames that a request shows, and how many of them a second.

        Raises:
            MediaError: the span is beyond the end of the video; names it.
        """
        try:
            indices = request.indices(self.timeline)  # the sampler motion takes as many, others
        except MediaError as error:
            raise MediaError(f"{self.video.media}: {error}") from None
        return tuple(indices), len(indices) / self.timeline.seconds(*request.bounds(self.timeline))


@dataclass(frozen=True)
class SettingPlan:
    """Plan of one setting of a run.

    Attributes:
        frames: images sent, all requests together.
        frames_max: most images in one request.
        fps: median sampled rate (frames/s).
        image_tokens: formula name -> (most in one request, all requests together).
        context_max: formula name -> upper bound of a request's length in tokens: images, captions, prompt, reply.
        unobservable: step id -> (share of its appearances in which it cannot be judged, why).
        gap_max: longest time between two frames of a request (s).
        unseen: (steps with a span of which no frame is shown, steps with a span), all requests together.
        cost: formula name -> upper bound in the currency of the prices; empty without prices.
        expected: the same with a short answer (:data:`SHORT_ANSWER`) and the mean tokens of text.
    """

    setting: str
    requests: int
    frames: int
    frames_max: int
    fps: float
    image_tokens: Mapping[str, tuple[int, int]]
    context_max: Mapping[str, int]
    unobservable: Mapping[str, tuple[float, str]]
    gap_max: float
    unseen: tuple[int, int]
    cost: Mapping[str, float]
    expected: Mapping[str, float]


@dataclass(frozen=True)
class RunPlan:
    """Plan of a whole run: its settings, the different frames on disk, their bytes, and the time of one pass (s)."""

    settings: tuple[SettingPlan, ...]
    stored: int
    disk: float
    decode_seconds: float

    def cost(self, names: Iterable[str] = BENCHMARK_TASKS, *, expected: bool = False) -> dict[str, float]:
        """Sum the costs of these settings: formula name -> upper bound (or expected), in the currency of the prices."""
        costs = [item.expected if expected else item.cost for item in self.settings if item.setting in set(names)]
        return {name: sum(cost[name] for cost in costs) for name in (costs[0] if costs else ())}


def identical_exams(rubric: Rubric, videos: int, duration: float) -> list[ExamFacts]:
    """Make exams when no dataset is at hand: alike, of 720p and 25 frames/s, their steps sharing the time equally."""
    borders = np.linspace(0, duration, len(rubric.steps) + 1).tolist()
    spans = zip(rubric.steps, borders, borders[1:], strict=False)
    video = Video("any", "any.mp4", duration, tuple(StepLabel(step.id, a, b) for step, a, b in spans))
    return [ExamFacts(video, Timeline.even(max(1, round(duration * 25)), 25.0), 1280, 720)] * videos


def plan_run(
    exams: Sequence[ExamFacts],
    rubric: Rubric,
    policy: Policy,
    *,
    settings: Sequence[str] = STANDARD_TASKS,
    formulas: Sequence[str] = ("qwen2_5_vl", "openai_tiles"),
    prompt_bytes: Mapping[str, int] | None = None,
    reply_tokens: int = MAX_TOKENS,
    asking: PromptOptions = DEFAULT_PROMPTING,
    prices: tuple[float, float] | None = None,
) -> RunPlan:
    """Plan a run.

    Args:
        exams: the videos.
        rubric: says which evidence each step needs.
        policy: what is shown of the videos, as images.
        settings: names; ablations are not planned (they cost what the altered setting costs).
        formulas: names in :data:`~siming_tasks.media.model_figures.TOKEN_FORMULAS`.
        prompt_bytes: longest prompt of each setting in bytes; no tokenizer makes more tokens than bytes.
        reply_tokens: longest reply.
        asking: how the questions are put; in parts, every part shows the whole video again.
        prices: per million tokens of input and of output.

    Raises:
        MediaError: a step's span is beyond the end of its video.
    """
    questions: dict[str, list[_Question]] = {name: [] for name in settings}
    stored, disk = 0, 0.0
    for exam in exams:
        width, height = fit_size(exam.width, exam.height, policy.frame_size)
        requests = policy.requests(exam.video, [TASKS[name] for name in settings])
        shown = {request: exam.shown(request) for request in requests}
        for name in settings:
            parts = dict(policy.questions(TASKS[name], exam.video))
            for asked in asking.questions(TASKS[name], [exam.video], rubric.skill_of):
                indices, fps = shown[parts[asked.step_id]]
                spans = [span for step in asked.steps if (span := exam.video.step(step).span)]
                shown_at = exam.timeline.times[list(indices)]
                questions[name].append(_Question(asked.steps, fps, (width, height), spans, shown_at))
        different = len({index for indices, _ in shown.values() for index in indices})
        stored += different
        disk += different * width * height * BYTES_PER_PIXEL
    plans = tuple(
        _plan_setting(name, asked, rubric, formulas, (prompt_bytes or {}).get(name, 0), reply_tokens, prices)
        for name, asked in questions.items()
    )
    seconds = sum(exam.timeline.n_frames * exam.width * exam.height / DECODE_PIXELS for exam in exams)
    return RunPlan(plans, stored, disk, seconds)


@dataclass(frozen=True)
class _Question:
    steps: tuple[str, ...]
    fps: float
    size: tuple[int, int]
    spans: list[tuple[float, float]]  # of the steps that have one
    seconds: NDArray[np.float64]  # of the frames

    @property
    def unseen(self) -> int:
        """Number of steps with a span in which no frame begins that is shown."""
        borders = np.array(self.spans).reshape(-1, 2) - SLACK
        return int((np.diff(np.searchsorted(self.seconds, borders)) == 0).sum())


def _plan_setting(
    name: str,
    questions: Sequence[_Question],
    rubric: Rubric,
    formulas: Sequence[str],
    prompt: int,
    reply: int,
    prices: tuple[float, float] | None,
) -> SettingPlan:
    counts = [len(question.seconds) for question in questions]
    requests, frames, frames_max = len(questions), sum(counts), max(counts, default=0)
    tokens, context, cost, expected = {}, {}, {}, {}
    short = sum(SHORT_ANSWER * len(question.steps) for question in questions)
    for formula in formulas:
        of_images = [len(question.seconds) * TOKEN_FORMULAS[formula](*question.size) for question in questions]
        tokens[formula] = max(of_images, default=0), sum(of_images)
        context[formula] = tokens[formula][0] + CAPTION_TOKENS * frames_max + prompt + reply
        if prices:
            read = sum(of_images) + CAPTION_TOKENS * frames + requests * prompt
            cost[formula] = (read * prices[0] + requests * reply * prices[1]) / 1e6
            likely = sum(of_images) + EXPECTED_CAPTION * frames + requests * prompt / PROMPT_BYTES_PER_TOKEN
            expected[formula] = (likely * prices[0] + short * prices[1]) / 1e6

    reasons: dict[str, list[str | None]] = {step.id: [] for step in rubric.steps}
    for question in questions:
        for step in question.steps:
            reasons[step].append(unobservable_reason(rubric.by_id[step], question.fps))
    unobservable = {}
    for step, found in reasons.items():
        named = Counter(why for why in found if why)
        if named:
            unobservable[step] = (named.total() / len(found), named.most_common(1)[0][0])
    fps = median(question.fps for question in questions) if questions else 0.0
    gap = max((float(np.diff(question.seconds).max(initial=0)) for question in questions), default=0.0)
    unseen = sum(question.unseen for question in questions), sum(len(question.spans) for question in questions)
    return SettingPlan(
        name, requests, frames, frames_max, fps, tokens, context, unobservable, gap, unseen, cost, expected
    )
