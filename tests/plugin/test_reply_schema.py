"""JSON schemas on their way to services on loopback, and into the sampling parameters of vLLM's class."""

import json
import re
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from siming_tasks.cli.main import main
from siming_tasks.common.errors import OptionsError
from siming_tasks.media import backends
from siming_tasks.plugin.reply_schema import SCHEMA_ARGUMENT, check_takes_schema
from siming_tasks.plugin.response_cache.dispatch import dispatch
from siming_tasks.plugin.response_cache.ledger import Ledger
from tests.plugin.response_cache.keyed import keyed
from tests.plugin.serving import Server, completion, generated

TASKS = ("full_score", "clip_error", "full_error_evidence")
FEW = {"SIMING_FRAMES": "2", "SIMING_CLIP_FRAMES": "2", "SIMING_FRAME_SIZE": "64"}
ARGUMENTS = "model_version=m,api_key=k,max_retries=1,retry_backoff_s=0"
AT_ONCE = {"openai": "num_concurrent=4", "async_openai": "num_cpus=4", "gemini": "num_concurrent=4"}


def held_to(schema: dict[str, Any]) -> Any:
    """The first reply that a schema allows, as an engine that is held to it would write it."""
    match schema:
        case {"enum": [first, *_]}:
            return first
        case {"properties": properties}:
            return {name: held_to(value) for name, value in properties.items()}
        case {"type": "array"}:
            return []
    return schema["minimum"]


def sent_schema(model: str, body: dict[str, Any]) -> dict[str, Any] | None:
    """The schema in the body of a request, at the place that the service documents."""
    if model == "gemini":
        config = body["generationConfig"]
        assert ("responseJsonSchema" in config) == (config.get("responseMimeType") == "application/json")
        return config.get("responseJsonSchema")
    form = body.get("response_format")
    if form is None:
        return None
    assert form["type"] == "json_schema" and form["json_schema"].keys() == {"name", "strict", "schema"}
    assert form["json_schema"]["strict"] is True and re.fullmatch(r"[\w-]{1,64}", form["json_schema"]["name"])
    return form["json_schema"]["schema"]


@pytest.mark.host
@pytest.mark.parametrize("model", AT_ONCE)
def test_each_request_has_its_own_schema_and_the_reply_is_read(
    host: Callable[..., Any], serve: Callable[..., Server], short_demo: Path, tmp_path: Path, model: str, capsys: Any
) -> None:
    def obey(_: tuple[str, ...], text: str, number: int) -> tuple[int, Any]:
        schema = sent_schema(model, server.options[number])
        reply = json.dumps(held_to(schema)) if schema else "I would rather not use JSON."
        return (generated if model == "gemini" else completion)(reply)

    server = serve(obey)
    address = f",base_url={server.url}" if model != "gemini" else ""
    keys = {"GOOGLE_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": server.url.removesuffix("/v1")}

    def command(name: str, **env: str) -> Any:
        return host(
            "--model", model, "--model_args", f"{ARGUMENTS},{AT_ONCE[model]}{address}",
            "--tasks", ",".join(f"siming_{task}" for task in TASKS), "--limit", "2",
            data=short_demo, name=name, SIMING_REPLIES=str(tmp_path / "replies"), **FEW, **keys, **env,
        )  # fmt: skip

    run = command("held", SIMING_SCHEMA="json")
    asked = len(server.received)
    assert asked == sum(len(run.samples(task)) for task in TASKS) and "with JSON schema" in run.output
    for (_, texts), body in zip(server.received, server.options, strict=True):
        schema = sent_schema(model, body)
        assert schema is not None
        Draft202012Validator.check_schema(schema)
        (answers,) = schema["properties"].values()
        steps = re.findall(r"^\[(\w+)\]", texts[-1], re.MULTILINE)  # those that this very request asks about
        assert len(steps) == 1 if "verdict" in schema["properties"] else list(answers["properties"]) == steps
    for task in TASKS:
        records = [sample["siming_stderr"] for sample in run.samples(task)]
        assert {(record["status"], record["asking"]) for record in records} == {("ok", "json")}
        assert all(re.fullmatch("[0-9a-f]{12}", record["reply_schema"]) for record in records)
        options = run.results()["configs"][f"siming_{task}"]["metadata"]["siming_options"]
        assert json.loads(options)["schema"] == "json"
    if model == "async_openai":  # on to the results and the report; each answer was the first that is allowed
        score = ["score", str(run.folder), "--data", str(short_demo), "--partial"]
        assert main(score) == 0
        assert "full_score: one answer for every step in 2 of 2 replies" in capsys.readouterr().out
        assert main(["report", *score[1:], "--out", str(tmp_path / "pages")]) == 0
    if model == "openai":  # kept replies belong to the schema: a plain run asks anew, the same run again does not
        plain = command("plain")
        assert len(server.received) == 2 * asked
        assert all(sent_schema(model, body) is None for body in server.options[asked:])
        assert "reply_schema" not in plain.samples("full_score")[0]["siming_stderr"]
        again = command("again", SIMING_SCHEMA="json")
        assert len(server.received) == 2 * asked and again.samples("full_score")[0]["siming_stderr"]["reply_schema"]


