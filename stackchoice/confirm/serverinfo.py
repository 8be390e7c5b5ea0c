"""What a server says of itself on the paths that common engines offer. All of it is optional."""

from stackchoice.confirm.account import MAX_CHARACTERS, PATHS, ServerInfo, counters_of, read_account
from stackchoice.errors import EndpointError
from stackchoice.facts.values import text_of
from stackchoice.load.endpoint import Endpoint
from stackchoice.load.reading import body_text
from stackchoice.load.untrusted import message_of, parse_json
from stackchoice.load.wire import Limits


def ask_server(endpoint: Endpoint, limits: Limits) -> ServerInfo:
    """Ask ``/v1/models``, and the paths on which engines tell about themselves.

    EndpointError when nothing that speaks HTTP is there, or the key is refused.
    """
    texts: dict[str, str] = {}
    models, headers = _get(endpoint, f"{endpoint.api}/models", limits, needed=True)
    texts["/v1/models"] = models
    for path in PATHS:
        text, _ = _get(endpoint, f"{endpoint.root}{path}", limits)
        if text:
            texts[path] = text
    return read_account(texts, headers, endpoint.model)


def ask_counters(endpoint: Endpoint, limits: Limits) -> dict[str, float]:
    """Ask for the counters that a load moves; empty where the server has none."""
    return counters_of(_get(endpoint, f"{endpoint.root}/metrics", limits)[0])


def ask_template(endpoint: Endpoint, limits: Limits) -> str:
    """Ask for the chat template; empty where the server does not tell it."""
    props = parse_json(_get(endpoint, f"{endpoint.root}/props", limits)[0]) or {}
    return text_of(props.get("chat_template"))


def _get(
    endpoint: Endpoint, path: str, limits: Limits, *, needed: bool = False
) -> tuple[str, dict[str, str]]:
    answer = endpoint.get(path, limits)
    if answer.problem:
        if needed:
            raise endpoint.unreachable(answer)
        return "", {}
    status, headers, text = body_text(answer)
    if status in (401, 403) and needed:
        raise EndpointError(refused_key(endpoint, message_of(parse_json(text) or {"error": text})))
    return (text[:MAX_CHARACTERS] if status == 200 else ""), headers


def refused_key(endpoint: Endpoint, message: str) -> str:
    """Word a refused or missing key."""
    source = endpoint.api_key_env or "OPENAI_API_KEY"
    sent = f"the key in {source} was sent" if endpoint.api_key() else "no key was sent"
    return (
        f"{endpoint.base_url}: the server refuses the request ({message}); {sent}; "
        "name the environment variable that holds the key in api_key_env"
    )
