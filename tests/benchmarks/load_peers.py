"""The other clients of ``load.py``: a plain asyncio one, AIPerf and GuideLLM."""

import asyncio
import json
import os
import random
import statistics
import subprocess
import tempfile
import time
import venv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from stackchoice.load.arrivals import Closed, Load, Poisson
from stackchoice.load.endpoint import Endpoint
from stackchoice.load.reading import read_sample
from stackchoice.load.wire import Exchange

PINS = {"AIPerf 0.13.0": ("aiperf==0.13.0",), "GuideLLM 0.8.1": ("guidellm==0.8.1",)}
INSTALL_S = 300
RUN_S = 180

#: Run in a peer's environment: both want a tokenizer, and none may be downloaded.
TOKENIZER = """
import sys
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
alphabet = pre_tokenizers.ByteLevel.alphabet()
trainer = trainers.BpeTrainer(vocab_size=600, initial_alphabet=alphabet, special_tokens=["<s>"])
tokenizer.train_from_iterator(["the time of year and people that day man thing woman life"], trainer)
PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<s>", bos_token="<s>").save_pretrained(sys.argv[1])
"""  # noqa: E501


class PeerFailed(Exception):
    """A peer did not run or gave no figures."""


def seen(ttft: Sequence[Any], itl: Sequence[Any]) -> dict[str, float]:
    """Figures of one run, in seconds."""
    return {"ttft": statistics.median(ttft), "ttft_mean": statistics.fmean(ttft),
            "itl": statistics.median(i for i in itl if i)}  # fmt: skip


class _Plain(asyncio.Protocol):
    """What the event loop itself costs: stamp, keep, look for the end of the chunks."""

    def __init__(self, request: bytes) -> None:
        self.request, self.exchange = request, Exchange()
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.exchange.sent_ns = time.perf_counter_ns()
        transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        self.exchange.reads.append((time.perf_counter_ns(), data))
        if data.endswith(b"0\r\n\r\n") and not self.done.done():
            self.transport.close()
            self.done.set_result(None)


