"""API backends against a real HTTP server on loopback that decodes every image it is sent."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.benchmark.parsing import format_answers
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.benchmark.tasks.expected_requests import asked_steps, expected_requests
from siming_tasks.cli import main
from siming_tasks.data import Dataset, open_dataset
from siming_tasks.media import backends, view
from siming_tasks.models.baselines import judge
from tests.plugin.serving import Server, completion, pixels
from tests.records import number_of

pytestmark = pytest.mark.host

FRAMES, CLIP_FRAMES, LIMIT = 12, 3, 36  # clips of two exams
SIZE = 256  # small, because the host's PNG encoder is slow; every frame still differs from every other


def expected_frames(dataset: Dataset, cache: Path) -> dict[tuple[str, ...], list[tuple[str, str | None]]]:
    """Requests by the frames that they show; equal frames may belong to several."""
    by_frames: dict[tuple[str, ...], list[tuple[str, str | None]]] = {}
    for scope, frames in (("full", FRAMES), ("clip", CLIP_FRAMES)):
        for video_id, step_id in expected_requests(TASKS[f"{scope}_score"], dataset.videos)[:LIMIT]:
            video = dataset.video(video_id)
            media, digest = dataset.media_path(video), dataset.media_digest(video)
            span = video.step(step_id).span if step_id else None
            shown = view(media, digest=digest, span=span, frames=frames, mode="frames", cache=cache, size=SIZE)
            by_frames.setdefault(tuple(map(pixels, shown.images())), []).append((video_id, step_id))
    return by_frames


MODEL_ARGS = {
    "openai": "model_version=m,api_key=k,max_retries=1,retry_backoff_s=0,num_concurrent=4,base_url=",
    "async_openai": "model_version=m,api_key=k,max_retries=1,retry_backoff_s=0,num_cpus=4,timeout=2,base_url=",
}

SERVICES = ("chat.async_openai", "chat.gemini", "chat.openai", "simple.claude", "simple.gpt4v", "simple.openai")
"""Rows whose classes ask a service, which stands on loopback here, in ``test_image_encoding`` and in ``recipes``."""


@pytest.mark.parametrize("model", MODEL_ARGS)
def test_every_frame_arrives_once_in_order_and_the_answers_come_back(
    host: Callable[..., Any], serve: Callable[..., Server], short_demo: Path, tmp_path: Path, model: str
) -> None:
    dataset = open_dataset(short_demo)
    frames = expected_frames(dataset, tmp_path / "cache")
    ask = judge("oracle", dataset)

    def oracle(images: tuple[str, ...], text: str, _: int) -> tuple[int, Any]:
        video_id, step_id = next(pair for pair in frames[images] if pair[1] is None or f"[{pair[1]}]" in text)
        scope, answer = ("clip" if step_id else "full"), ("error" if '"verdict' in text else "score")
        names = (step_id,) if step_id else asked_steps(TASKS[f"{scope}_{answer}"], dataset.video(video_id))
        steps = [dataset.rubric.by_id[name] for name in names]
        return completion(format_answers(ask(dataset.video(video_id), steps, answer), steps, answer))

    server = serve(oracle)
    run = host(
        "--model", model, "--model_args", MODEL_ARGS[model] + server.url, "--tasks", "siming_full,siming_clip",
        "--limit", str(LIMIT), data=short_demo,
        SIMING_FRAMES=str(FRAMES), SIMING_CLIP_FRAMES=str(CLIP_FRAMES), SIMING_FRAME_SIZE=str(SIZE),
    )  # fmt: skip
    for name in ("full_score", "full_error", "clip_score", "clip_error"):
        task = run.task(name)
        assert task["coverage"] == 1.0
        assert task["qwk" if "score" in name else "mcc"] == 1.0
        assert task["siming_stderr"]["media"]["encodings"].keys() == {"jpeg90"}
    assert backends()[f"chat.{model}"].sent == "jpeg"
    assert len(server.received) == 2 * (len(dataset.videos) + LIMIT)
    assert {images for images, _ in server.received} == set(frames)  # the right frames, number and order
    for images, texts in server.received:
        if len(images) == FRAMES:
            assert len(set(images)) == FRAMES
            assert texts[0] == "Frame at 0.0 s:" and len(texts) == FRAMES + 1


@pytest.mark.parametrize("model", ["openai", "gpt4v"])
def test_simple_classes_send_the_stored_images_under_their_own_media_type(
    host: Callable[..., Any], serve: Callable[..., Server], short_demo: Path, model: str
) -> None:
    server = serve(lambda *_: completion('{"score": 1}'))
    arguments = {"openai": MODEL_ARGS["openai"] + server.url, "gpt4v": "model_version=m"}[model]
    assert backends()[f"simple.{model}"].sent == "jpeg"
    run = host(
        "--model", model, "--model_args", arguments, "--force_simple", "--tasks", "siming_clip_score", "--limit", "2",
        "--gen_kwargs", "max_new_tokens=777", data=short_demo, SIMING_CLIP_FRAMES="3",
        OPENAI_BASE_URL=server.url, OPENAI_API_KEY="k", API_TYPE="openai",
    )  # fmt: skip
    for record in (sample["siming_stderr"] for sample in run.samples("clip_score")):
        media = record["media"]
        assert (record["status"], media["encoding"], media["n_frames"]) == ("ok", "jpeg90", 3)
    assert [len(images) for images, _ in server.received] == [3, 3]
    assert {kind for options in server.options for kind, _ in options["images"]} == {"image/jpeg"}
    assert all(777 in options.values() for options in server.options)


def test_failed_requests_alone_are_asked_again_and_joined(
    host: Callable[..., Any], serve: Callable[..., Server], short_demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fail, list, run the same command again, join: the numbers of a run that nothing disturbed."""
    dataset = open_dataset(short_demo)
    bad = {f"[{step}]" for step in ("cpr_03", "cpr_04")}
    broken = True

    def answer(_: tuple[str, ...], text: str, __: int) -> Any:
        step = text.split("[", 1)[1].split("]", 1)[0]
        if broken and f"[{step}]" in bad:
            return 500, {"error": {"message": "broken"}}
        return completion(json.dumps({"score": int(hashlib.sha256(step.encode()).hexdigest(), 16) % 2}))

    def scores(folder: Path) -> Any:
        assert main(["score", str(folder), "--data", str(short_demo), "--json"]) == 0
        return json.loads(capsys.readouterr().out)["settings"]["clip_score"]

    server = serve(answer)
    arguments = MODEL_ARGS["openai"] + server.url
    options = {"SIMING_CLIP_FRAMES": "2", "SIMING_FRAME_SIZE": str(SIZE)}
    common = ("--model", "openai", "--model_args", arguments, "--tasks", "siming_clip_score", "--limit", "70")
    run = host(*common, data=short_demo, **options)
    failed = [
        f"clip_score/{video}/{step}"
        for video, step in expected_requests(TASKS["clip_score"], dataset.videos)[:70]
        if f"[{step}]" in bad
    ]
    assert run.task("clip_score")["siming_stderr"]["statuses"]["request_failed"] == len(failed) > 3
    way_out = "To ask them, run the same command again: it sends only the requests without a stored reply."
    assert f"{len(failed)} of 70 requests failed ({len(failed)} HTTP 500). {way_out}\n" in run.output
    kept = str(run.folder.parent / "replies")
    repeated = ("--output_path", str(run.folder))
    host(*common, *repeated, data=short_demo, name="in vain", SIMING_REPLIES=kept, **options)
    sent = len(server.received)
    assert scores(run.folder)["usage"]["attempts"] == {"total": sent, "requests": 70, "failed": sent - 70 + len(failed)}
    broken = False
    whole = host(*common, data=short_demo, name="undisturbed", **options)

    assert main(["score", "--show", "missing", "--data", str(short_demo), str(run.folder), "--json"]) == 1
    assert [request["id"] for request in json.loads(capsys.readouterr().out)["missing"]] == failed
    before = len(server.received)
    host(*common, *repeated, data=short_demo, name="again", SIMING_REPLIES=kept, **options)
    assert len(server.received) - before == len(failed)  # these and no other

    joined, undisturbed = scores(run.folder), scores(whole.folder)
    assert joined["rows"] == undisturbed["rows"] and number_of(joined, "coverage").value == 1.0
    assert joined["statuses"] == undisturbed["statuses"]
    assert main(["score", "--show", "missing", "--data", str(short_demo), str(run.folder)]) == 0
