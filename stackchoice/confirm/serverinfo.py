"""What a server says of itself on the paths that common engines offer. All of it is optional."""

from __future__ import annotations

import hashlib
from typing import Any

from stackchoice.errors import EndpointError
from stackchoice.facts.datum import Record
from stackchoice.load.endpoint import Endpoint
from stackchoice.load.reading import body_text
from stackchoice.load.untrusted import (
    count_of,
    dict_of,
    message_of,
    parse_json,
    text_of,
    visible,
)
from stackchoice.load.wire import Limits


class ServerInfo(Record):
    """A server's own account of itself; None where it does not say."""

    model_ids: tuple[str, ...] = ()
    owned_by: str | None = None
    server_header: str | None = None
    version: str | None = None
    context_tokens: int | None = None
    slots: int | None = None
    chat_template: str | None = None


def ask_server(endpoint: Endpoint, limits: Limits) -> ServerInfo:
    """Ask ``/v1/models``, ``/props`` (llama.cpp) and ``/version`` (vLLM).

    Raises
    ------
    EndpointError
        When nothing that speaks HTTP is there, or the key is refused.
    """
    models, headers = _get(endpoint, f"{endpoint.api}/models", limits, needed=True)
    props, _ = _get(endpoint, f"{endpoint.root}/props", limits)
    version, _ = _get(endpoint, f"{endpoint.root}/version", limits)
    listed = models.get("data")
    offered = [m for m in listed if isinstance(m, dict)] if isinstance(listed, list) else []
    mine = next((m for m in (*offered, {}) if m.get("id") in (endpoint.model, None)), {})
    settings = dict_of(props.get("default_generation_settings"))
    template = text_of(props.get("chat_template"))
    return ServerInfo(
        model_ids=[visible(m["id"], 200) for m in offered if isinstance(m.get("id"), str)][:100],
        owned_by=_said(mine.get("owned_by")),
        server_header=_said(headers.get("server")),
        version=_said(version.get("version")) or _said(props.get("build_info")),
        context_tokens=count_of(settings.get("n_ctx")) or count_of(mine.get("max_model_len")),
        slots=count_of(props.get("total_slots")),
        chat_template=_digest(template) if template else None,
    )


def _get(
    endpoint: Endpoint, path: str, limits: Limits, *, needed: bool = False
) -> tuple[dict[str, Any], dict[str, str]]:
    answer = endpoint.get(path, limits)
    if answer.problem:
        if needed:
            raise endpoint.unreachable(answer)
        return {}, {}
    status, headers, text = body_text(answer)
    if status in (401, 403) and needed:
        raise EndpointError(refused_key(endpoint, message_of(parse_json(text) or {"error": text})))
    return (parse_json(text) or {} if status == 200 else {}), headers


def refused_key(endpoint: Endpoint, message: str) -> str:
    """Word a refused or missing key."""
    source = endpoint.api_key_env or "OPENAI_API_KEY"
    sent = f"the key in {source} was sent" if endpoint.api_key() else "no key was sent"
    return (
        f"{endpoint.base_url}: the server refuses the request ({message}); {sent}; "
        "name the environment variable that holds the key in api_key_env"
    )


def _digest(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _said(value: Any) -> str | None:
    return visible(text_of(value), 200) or None
