"""What engines take beside the protocol: a cache that is emptied, answers of one length."""

import json
import sys
import venv
from collections import Counter
from importlib.metadata import version
from pathlib import Path

import pytest
from odd_server import Body, OddServer, Piece, http, require_engine, well_behaved

from stackchoice.confirm import EmbeddedEngine, Endpoint, Passport, Plan, confirm
from stackchoice.confirm.beside import Emptier, engine_called, one_length, table
from stackchoice.confirm.command_engine import CommandEngine
from stackchoice.confirm.environment import environment_of, installed_in, interpreter_of
from stackchoice.confirm.identity import Basis
from stackchoice.confirm.results import DISCARD_RULES
from stackchoice.errors import InputError
from stackchoice.facts import load_facts
from stackchoice.load.floor import reference_server
from stackchoice.load.script import Fault, Script
from stackchoice.sweep import design, judge, parse_knob, run_sweep

TINY = Plan(requests=3, floor=False, output_tokens=16, prompt_words=8, idle_s=20, timeout_s=30)
COLD = TINY.model_copy(update={"cold": True, "repetitions": 2})
EXACT = TINY.model_copy(update={"exact_output": True})
#: Canaries of the basic set and the warm-up, which go before the timed requests.
BEFORE = 6


class Named(OddServer):
    """A server that says which engine it is, with a prefix cache and a way to empty it."""

    def __init__(self, owner: str, flush: str, *, keeps: bool = False, status: int = 200,
                 answer: bytes = b"") -> None:  # fmt: skip
        super().__init__(self.replies)
        self.owner, self.flush, self.keeps = owner, flush, keeps
        self.status, self.answer = status, answer
        self.cached: set[str] = set()

    def _get(self, path: str) -> list[Piece]:
        if path.endswith("/models"):
            data = [{"id": "odd", "owned_by": self.owner, "max_model_len": 4096}]
            return [http(json.dumps({"data": data}).encode(), kind="application/json")]
        return super()._get(path)

    @property
    def flushes(self) -> int:
        return sum(head.startswith(f"POST {self.flush} ") for head in self.heads)

    def replies(self, body: Body) -> list[Piece]:
        if "messages" not in body:
            if self.status == 200 and not self.keeps:
                self.cached.clear()
            return [http(self.answer, status=self.status, kind="application/json")]
        prompt = body["messages"][-1]["content"]
        hit = 190 if prompt in self.cached else 0
        self.cached.add(prompt)
        return well_behaved(body, usage={"prompt_tokens_details": {"cached_tokens": hit}})


def measured(server: OddServer, plan: Plan, **more: object) -> Passport:
    return confirm(Endpoint(base_url=server.url, model="odd"), plan=plan, **more)


def test_every_engine_of_the_table_is_one_of_the_facts_and_every_row_has_its_source() -> None:
    assert set(table().engines) <= set(load_facts().engines)
    names = Counter(n for row in table().engines.values() for n in row.called)
    assert set(names.values()) == {1}
    for row in table().engines.values():
        for part in filter(None, (row.empty, row.one_length)):
            assert part.source["url"].startswith("https://")
            assert {"title", "as_of", "evidence"} <= set(part.source)
    assert engine_called(None, "llamacpp")[0] == "llama.cpp"
    assert engine_called("VLLM")[0] == "vllm"
    assert engine_called("openresty", None) is None


@pytest.mark.parametrize(
    ("engine", "model_type", "template", "asked", "said"),
    [
        ("vllm", "llama", "", True, "asked for with ignore_eos"),
        ("vllm", None, "", True, "whether the model allows it is not known"),
        ("sglang", "gpt_oss", "", False, "a token of its own format"),
        ("llama.cpp", None, "{{ '<|channel|>' }}", False, "a token of its own format"),
        ("llama.cpp", None, "{{ messages }}", True, "asked for with ignore_eos"),
        ("transformers", "llama", "", False, "transformers is not known to have"),
        (None, "llama", "", False, "does not say which engine"),
    ],
)
def test_answers_of_one_length_are_asked_for_where_engine_and_model_take_it(
    engine: str | None, model_type: str | None, template: str, asked: bool, said: str
) -> None:
    fields, text = one_length(engine_called(engine), model_type, template)
    assert (bool(fields), said in text) == (asked, True), text


