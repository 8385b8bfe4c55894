"""Forms in which people and programs give a secret, a name or an account to a model's class."""

import base64
from collections.abc import Callable
from typing import Any

ENCODED = ("in base64", "as basic authorization", "in hex")


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


FORMS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "key": ("api_key", lambda s: s),
    "key of another name": ("openai_credential", lambda s: s),
    "short name": ("k", lambda s: s),
    "query": ("base_url", lambda s: f"https://host.example/v1?auth={s}&v=2"),
    "password of an address": ("base_url", lambda s: f"https://me:{s}@host.example/v1"),
    "user of an address": ("base_url", lambda s: f"https://{s}@host.example"),
    "folder of an address": ("base_url", lambda s: f"https://host.example/{s}/v1"),
    "host of an address": ("azure_endpoint", lambda s: f"https://{s}.openai.azure.com"),
    "fragment": ("base_url", lambda s: f"wss://host.example/#access={s}"),
    "bucket": ("weights", lambda s: f"s3://{s}@bucket/model"),
    "proxy": ("proxy", lambda s: f"socks5://x:{s}@host:1080"),
    "proxy without scheme": ("proxy", lambda s: f"me:{s}@proxy.example:3128"),
    "bearer": ("headers", lambda s: {"Authorization": f"Bearer {s}"}),
    "bearer as text": ("headers", lambda s: f"{{'Authorization': 'Bearer {s}'}}"),
    "odd header": ("extra_headers", lambda s: f"cf-aig-metadata: {s}"),
    "header of a gateway": ("default_headers", lambda s: {"X-Trace": s}),
    "list of pairs": ("headers", lambda s: [["X-Auth", s]]),
    "cookie": ("cookies", lambda s: f"sid={s}"),
    "json": ("client_args", lambda s: f'{{"apiToken": "{s}", "n": 1}}'),
    "json in json": ("client", lambda s: f'{{"inner": "{{\\"t\\": \\"{s}\\"}}"}}'),
    "nested": ("client", lambda s: {"auth": {"values": [s]}}),
    "environment": ("env", lambda s: f"OPENAI_ORG_ID={s}"),
    "environment as a mapping": ("env", lambda s: {"HF_HOME": f"/home/{s}"}),
    "organisation": ("organization", lambda s: f"org-{s}"),
    "project": ("project", lambda s: f"proj_{s}"),
    "tenant": ("tenant_id", lambda s: s),
    "deployment": ("deployment", lambda s: s),
    "account": ("account", lambda s: f"{s}@lab.example"),
    "licence": ("license", lambda s: s),
    "passphrase": ("phrase", lambda s: f"correct horse {s}"),
    "in base64": ("blob", lambda s: _b64(s)),
    "as basic authorization": ("headers", lambda s: f"Basic {_b64(f'me:{s}')}"),
    "in hex": ("blob", lambda s: s.encode().hex()),
    "token of three parts": ("t", lambda s: f"eyJhbGciOi.{s}.x"),
    "signature": ("container", lambda s: f"https://host.example/c?sv=2&sig={s}"),
    "key file": ("cert", lambda s: f"/home/{s}/.ssh/id"),
    "system prompt": ("system_prompt", lambda s: f"You are {s}"),
    "home folder": ("pretrained", lambda s: f"/home/{s}/ckpt/m"),
    "relative folders": ("pretrained", lambda s: f"runs/{s}/step/m"),
    "address of weights": ("pretrained", lambda s: f"https://me:{s}@host.example/model"),
    "tuned for somebody": ("model_version", lambda s: f"ft:gpt-4o:{s}::9abc"),
    "query of a name": ("model_version", lambda s: f"m?key={s}"),
    "behind a name": ("model", lambda s: f"m; token {s}"),
    "behind a type": ("dtype", lambda s: f"float16;{s}"),
    "in place of a number": ("temperature", lambda s: s),
    "behind a number": ("max_new_tokens", lambda s: f"12 {s}"),
    "number of another base": ("seed", lambda s: f"0x{s}"),
    "name of an argument": ("{s}", lambda s: "1"),
}
"""By form, an argument and its value with a secret."""


def given_to(form: str, secret: str) -> tuple[str, Any]:
    """Argument and value of a form with this secret."""
    name, value = FORMS[form]
    return name.replace("{s}", secret), value(secret)


def traces(form: str, secret: str) -> tuple[str, ...]:
    """Texts by which the secret of a form is known."""
    return secret, *([str(given_to(form, secret)[1]).removeprefix("Basic ")] if form in ENCODED else [])
