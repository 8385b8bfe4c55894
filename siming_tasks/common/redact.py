"""Secrets taken out of whatever is published: facts of a run, model cards, error texts.

A model's arguments hold API keys, an address holds a password, an error text holds a header. :func:`redact` is the one
routine that everything passes which leaves the machine or is shown to others. It goes by names (``api_key``), by places
(``https://user:password@host``, ``?sig=...``, ``Authorization: ...``) and by the shapes of well-known keys. What it
takes for a secret by mistake is lost from a page; what it misses is lost for good: so it is quick to suspect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

MASK = "***"

_SURE = r"secret|passw|passphrase|pwd|credential|authoriz|bearer|cookie|signature|jwt|api.?key|access.?key|private.?key"
_NAME = re.compile(
    rf"({_SURE}|key(?!frame|point|word|board|step)|token(?!iz)|auth(?!or)|(?<![a-z])(sig|session|pat|sas|hmac)(?![a-z]))",
    re.IGNORECASE,
)
_SURE_NAME = re.compile(f"({_SURE}|auth$|[a-z_-]token$)", re.IGNORECASE)
_EMPTY = re.compile(r"true|false|none|null|", re.IGNORECASE)
_SMALL = re.compile(r"[+-]?\d{1,6}(\.\d{1,6})?")
"""A value that is no secret under a name that only may mean one, such as ``max_new_tokens=4096``."""

_USER = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]{0,20}:(?:\\*/){2}|%3A%2F%2F)"
    r"(?:[^\s/?#\"'<>]*(?:@|%40)|[^\s/?#@:\"'<>]{1,200}:(?!\d+[/?#])[^\s\"'<>]{0,400}@)",
    re.IGNORECASE,
)
_PLAIN_USER = re.compile(r"(?<![\w%.+/-])([\w%.+-]+:)([^\s/@:,;\"'<>]+)@(?=\w)")
_HEADER = re.compile(
    r"((?<![\w-])(?:proxy-)?authorization\\*[\"']?\s*[:=]\s*|(?<![\w-])(?:set-)?cookie\\*[\"']?\s*[:=]\s*)"
    r"(\\*[\"'])?([^\r\n\"',}\])]+)",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"((?<!\w)bearer\s+)([^\s\"',;}\])]{4,})", re.IGNORECASE)
_SHAPE = re.compile(
    r"(?<![A-Za-z0-9])(?:sk-[\w-]{16,}|hf_\w{16,}|gh[pousr]_\w{16,}|github_pat_\w{16,}|xox[a-z]-[\w-]{10,}|AKIA[0-9A-Z]{12,}"
    r"|AIza[\w-]{20,}|glpat-[\w-]{16,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"
)
_NAMED = re.compile(r"(?<![\w%.-])([\w%.-]+)(\]?\\*[\"']?\s*(?:=|%3D|:(?!\\*/))\s*)", re.IGNORECASE)
_VALUE = re.compile(
    r"(?P<open>\\*(?P<quote>[\"']))(?P<quoted>(?:(?!(?P=quote)).)*)|(?P<start>[\[{(])[^\]})]*|(?P<bare>[^\s&,;\"'}\])]+)",
    re.DOTALL,
)
_FLAG = re.compile(r"((?<!\S)--?[\w-]+\s+)([^\s-]\S*)")
_TUNED = re.compile(r"(ft:[^:]+):")
_PLACE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|[\\/~]|[A-Za-z]:[\\/]|\.{1,2}[\\/]")
_FOLDERS = re.compile(r"[\w.-]+(/[\w.-]+){2,}/?")
"""Relative path: names of the hub have one slash."""
_PATH = re.compile(r"\S*[/=@]\S*")


def redact(value: Any) -> Any:
    """Copy a JSON-able value without secrets; every secret reads ``***``.

    Strings may hold addresses, ``name=value`` lists, headers, command lines or JSON; mappings and lists are gone
    through, their keys too. A value under a name that sounds like a secret goes as a whole, short numbers excepted.

    Example:
        >>> redact({"model_args": "base_url=https://me:pw@host/v1?sig=1f2e&v=2,api_key=k,max_new_tokens=512"})
        {'model_args': 'base_url=https://***@host/v1?sig=***&v=2,api_key=***,max_new_tokens=512'}
    """
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        hidden = any(isinstance(value.get(key), str) and _NAME.search(value[key]) for key in ("name", "key", "header"))
        return {
            redact(key): _masked(item, key) if _suspect(key) or (hidden and key == "value") else redact(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        flags = [False]
        for item in value:  # the item after this one is its value: ["--api-key", "..."] or ["Authorization", "..."]
            named = isinstance(item, str) and (len(value) == 2 or item.startswith("-"))
            flags.append(named and "=" not in item and len(item) <= 64 and _suspect(item))
        return type(value)(_masked(item) if flag else redact(item) for flag, item in zip(flags, value, strict=False))
    return value


def public_name(name: str) -> str:
    """Name of a model as it may leave this machine: without secrets, address, home folder or account.

    An address and a path keep their last part. Of a model that was tuned for somebody
    (``ft:base:organisation:suffix:id``), only what it was tuned from stays.

    Example:
        >>> public_name("https://acme.openai.azure.com/deployments/gpt-4o?key=1"), public_name("/home/li/ckpt/qwen-7b")
        ('gpt-4o', 'qwen-7b')
        >>> public_name("ft:gpt-4o-2024-08-06:acme::9abc"), public_name("Qwen/Qwen2.5-VL-7B-Instruct")
        ('ft:gpt-4o-2024-08-06:***', 'Qwen/Qwen2.5-VL-7B-Instruct')
        >>> public_name("runs/li/step-400/merged")
        'merged'
    """
    if tuned := _TUNED.match(name):
        return f"{tuned[1]}:{MASK}"
    if _PLACE.match(name) or _FOLDERS.fullmatch(name):
        name = re.split(r"[\\/]", name.partition("?")[0].rstrip("\\/"))[-1]
    return _text(name)


def public_arguments(arguments: str) -> str:
    """Arguments of a model, ``name=value,...``, as they may leave this machine: no secret, no address, no folder.

    Example:
        >>> public_arguments("pretrained=/home/li/ckpt/qwen-7b,base_url=http://node7:8000/v1,dtype=auto,max_frames=8")
        'pretrained=qwen-7b,base_url=***,dtype=auto,max_frames=8'
    """

    def value(match: re.Match[str]) -> str:
        return MASK if "://" in match[0] else public_name(match[0])

    return str(redact(re.sub(r"(?<==)[^,=]+", value, arguments)))


def redact_paths(text: str) -> str:
    """Copy a sentence whose paths, addresses and ``name=value`` have no secrets; its other words stay as they are.

    Example:
        >>> redact_paths("video 'passwd': no such file in runs/m,api_key=k/videos.")
        "video 'passwd': no such file in runs/m,api_key=***"
    """
    return _PATH.sub(lambda match: _text(match[0]), text)


def _suspect(name: object) -> bool:
    return isinstance(name, str) and _NAME.search(unquote(name)) is not None


def _masked(value: Any, name: str = "key") -> Any:
    plain = value is None or isinstance(value, str | bool | int | float)
    return value if plain and _harmless(name, str(value)) else MASK


def _harmless(name: str, value: str) -> bool:
    return bool(_EMPTY.fullmatch(value) or (_SMALL.fullmatch(value) and not _SURE_NAME.search(name)))


def _text(text: str) -> str:
    if not any(mark in text for mark in ("=", ":", "-", "_", "%", "AKIA", "AIza", "earer", "EARER")):
        return text

    def flag(match: re.Match[str]) -> str:
        # ``--tokens`` and its like are counts and formulas.
        secret = _suspect(match[1]) and not match[1].rstrip().endswith("tokens")
        return str(match[1] + _masked(match[2])) if secret else match[0]

    text = _USER.sub(rf"\1{MASK}@", text)
    text = _PLAIN_USER.sub(rf"\1{MASK}@", text)
    text = _HEADER.sub(rf"\1\2{MASK}", text)
    text = _SCHEME.sub(rf"\1{MASK}", text)
    return _SHAPE.sub(MASK, _FLAG.sub(flag, _assigned(text)))


def _assigned(text: str) -> str:
    """Copy the text without the values of ``name=value``, ``name: value`` and their quoted kin; one pass."""
    parts, done, at = [], 0, 0
    while match := _NAMED.search(text, at):
        at = match.end()
        if not _suspect(match[1]):
            continue
        value = _VALUE.match(text, at)
        if value is None or _spared(match[1], match[2], value):
            continue
        opening = value["open"] or value["start"] or ""
        parts += [text[done:at], opening, MASK]
        done = at = value.end()
    return "".join([*parts, text[done:]])


def _spared(name: str, between: str, value: re.Match[str]) -> bool:
    """Spare a short number, what is masked already, and prose ("Key: the hands are seen")."""
    if value["start"]:
        return False
    content = value["quoted"] if value["open"] else value["bare"] or ""
    prose = ":" in between and not value["open"] and between[0] not in "\\\"'" and not _SURE_NAME.search(name)
    return prose or content.startswith(MASK) or _harmless(name, content)