def test_nothing_is_emptied_where_nobody_asked() -> None:
    with Named("vllm", "/reset_prefix_cache") as server:
        p = measured(server, TINY)
    assert server.flushes == 0
    assert {head.split()[1] for head in server.heads if head.startswith("POST")} == {
        "/v1/chat/completions"
    }
    assert p.protocol.cache_emptied.text == "not asked for" == p.protocol.exact_output
    assert not any("ignore_eos" in body for body in server.asked)


@pytest.mark.parametrize(
    ("owner", "path", "answer"),
    [("vllm", "/reset_prefix_cache", b'{"success":true}'), ("sglang", "/flush_cache", b"Cache.")],
)
def test_a_cache_is_emptied_before_each_repetition_and_that_is_proven(
    owner: str, path: str, answer: bytes
) -> None:
    with Named(owner, path, answer=answer) as server:
        p = measured(server, COLD)
    emptied = p.protocol.cache_emptied
    assert server.flushes == 3 == emptied.times  # for the proof, and before each repetition
    assert (emptied.hook, emptied.refused, emptied.proven) == (f"POST {path}", 0, True)
    assert "190 of 200 tokens of a repeated prompt came from the cache before it, 0 after" in (
        p.protocol.prefix_cache_state
    )
    assert p.protocol.cache == "cold"
    assert not [w for w in p.validity.warnings if w.startswith("cold:")]


@pytest.mark.parametrize(
    ("server", "proven", "said"),
    [
        (Named("vllm", "/reset_prefix_cache", status=404), False,
         "REFUSED 3 of 3 times: status 404; it needs the environment variable VLLM_SERVER_DEV"),
        (Named("vllm", "/reset_prefix_cache", keeps=True, answer=b'{"success": false}'), False,
         "REFUSED 3 of 3 times: status 200, {\"success\": false}"),
        (Named("vllm", "/reset_prefix_cache", keeps=True), False, "NOT emptied: 190 of 200"),
    ],
)  # fmt: skip
def test_a_cache_that_stays_is_told(server: Named, proven: bool, said: str) -> None:
    with server:
        p = measured(server, COLD)
    assert p.protocol.cache_emptied.proven is proven
    assert said in next(w for w in p.validity.warnings if w.startswith("cold:"))


@pytest.mark.parametrize(
    ("owner", "said"),
    [("mlx-lm", "nothing emptied it: mlx-lm has no request"),
     ("someone", "nothing emptied it: the server names no engine with one"),
     ("llamacpp", "does not say how many slots")],
)  # fmt: skip
def test_an_engine_without_a_request_is_left_alone(owner: str, said: str) -> None:
    with Named(owner, "/x") as server:
        p = measured(server, COLD)
    assert server.flushes == 0
    assert p.protocol.cache_emptied.hook is None
    assert said in p.protocol.prefix_cache_state


def test_no_more_slots_are_emptied_than_a_server_has() -> None:
    found = engine_called("llama.cpp")
    emptier = Emptier(Endpoint(base_url="http://h", model="m"), None, found, 2**53 - 1,
                      started_here=False)  # fmt: skip
    assert not emptier.paths
    assert "the server says 9,007,199,254,740,991 slots" in emptier.why


def test_a_declared_engine_counts_where_the_server_names_none() -> None:
    with Named("", "/reset_prefix_cache") as server:
        p = measured(server, COLD, identity={"runtime": "max"})
    assert (server.flushes, p.protocol.cache_emptied.proven) == (3, True)


def test_one_prompt_again_and_again_is_no_cold_cache() -> None:
    with pytest.raises(ValueError, match="measures a warm cache"):
        Plan(cold=True, prompts="same")
    rule = next(r for r in DISCARD_RULES if r.startswith("asked to be cold"))
    assert "invalid" in rule


