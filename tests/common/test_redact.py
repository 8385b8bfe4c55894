from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siming_tasks.common.redact import MASK, redact

SECRETS = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=12, max_size=24).map(
    lambda text: f"q{text}Z9"
)
NAMES = ("api_key", "apiKey", "API-KEY", "OPENAI_API_KEY", "token", "hf_token", "access_token", "secret",
         "client_secret", "password", "passwd", "pwd", "x-api-key", "aws_secret_access_key", "private_key",
         "signature", "key")  # fmt: skip
QUERY = ("token", "access_token", "key", "api_key", "sig", "signature", "X-Amz-Signature", "X-Goog-Credential", "auth",
         "params[token]", "api%5Fkey", "session")  # fmt: skip


def address(secret: str) -> st.SearchStrategy[str]:
    return st.one_of(
        st.sampled_from(("https", "http", "ftp", "redis", "postgresql+psycopg")).flatmap(
            lambda scheme: st.sampled_from((
                f"{scheme}://me:{secret}@host.example/v1", f"{scheme}://{secret}@host.example", f"{scheme}://:{secret}@h:80/x?a=1",
                f"{scheme}://me:p@{secret}@host/x", f"{scheme}://me:x/{secret}@host/x",
            ))
        ),
        st.sampled_from(QUERY).map(lambda name: f"https://host.example/v1?version=2&{name}={secret}&last=1"),
        st.just(f"https%3A%2F%2Fme%3A{secret}%40host"),
        st.just(f"me:{secret}@proxy.example:3128"),
    )  # fmt: skip


def planted(secret: str) -> st.SearchStrategy[Any]:
    """A secret in a place where one is found, as people and programs write it."""
    name = st.sampled_from(NAMES)
    texts = st.one_of(
        address(secret),
        address(secret).map(lambda url: f"pretrained=m,base_url={url},dtype=bf16"),
        name.map(lambda name: f"pretrained=m,{name}={secret},max_new_tokens=64"),
        name.map(lambda name: f"run --{name} {secret} --limit 4"),
        name.map(lambda name: f"client={{'{name}': '{secret}', 'n': 1}}"),
        name.map(lambda name: json.dumps({"inner": json.dumps({name: secret})})),
        name.map(lambda name: f"{name}s=[{secret},{secret}]"),
        st.sampled_from(
            ("Authorization: Bearer ", "authorization=Basic ", "Proxy-Authorization: ", "Cookie: sid=", "got Bearer ")
        ).map(lambda head: f"curl -H '{head}{secret}' x"),
        st.sampled_from(("sk-", "hf_", "ghp_", "AKIA", "sk-proj-")).map(lambda head: f"see {head}{secret.upper()}0000"),
    )  # fmt: skip
    return st.one_of(
        texts,
        st.builds(lambda name, text: {"a": [{name: text}]}, name, st.just(secret)),
        st.builds(lambda name: {name: {"deep": [secret, {"x": secret}]}}, name),
        st.builds(lambda text: {text: 1}, address(secret)),
        st.just({"headers": [["Authorization", secret], {"name": "api-key", "value": secret}]}),
        st.just(["--api-key", secret, "--limit", "4"]),
        st.lists(texts, max_size=3).map(lambda values: {"model_args": {"client_args": values}}),
    )


@given(SECRETS.flatmap(lambda secret: st.tuples(st.just(secret), planted(secret))))
def test_no_planted_secret_is_left(case: tuple[str, Any]) -> None:
    secret, value = case
    shown = json.dumps(redact(value))
    assert secret not in shown and secret.upper() not in shown


@given(SECRETS.flatmap(lambda secret: planted(secret)))
def test_redaction_is_idempotent(value: Any) -> None:
    once = redact(value)
    assert redact(once) == once


@pytest.mark.parametrize(
    "text",
    [
        "pretrained=Qwen/Qwen2.5-VL-7B-Instruct,max_new_tokens=4096,max_pixels=602112,dtype=bfloat16",
        "https://huggingface.co/org/name@main?revision=v1#part",
        "http://localhost:8000/v1",
        "temperature=0,top_p=1,num_image_tokens=256,tokenizer=org/name",
        "org/name@v1.2",
        "Key: the hands are on the lower half of the sternum.",
        "Basic life support, 30:2, author: me",
        "",
        "a=b=c",
    ],
)
def test_text_without_secrets_is_unchanged(text: str) -> None:
    assert redact(text) == text


def test_values_that_are_not_text_are_unchanged() -> None:
    values = {
        "max_new_tokens": 4096,
        "token": None,
        "seeds": [0, 1, None],
        "use_token": True,
        "password": 12345,
        "x": 1.5,
    }
    assert redact(values) == {**values, "password": MASK}


PARTS = ("a=", "key=", "'=", "://", "a://b:", "-key ", "[key=", "bearer ", "\\", "a.", "key=\\", "%40", "a:b@", "sk-")


@pytest.mark.parametrize("part", PARTS)
def test_time_is_linear_in_the_length(part: str) -> None:
    def seconds(n: int) -> float:
        start = time.perf_counter()
        redact(part * n)
        return time.perf_counter() - start

    assert seconds(40_000) < 30 * seconds(4_000) + 0.5  # ten times as long; a hundred times would be quadratic