def plain_asyncio(address: str, load: Load, count: int) -> dict[str, float]:
    """Put the load on with asyncio's own event loop, one connection a request, late parsing."""
    endpoint = Endpoint(base_url=address, model="reference")
    body = {"messages": [{"role": "user", "content": "a long story " * 30}], "max_tokens": 64,
            "stream": True, "model": "reference",
            "stream_options": {"include_usage": True}}  # fmt: skip
    request = endpoint.request("POST", endpoint.path_of(body), body)
    kept: list[Exchange] = []

    async def once() -> None:
        where = endpoint.address
        _, client = await asyncio.get_running_loop().create_connection(
            lambda: _Plain(request), where.host, where.port
        )
        await client.done
        kept.append(client.exchange)

    async def stream(after: float, times: int) -> None:
        await asyncio.sleep(after)
        for _ in range(times):
            await once()

    async def run() -> None:
        if isinstance(load, Closed):
            starts = [i * 0.365 / load.streams for i in range(load.streams)]
            await asyncio.gather(*(stream(s, count // load.streams) for s in starts))
            return
        assert isinstance(load, Poisson)
        draw, due, start, tasks = random.Random(1), 0.0, time.perf_counter(), []
        for _ in range(count):
            await asyncio.sleep(max(0, start + due - time.perf_counter()))
            tasks.append(asyncio.create_task(once()))
            due += draw.expovariate(load.rate_per_s)
        await asyncio.gather(*tasks)

    asyncio.run(run())
    samples = [read_sample(x) for x in kept]
    return seen([s.ttft_s for s in samples], [s.itl_s for s in samples])


def install(folder: Path) -> dict[str, Callable[..., dict[str, float]]]:
    """Install the peers, each in an environment of its own; leave out what takes too long."""
    found: dict[str, Callable[..., dict[str, float]]] = {}
    for (name, pins), run in zip(PINS.items(), (_aiperf, _guidellm), strict=True):
        home = folder / name.split()[0].lower()
        python, tokenizer = home / "bin" / "python", home / "tokenizer"
        if not (home / "installed").exists():
            print(f"installing {name}, at most {INSTALL_S} s", flush=True)
            venv.create(home, with_pip=True)
            command = [str(python), "-m", "pip", "install", "--quiet", *pins]
            try:
                subprocess.run(command, check=True, capture_output=True, timeout=INSTALL_S)
            except (subprocess.SubprocessError, OSError) as error:
                print(f"{name}: left out, not installed ({type(error).__name__})", flush=True)
                continue
            (home / "installed").touch()
        if not tokenizer.exists():
            subprocess.run([python, "-c", TOKENIZER, tokenizer], check=True, capture_output=True)
        found[name] = lambda *a, run=run, home=home, tok=tokenizer: run(home / "bin", tok, *a)
    return found


def _aiperf(bin_: Path, tokenizer: Path, address: str, load: Load, count: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as out:
        shape = (
            ["--concurrency", str(load.streams)] if isinstance(load, Closed)
            else ["--request-rate", str(load.rate_per_s), "--arrival-pattern", "poisson"]  # type: ignore[union-attr]
        )  # fmt: skip
        _run([bin_ / "aiperf", "profile", "--model", "reference", "--url",
              address.removesuffix("/v1"), "--endpoint-type", "chat", "--streaming", *shape,
              "--request-count", str(count), "--tokenizer", tokenizer, "--isl", "100",
              "--osl", "64", "--use-server-token-count", "--output-artifact-dir", out,
              "--ui", "none"])  # fmt: skip
        report = _report(Path(out), "profile_export_aiperf.json")
    ttft, itl = report["time_to_first_token"], report["inter_token_latency"]
    return {"ttft": ttft["p50"] / 1e3, "ttft_mean": ttft["avg"] / 1e3, "itl": itl["p50"] / 1e3}


def _guidellm(
    bin_: Path, tokenizer: Path, address: str, load: Load, count: int
) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as out:
        shape = (
            f"kind=concurrent,streams={load.streams}" if isinstance(load, Closed)
            else f"kind=poisson,rate={load.rate_per_s}"  # type: ignore[union-attr]
        )  # fmt: skip
        _run([bin_ / "guidellm", "run", "--backend",
              f"kind=openai_http,target={address.removesuffix('/v1')},model=reference",
              "--profile", shape, "--constraint", f"kind=max_requests,count={count}",
              "--tokenizer", f"kind=huggingface_auto,model={tokenizer}",
              "--data", "kind=synthetic_text,prompt_tokens=100,output_tokens=64",
              "--output", f"kind=json,path={out}/report.json", "--disable-console"])  # fmt: skip
        report = _report(Path(out), "report.json")
    metrics = report["benchmarks"][0]["metrics"]
    ttft = metrics["time_to_first_token_ms"]["successful"]
    itl = metrics["inter_token_latency_ms"]["successful"]
    return {"ttft": ttft["median"] / 1e3, "ttft_mean": ttft["mean"] / 1e3,
            "itl": itl["median"] / 1e3}  # fmt: skip


def _run(command: list[Any]) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True,
                              timeout=RUN_S, env=environment, check=False)  # fmt: skip
    except subprocess.TimeoutExpired:
        raise PeerFailed(f"{command[0]}: not done after {RUN_S} s") from None
    if done.returncode:
        tail = (done.stderr or done.stdout).strip().splitlines()[-4:]
        raise PeerFailed(f"{command[0]}: exit {done.returncode}: {' / '.join(tail)}")


def _report(folder: Path, name: str) -> dict[str, Any]:
    found = list(folder.rglob(name))
    if not found:
        raise PeerFailed(f"{name}: not written")
    return dict(json.loads(found[0].read_text()))