def test_no_canary_is_asked_for_a_length_and_short_answers_are_told() -> None:
    with Named("vllm", "/x") as server:
        p = measured(server, EXACT)
    asked = [b for b in server.asked if b.get("ignore_eos")]
    assert len(asked) == 4  # the warm-up and the timed ones
    assert not any("response_format" in b or "tools" in b for b in asked)
    assert p.protocol.output_lengths.asked == "exactly 16 tokens"
    assert "not as long" not in " ".join(p.validity.warnings)
    with Named("vllm", "/x") as server:
        short = measured(server, EXACT.model_copy(update={"output_tokens": 40}))
    assert "3 of 3 answers are not as long as was asked for" in short.validity.warnings


def test_a_server_that_refuses_it_is_asked_without() -> None:
    class Strict(Named):
        def replies(self, body: Body) -> list[Piece]:
            if "ignore_eos" in body:
                return [http(b'{"error": {"message": "unknown field"}}', status=400)]
            return super().replies(body)

    with Strict("vllm", "/x") as server:
        p = measured(server, EXACT)
    assert p.protocol.exact_output == "asked for and refused, so not asked for in the load"
    assert p.protocol.output_lengths.asked == "at most 16 tokens"
    assert p.results.errors == 0


def test_a_model_that_ends_by_its_format_is_not_asked() -> None:
    with Named("vllm", "/x") as server:
        p = measured(server, EXACT, identity={"model": "openai/gpt-oss-20b"})
    assert not any("ignore_eos" in body for body in server.asked)
    assert "its own format; lengths are as they fell" in " ".join(p.validity.warnings)


@pytest.mark.parametrize("where", [0, 1, 2])
def test_a_server_that_is_swapped_and_swapped_back_makes_the_run_invalid(where: int) -> None:
    faults = [None] * BEFORE + [Fault.OTHER_SERVER if n == where else None for n in range(3)]
    script = Script(ttft_s=0.0, itl_s=0.002, tokens=20, faults=tuple(faults))
    with reference_server(script) as endpoint:
        p = confirm(endpoint, plan=TINY)
    said = next(r for r in p.validity.reasons if "another server gave" in r)
    assert "reference-1 in" in said
    assert "another-2 in 1" in said
    assert (p.label, p.validity.same_process_after) == ("INVALID", None)


def test_the_same_server_throughout_says_nothing_of_another() -> None:
    with reference_server(Script(ttft_s=0.0, itl_s=0.002, tokens=20)) as endpoint:
        plain = confirm(endpoint, plan=TINY.model_copy(update={"api": "completions"}))
    assert {s.id_prefix for s in plain.samples} == {"cmpl"}
    assert {s.server for s in plain.samples} == {"reference"}
    assert "another server" not in " ".join(plain.validity.reasons)


def environment(folder: Path, release: str) -> Path:
    """An environment that holds an engine's metadata at a release, and the rest of this one."""
    venv.create(folder, with_pip=False, symlinks=True)
    site = next(folder.glob("lib/python*/site-packages"))
    here = next(p for p in sys.path if p.endswith("site-packages"))
    (site / "rest.pth").write_text(here)
    info = site / f"xllamacpp-{release}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: xllamacpp\nVersion: {release}\n")
    return folder / "bin" / "python"


def test_the_release_of_an_environment_is_read_from_it(tmp_path: Path) -> None:
    python = environment(tmp_path / "env", "1.2.3")
    assert installed_in(python)["xllamacpp"] == "1.2.3"
    found = environment_of([str(python), "-m", "xllamacpp.serve", "8000"])
    assert found["runtime_build"] == "1.2.3" == found["packages"]["xllamacpp"]
    script = tmp_path / "serve"
    script.write_text(f"#!{python} -I\nprint(1)\n")
    script.chmod(0o755)
    assert interpreter_of(script) == python
    assert environment_of([str(script)])["packages"]["xllamacpp"] == "1.2.3"
    script.write_text(f"#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\nprint(1)\n")
    assert interpreter_of(script) == python
    assert installed_in(Path(sys.executable))["pydantic"] == version("pydantic")
    assert environment_of(["sh", "-c", "true"])["packages"] == {}


def test_of_several_engines_only_the_named_one_counts(tmp_path: Path) -> None:
    python = environment(tmp_path / "env", "1.2.3")
    site = next((tmp_path / "env").glob("lib/python*/site-packages"))
    (site / "vllm-0.33.0.dist-info").mkdir()
    (site / "vllm-0.33.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: vllm\nVersion: 0.33.0\n"
    )
    both = environment_of([str(python), "serve.py"])
    assert (both["runtime_build"], both["packages"]["vllm"]) == (None, "0.33.0")
    assert environment_of([str(python), "-m", "vllm.entrypoints"])["runtime_build"] == "0.33.0"


