"""The same load for another machine or a cluster: AIPerf's files, a script, a Kubernetes job."""

import json
import shlex
from itertools import islice
from pathlib import Path
from typing import Any

from stackchoice.errors import InputError
from stackchoice.facts.write import made_whole, write_whole
from stackchoice.load.aiperf import RECORDS, files
from stackchoice.load.arrivals import Closed
from stackchoice.load.endpoint import DEFAULT_KEY_ENV, Endpoint
from stackchoice.load.harnesses import tried_release
from stackchoice.load.plan import Plan
from stackchoice.load.run import LoadRun, Service

NAME = "stackchoice-load"
IMAGE = "python:3.12"
#: What each container asks of its node (assumed). No limit: a throttled client measures itself.
RESOURCES = {"aiperf": {"cpu": "4", "memory": "4Gi"}, "result": {"cpu": "100m", "memory": "64Mi"}}
#: A ConfigMap holds a MiB, names and padding included.
_MAP_BYTES = 900_000
#: What is written is held in memory first.
_MOST_BYTES = 200_000_000
_SCRIPT = """#!/bin/sh
# Puts the load on with AIPerf {release}, repetition by repetition; needs it on the path.
set -e
cd "$(dirname "$0")"
for part in repetition-*; do (cd "$part" && aiperf profile --config aiperf.yaml); done
cat repetition-*/result/{records} > result.jsonl
"""


def write_job(endpoint: Endpoint, plan: Plan, folder: Path) -> str:
    """Write what AIPerf needs to put this load on elsewhere; return what to do with it.

    Nothing is asked of the endpoint, so a prompt's length is reckoned with one token a word, and
    streams begin at once unless the load names its ``stagger_s``. A key is only referred to: by
    its variable's name, in the job by a secret.

    InputError when the folder holds something already, or cannot be written, or the load is too
    large.
    """
    key = bool(endpoint.api_key_env) or endpoint.api_key() is not None
    load = LoadRun(endpoint, plan, lambda event: None)
    texts: dict[str, str] = {}
    size = 0
    for repetition in range(plan.repetitions):
        numbers = list(range(repetition * plan.requests, (repetition + 1) * plan.requests))
        bodies = {}
        for n in numbers:
            bodies[f"timed/{n}"] = body = load.request_of(load.body(n, Service()))
            if (size := size + len(json.dumps(body))) > _MOST_BYTES:
                raise InputError(
                    f"{plan.timed} requests: their text is above {_MOST_BYTES:,} bytes; ask for "
                    "fewer, or for shorter prompts"
                )
        at_s = list(islice(load.schedule(repetition, numbers), len(numbers)))
        parts = files(endpoint, plan, plan.load, bodies, at_s, 0.0, key=key)
        texts |= {f"repetition-{repetition + 1}/{name}": text for name, text in parts.items()}
    release = tried_release("aiperf")
    texts["run.sh"] = _SCRIPT.format(release=release, records=RECORDS)
    variable = (endpoint.api_key_env or DEFAULT_KEY_ENV) if key else None
    fits = sum(map(len, texts.values())) < _MAP_BYTES
    texts["job.yaml"] = _manifest(texts, variable, release, fits=fits)
    try:
        if folder.exists() and any(folder.iterdir()):
            raise InputError(f"{folder}: holds something already; name a new folder")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with made_whole(folder, folder=True) as (part,):
            for name, text in texts.items():
                write_whole(part / name, text, InputError, folders=True)
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be written ({error.strerror}); name another folder"
        ) from None
    return _what_to_do(endpoint, plan, folder, variable, fits=fits)


def _what_to_do(
    endpoint: Endpoint, plan: Plan, folder: Path, variable: str | None, *, fits: bool
) -> str:
    load, host = plan.load, endpoint.address.host
    here = (
        f"{host} is this machine alone: another machine and a pod reach themselves by it; give the "
        "name that they know this endpoint by\n"
        if endpoint.is_loopback
        else ""
    )
    claim = "" if fits else f"  copy {folder} to a volume of the claim {NAME} first\n"
    known = {
        "arrival_pattern": str(load), "sampling": "greedy: temperature 0", "seed": plan.seed,
        "concurrency": load.streams if isinstance(load, Closed) else None,
        "rate_per_s": getattr(load, "rate_per_s", None),
        "endpoint_model": endpoint.model, "endpoint_url": endpoint.base_url,
    }  # fmt: skip
    declared = " ".join(
        f"--declare {shlex.quote(f'{name}={value}')}"
        for name, value in known.items()
        if value is not None
    )
    secret = (
        f'  kubectl create secret generic {NAME} --from-literal={variable}="${variable}"\n'
        if variable
        else ""
    )
    script, job, result, url, model = map(shlex.quote, (
        *(str(folder / name) for name in ("run.sh", "job.yaml", "result.jsonl")),
        endpoint.base_url, endpoint.model,
    ))  # fmt: skip
    return f"""wrote {folder}
{here}on another machine:
  sh {script}
or on a cluster (held against the API's shape, and never run on one):
{claim}{secret}  kubectl create -f {job}
  kubectl wait --for=condition=complete --timeout=1h job/{NAME}
  kubectl logs job/{NAME} -c result > {result}
then take its result in:
  stackchoice passport import {result} {declared}
canaries and probes: stackchoice confirm --endpoint {url} --model {model}"""


def _manifest(texts: dict[str, str], variable: str | None, release: str, *, fits: bool) -> str:
    """Return a ConfigMap with the files and the job that reads them, as YAML documents."""
    names = {name: name.replace("/", "..") for name in texts}
    source: dict[str, Any] = {"persistentVolumeClaim": {"claimName": NAME}}
    if fits:
        items = [{"key": key, "path": path} for path, key in names.items()]
        source = {"configMap": {"name": NAME, "items": items}}
    secret = {"secretKeyRef": {"name": NAME, "key": variable}}
    mounts = [{"name": "load", "mountPath": "/load"}, {"name": "work", "mountPath": "/job"}]
    run = f"pip install aiperf=={release} && cp -rL /load/. /job && sh /job/run.sh"
    job = {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": NAME},
        "spec": {"backoffLimit": 0, "template": {"spec": {
            "restartPolicy": "Never",
            "volumes": [{"name": "load", **source}, {"name": "work", "emptyDir": {}}],
            "initContainers": [{
                "name": "aiperf", "image": IMAGE, "command": ["sh", "-ec", run],
                "env": [{"name": variable, "valueFrom": secret}] if variable else [],
                "volumeMounts": mounts, "resources": {"requests": RESOURCES["aiperf"]},
            }],
            "containers": [{
                "name": "result", "image": IMAGE, "command": ["cat", "/job/result.jsonl"],
                "volumeMounts": mounts[1:], "resources": {"requests": RESOURCES["result"]},
            }],
        }}},
    }  # fmt: skip
    note = "# Too large for a ConfigMap: copy this folder to a volume of the claim below.\n"
    parts = [("" if fits else note) + json.dumps(job, indent=2)]
    if fits:
        data = {names[name]: text for name, text in texts.items()}
        about = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME}}
        parts.insert(0, json.dumps({**about, "data": data}, indent=2))
    return "\n---\n".join(parts) + "\n"