def test_a_class_takes_a_schema_or_is_refused_by_name() -> None:
    check_takes_schema("mine", backends()["chat.vllm"])
    with pytest.raises(OptionsError, match=r"--model mine cannot give .* async_openai, gemini, litellm, openai, vllm"):
        check_takes_schema("mine", backends()["chat.qwen3_vl"])


@dataclass
class StructuredOutputsParams:
    """As vLLM 0.11 documents it."""

    json: Any


def test_vllm_gets_the_schema_of_each_request_of_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """lmms-eval's own class makes the sampling parameters; what it would hand to the engine is read."""
    from lmms_eval.api.instance import GenerationResult, Instance
    from lmms_eval.models.chat.vllm import VLLM

    module = types.ModuleType("vllm.sampling_params")
    vars(module)["StructuredOutputsParams"] = StructuredOutputsParams
    monkeypatch.setitem(sys.modules, "vllm", types.ModuleType("vllm"))
    monkeypatch.setitem(sys.modules, "vllm.sampling_params", module)
    handed: list[dict[str, Any]] = []

    class WithoutEngine(VLLM):
        def __init__(self) -> None:
            self.max_pixels, self.min_image_pixels, self.max_frame_num, self.max_new_tokens = 1, 1, 1, 9
            self.fps, self.nframes, self.is_qwen3_vl, self.batch_size_per_gpu = None, 1, False, 4
            self.task_dict = {"t": {"test": [{}]}}

        def generate_until(self, requests: Any) -> Any:
            assert len(requests) == 4  # one batch
            handed.extend(self.make_one_request(request)[1] for request in requests)
            return [GenerationResult("{}", None) for _ in requests]

    def messages(_: Any) -> list[dict[str, Any]]:
        return [{"role": "user", "content": [{"type": "text", "text": "?"}]}]

    schemas = [*({"type": "object", "title": str(number)} for number in range(3)), None]
    arguments = ("?", messages, {"max_new_tokens": 64}, 0, "t", "test")
    instance = Instance("generate_until", arguments, 0, {"task": "t", "doc_id": 0, "repeats": 1})
    requests = [keyed(instance, str(number), schema) for number, schema in enumerate(schemas)]
    model, replies = WithoutEngine(), dict[str, Any]()
    ledger, backend = Ledger(lambda attempt: attempt, lambda: False), backends()["chat.vllm"]
    dispatch(model, backend, requests, lambda request, output, _: replies.update({request.key: output}), ledger)
    assert sorted(replies) == ["0", "1", "2", "3"]
    wanted = [schema and StructuredOutputsParams(schema) for schema in schemas]
    assert [made.get("structured_outputs") for made in handed] == wanted
    assert all(made["max_tokens"] == 64 and SCHEMA_ARGUMENT not in made for made in handed)
    assert "_build_sampling_params_dict" not in vars(model)