SERVE = """
import sys, threading, xllamacpp
p = xllamacpp.CommonParams()
p.model.path, p.hostnames, p.port = sys.argv[1], ["127.0.0.1"], int(sys.argv[2])
p.n_parallel, p.n_ctx, p.n_gpu_layers, p.cpuparams.n_threads = 1, 1024, 0, 1
server = xllamacpp.Server(p)
threading.Event().wait()
"""


def test_a_release_sweep_on_the_real_engine_tells_its_arms_apart(tmp_path: Path) -> None:
    """The same engine in two environments, of which only the metadata says which release it is."""
    require_engine()
    from stackchoice.confirm.setup import model_file

    (tmp_path / "serve.py").write_text(SERVE)
    canary = tmp_path / "one.yaml"
    canary.write_text(
        "version: 1\ncanaries:\n  - {id: capital, max_tokens: 24, expect: {contains: [Paris]},\n"
        "     messages: [{role: user, content: Name the capital city of France.}]}\n"
    )
    line = [*("{python}", str(tmp_path / "serve.py"), str(model_file())), "{port}"]
    load = Plan(requests=3, floor=False, output_tokens=16, prompt_words=8, canaries=str(canary))

    old, new = (environment(tmp_path / f"e{n}", n) for n in ("1.0", "2.0"))
    plan = design([parse_knob(f"python={old},{new}")])
    found = run_sweep(
        plan, lambda s: CommandEngine(line, model="m", settings=s), load=load,
        metric="ttft_s", folder=tmp_path / "sweep", subject="releases", confirm_peak=False,
    )  # fmt: skip
    passports = [Passport.load(p) for p in sorted((tmp_path / "sweep").glob("*.passport.json"))]
    assert [p.identity.runtime_build for p in passports] == ["1.0", "2.0", "2.0", "1.0"]
    assert {p.identity.origin("runtime_build").basis for p in passports} == {Basis.INSTALLED}
    assert {p.identity.server.version for p in passports} == {"b0-unknown"}
    notes = " ".join(found.notes)
    assert "runtime build differs between runs: 1.0, 2.0" in notes
    assert "nothing that the server" not in notes
    alike = " ".join(judge(plan, {0: passports[:1], 1: passports[:1]}, "ttft_s").notes)
    assert "nothing that the server or its environment says of itself differs" in alike
    assert "(release 1.0 in both); the knob may not have taken" in alike


def test_a_cold_cache_is_proven_on_the_real_engine() -> None:
    require_engine()
    plan = Plan(requests=3, repetitions=2, floor=False, output_tokens=16, prompt_words=64,
                cold=True, exact_output=True)  # fmt: skip
    with EmbeddedEngine(slots=2) as engine:
        p = confirm(engine, plan=plan)
    assert p.protocol.cache_emptied.proven
    assert p.protocol.cache_emptied.hook.startswith("POST /slots/0?action=erase, POST /slots/1")
    assert {s.completion_tokens for s in p.samples} == {16}
    assert p.validity.largest_cached_share == 0
    assert (p.results.restarts, p.protocol.output_lengths.asked) == (0, "exactly 16 tokens")


def test_a_process_that_is_named_is_watched() -> None:
    engine = CommandEngine([sys.executable, "-m", "stackchoice.cli", "reference-server", "--port",
                            "{port}"], model="reference")  # fmt: skip
    with engine:
        p = confirm(engine.endpoint, plan=TINY, pid=engine.pid)
        other = confirm(engine.endpoint, plan=TINY)
        with pytest.raises(InputError, match="pid 999999999: no process"):
            confirm(engine.endpoint, plan=TINY, pid=999_999_999)
    assert p.results.peak_memory_bytes > 10**7
    assert p.results.restarts == 0
    assert "high-water mark" in p.results.peak_memory_of or "sampled" in p.results.peak_memory_of
    assert (other.results.restarts, other.results.peak_memory_bytes) == (None, None)
