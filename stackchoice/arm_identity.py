"""What is known of an arm beside its endpoint: the engine's log, the checkpoint, declarations."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from stackchoice.confirm.identity import Basis, Identity
from stackchoice.errors import InputError
from stackchoice.facts import Facts, load_facts
from stackchoice.facts.yaml import shown
from stackchoice.passports import read_declared
from stackchoice.read.checkpoint import open_checkpoint
from stackchoice.read.log_reader import read_log
from stackchoice.read.log_records import Boot

#: Item of identity -> keys of a log, the first that is there counts.
LOGGED = {
    "artifact": ("model", "file_name"), "weight_format": ("weights_encoding",),
    "kv_format": ("kv_dtype",), "context_tokens": ("max_model_len", "n_ctx"),
    "kv_pool_tokens": ("pool_tokens",), "gpu": ("device_name",),
    "slots": ("max_num_seqs", "max_running_requests", "n_parallel"),
    "speculative_decoder": ("drafter",),
}  # fmt: skip
COUNTS = ("context_tokens", "kv_pool_tokens", "slots")
#: Items that somebody may declare; the rest only a program can know.
NOT_DECLARED = ("origins", "server", "machine", "started_at_s", "endpoint_url", "endpoint_model")


def arm_identity(
    declare: Sequence[str] = (), *, log: Path | None = None, checkpoint: Path | None = None,
    facts: Facts | None = None,
) -> Identity:  # fmt: skip
    """Return what is known of an arm before it is asked.

    Parameters
    ----------
    declare
        ``KEY=VALUE`` pairs of items that nothing here can read; marked as declared.
    log
        A log of the engine that is measured; its newest boot counts.
    checkpoint
        Folder or file of the weights that are served, for the hash of their manifest.

    Raises
    ------
    InputError
        When a declared item is none, or has a wrong value.
    LogError, CheckpointError
        When a file cannot be read.
    """
    identity = Identity()
    if log:
        reading = read_log(log, (facts or load_facts()).memory)
        if reading.boots:
            identity = of_boot(identity, reading.boots[-1], log.name)
    if checkpoint:
        manifest = open_checkpoint(checkpoint, facts or load_facts()).manifest()
        items = {"manifest_sha256": manifest}
        identity = identity.seen(items, Basis.PROBED, f"the files of {checkpoint.name}")
    return identity.seen(_checked(read_declared(declare)), Basis.DECLARED, "on the command line")


def of_boot(identity: Identity, boot: Boot, name: str) -> Identity:
    """Return the identity with what one boot of a log says."""
    identity = identity.seen(
        {"runtime": boot.engine, "runtime_build": boot.release}, Basis.LOGGED, name
    )
    for item, keys in LOGGED.items():
        found = next((boot.values[k] for k in keys if k in boot.values), None)
        if found is None or isinstance(found.value, list | dict):
            continue
        count = item in COUNTS
        if count and (isinstance(found.value, bool) or not isinstance(found.value, int)):
            continue
        value = found.value if count else str(found.value)
        identity = identity.seen({item: value}, Basis.LOGGED, f"{name}, line {found.line}")
    kernels = "; ".join(dict.fromkeys(f"{k.part}: {k.name}" for k in boot.kernels))
    plain = {k: v for k, v in boot.settings.items() if isinstance(v, str | int | float | bool)}
    return identity.seen(
        {"kernels": kernels or None, "effective_settings": plain}, Basis.LOGGED, name
    )


def _checked(declared: Mapping[str, object]) -> dict[str, Any]:
    for key, value in declared.items():
        if key not in Identity.model_fields or key in NOT_DECLARED:
            items = ", ".join(f for f in Identity.model_fields if f not in NOT_DECLARED)
            raise InputError(f"--declare {shown(key)!r}: no item of identity; one of: {items}")
        try:
            Identity.model_validate({key: value})
        except ValidationError as error:
            raise InputError(
                f"--declare {shown(key)}={shown(value)}: {error.errors()[0]['msg']}; correct it"
            ) from None
    return dict(declared)
