"""What leaves of a run is named in a list; a secret in whatever form is not on it."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from siming_tasks.common.public_facts import (
    asked_name,
    public_arguments,
    public_code,
    public_media,
    public_name,
    public_run,
)
from tests.study.report.secret_forms import FORMS, given_to

SECRETS = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=12, max_size=24).map(
    lambda text: f"q{text}Z9"
)


@given(SECRETS, st.sampled_from(sorted(FORMS)), st.sampled_from(("model_args", "gen_kwargs", "generation")))
def test_no_form_of_a_secret_passes(secret: str, form: str, place: str) -> None:
    name, value = given_to(form, secret)
    plain = f"{name}={value}" if isinstance(value, str) else f"{name}={json.dumps(value)}"
    for stated in ({name: value}, {"pretrained": "m", name: value}, plain, f"pretrained=m,{plain}"):
        assert secret.lower() not in json.dumps(public_run({"model": "x", place: stated})).lower()


PLAIN = st.none() | st.text() | st.integers()


@given(PLAIN | st.dictionaries(st.text(), PLAIN | st.dictionaries(st.text(), PLAIN)))
def test_any_facts_give_the_same_again(value: Any) -> None:
    stated = {"model": value, "model_args": value, "tasks": value, "seeds": [value], "model_name": value}
    once = public_run(stated)
    assert public_run(once) == once
    public_media({"reader": value, "steps": value})


def test_what_is_on_the_list_stays() -> None:
    arguments = "pretrained=Qwen/Qwen2.5-VL-7B-Instruct,max_num_frames=64,max_pixels=602112,dtype=bfloat16"
    assert public_arguments(arguments) == arguments
    assert public_arguments({"temperature": 0, "do_sample": False, "until": []}) == "temperature=0,do_sample=False"
    assert public_arguments("model=a,model=b") == "model=b"
    media = {"mode": "frames", "range": [0, 9], "sampler": "uniform 2", "size": [640, 360]}
    assert public_media({**media, "file": "/home/li/x.mp4", "end": None}) == media


NAMES = {
    "Qwen/Qwen2.5-VL-7B-Instruct": ("Qwen/Qwen2.5-VL-7B-Instruct", "Qwen/Qwen2.5-VL-7B-Instruct"),
    "org/name@v1.2": ("org/name@v1.2", "org/name@v1.2"),
    "llama3.2:3b": ("llama3.2:3b", "llama3.2:3b"),
    "anthropic.claude-3-sonnet-v1:0": ("anthropic.claude-3-sonnet-v1:0", "anthropic.claude-3-sonnet-v1:0"),
    "accounts/fireworks/models/qwen": ("qwen", "accounts/fireworks/models/qwen"),
    r"C:\Users\li\ckpt\qwen": ("qwen", "qwen"),
    "./li/qwen": ("qwen", "qwen"),
    "ft:gpt-4o:acme::9abc": ("ft:gpt-4o:***", "ft:gpt-4o:***"),
}
"""Names of models: as they are published, and as a service is asked for them."""
ADDRESSES = ("https%3A%2F%2Fme:pw@host", "me:pw@proxy.example", "li@node7.hospital.local:8000/v1", "li@10.0.0.7/v1",
             "li@node7.hospital.local", "node7.hospital.local:8000/v1", "node7:8000", "node7.hospital/v1")  # fmt: skip


def test_names_of_models_are_told_and_addresses_are_not() -> None:
    assert {name: (public_name(name), asked_name(name)) for name in NAMES} == NAMES
    assert {public_name(name) + asked_name(name) for name in ADDRESSES} == {"******"}


def test_a_text_is_no_code() -> None:
    for code in ("Incorrect API key provided: sk-1f2e", "sk-1f2e3d4c", "x" * 99, None, {"a": 1}, "", "1f2e3d4c5b"):
        assert public_code(code) == ""
