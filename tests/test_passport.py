"""The passport: every item a field with its origin, one file, one schema, escaped when shown."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from passport_samples import arm, sample

from stackchoice.arm_identity import arm_identity
from stackchoice.compare import fairness
from stackchoice.confirm import Passport, PassportError, Plan
from stackchoice.confirm.account import counters_of, read_account
from stackchoice.confirm.assess import _identified
from stackchoice.confirm.canary import CanaryOutcome
from stackchoice.confirm.host import Sampler, host_identity
from stackchoice.confirm.identity import Basis, Identity
from stackchoice.confirm.passport import Protocol, Validity, schema_text
from stackchoice.confirm.results import Results, cache_state, counted
from stackchoice.confirm.same import same_process
from stackchoice.confirmation import without_texts
from stackchoice.errors import InputError
from stackchoice.facts.load import data_dir
from stackchoice.load.endpoint import Endpoint
from stackchoice.own_rates import own_rates
from stackchoice.passports import find, load_arms, read_declared, shipped

#: What the seed's four parts list, item by item, and the field that holds it.
ITEMS = {
    Identity: "model model_revision artifact artifact_revision runtime runtime_build driver "
    "kernels chat_template weight_format kv_format recurrent_state_format speculative_decoder "
    "torch toolkit packages gpu operating_system settings effective_settings context_tokens "
    "kv_pool_tokens manifest_sha256",
    Protocol: "prompt_version harness harness_revision scorer_revision sampling reasoning_policy "
    "output_budget_tokens input_lengths output_lengths concurrency arrival_pattern "
    "prefix_cache_state warm_up repetitions seed",
    Validity: "canaries_before configured_context_tokens realised_context_tokens "
    "realised_kv_tokens discard_rules discard_rules_sha256 admission_rejected length_truncated "
    "schema_or_tool_failures completed_but_wrong discarded_runs hold",
    Results: "ttft_s itl_s decode_tokens_per_s end_to_end_s output_tokens_per_s peak_memory_bytes "
    "errors restarts wall_power_w energy_j",
}  # fmt: skip


@pytest.mark.parametrize("part", ITEMS, ids=lambda p: p.__name__)
def test_every_item_of_the_four_parts_is_a_field_and_may_be_unknown(part):
    empty = part()
    for item in ITEMS[part].split():
        assert getattr(empty, item) in (None, (), {}), item


def test_the_published_schema_is_current_and_describes_what_is_written(tmp_path):
    text = (data_dir() / "schemas" / "passport.schema.json").read_text(encoding="utf-8")
    assert text == schema_text(), "write `stackchoice passport schema` there anew"
    validator = jsonschema.Draft202012Validator(json.loads(text))
    validator.check_schema(json.loads(text))
    for name in shipped():
        validator.validate(json.loads(find(name).read_text(encoding="utf-8")))
    validator.validate(json.loads(arm().save(tmp_path / "p.json").read_text()))
    broken = json.loads(arm().model_dump_json())
    for change in ({"arm": 5}, {"format": "stackchoice-passport/9"}, {"extra": 1}):
        assert list(validator.iter_errors({**broken, **change}))
    del broken["results"]
    assert list(validator.iter_errors(broken))


@settings(max_examples=30, deadline=None)
@given(st.floats(0.1, 10), st.integers(1, 3), st.text(max_size=20), st.booleans())
def test_a_passport_survives_its_file(tmp_path_factory, speed, launches, text, hold):
    path = tmp_path_factory.mktemp("p") / "p.json"
    clean = text.encode("utf-8", "replace").decode()
    p = arm(clean, speed=speed, launches=launches, validity={"hold": (clean,) if hold else ()})
    assert Passport.load(p.save(path)) == p


def test_a_passport_of_format_1_is_taken_and_others_are_refused(tmp_path):
    path = tmp_path / "p.json"
    old = {**json.loads(arm().model_dump_json()), "format": "stackchoice-passport/1"}
    path.write_text(json.dumps(old))
    assert Passport.load(path) == arm()
    for tree, advice in (
        ({"format": "stackchoice-passport/3"}, "measure again with this version"),
        ({"duration": 1}, "stackchoice passport import"),
        ([1], "import"),
    ):
        path.write_text(json.dumps(tree))
        with pytest.raises(PassportError, match=advice) as error:
            Passport.load(path)
        assert "\n" not in str(error.value)
    path.write_text("{")
    with pytest.raises(PassportError, match="no JSON"):
        Passport.load(path)


def test_a_measured_passport_must_say_whether_it_is_valid():
    with pytest.raises(ValueError, match="must say whether it is valid"):
        Passport(arm="a", identity=Identity(), protocol=Protocol(), validity=Validity(),
                 results=Results())  # fmt: skip


def test_labels():
    assert arm().label == "VALID"
    assert arm(validity={"valid": False}).label == "INVALID"
    assert arm(validity={"hold": ("x",)}).label == "HOLD"
    assert load_arms(["gh200-0.19.1"])[0].label == "UNCHECKED"


# Identity.


def test_what_the_engine_says_replaces_what_was_declared_and_says_so():
    declared = Identity(runtime_build="0.19.1", kv_format="fp8")
    seen = declared.seen({"runtime_build": "0.26.0"}, Basis.READ, "/version")
    assert seen.runtime_build == "0.26.0"
    assert str(seen.origin("runtime_build")) == (
        "read from the engine: /version; declared as 0.19.1"
    )
    assert seen.origin("kv_format").basis is Basis.DECLARED
    assert seen.origin("torch") is None
    again = seen.seen({"runtime_build": "typed", "torch": "2.9"}, Basis.DECLARED, "by hand")
    assert (again.runtime_build, again.torch) == ("0.26.0", "2.9")
    launched = seen.seen({"runtime_build": "file"}, Basis.LAUNCHED, "pin")
    assert launched.seen({"runtime_build": "b0"}, Basis.READ, "/props").runtime_build == "file"


VLLM_METRICS = """
# HELP process_start_time_seconds Start time of the process since unix epoch in seconds.
process_start_time_seconds 1.79e+09
vllm:num_requests_running{model_name="m"} 0.0
"""
VLLM_METRICS += (
    'vllm:cache_config_info{block_size="16",cache_dtype="fp8",enable_prefix_caching="True",'
    'num_gpu_blocks="1000",mamba_block_size="None",sliding_window="None"} 1.0\n'
)


@pytest.mark.parametrize(
    ("owner", "header", "engine"),
    [("openai", None, None), ("local", "uvicorn", None), ("library", None, None),
     ("me", "uvicorn", None), ("llamacpp", None, "llama.cpp"), ("sglang", "uvicorn", "sglang"),
     ("openai", "llama.cpp", "llama.cpp")],
)  # fmt: skip
def test_an_owner_or_a_web_server_is_no_engine(owner, header, engine):
    """LiteLLM, transformers serve, Ollama and llama-cpp-python say the first four."""
    models = {"/v1/models": json.dumps({"data": [{"id": "m", "owned_by": owner}]})}
    said = read_account(models, {"server": header} if header else {}, "m")
    assert (said.engine, said.owned_by, said.server_header) == (engine, owner, header)


def test_vllms_account():
    said = read_account(
        {"/v1/models": '{"data":[{"id":"m","owned_by":"vllm","max_model_len":4096,"root":"/w"}]}',
         "/version": '{"version":"0.26.0"}', "/metrics": VLLM_METRICS}, {}, "m")  # fmt: skip
    assert (said.engine, said.version, said.context_tokens) == ("vllm", "0.26.0", 4096)
    assert (said.kv_pool_tokens, said.kv_format) == (16_000, "fp8")
    assert said.started_at_s == 1.79e9
    assert said.settings["enable_prefix_caching"] == "True"
    assert said.origins["version"] == "/version"
    # Groups of layers share no blocks, so blocks times size is no count of tokens there.
    hybrid = VLLM_METRICS.replace('mamba_block_size="None"', 'mamba_block_size="1568"')
    assert read_account({"/metrics": hybrid}).kv_pool_tokens is None
    printed = hybrid.replace(
        'block_size="16",cache', 'block_size="16",kv_cache_size_tokens="777",cache'
    )
    assert read_account({"/metrics": printed}).kv_pool_tokens == 777
    for odd in ("\u00b2", "9" * 5000, "-1", "nan"):  # digits that are no number here
        text = printed.replace("777", odd)
        assert read_account({"/metrics": text}).kv_pool_tokens is None
    (kept,) = read_account({"/server_info": '{"a": 1e400, "b": NaN, "c": 1}'}).settings
    assert kept == "c"  # what no JSON can hold would make a passport that nobody can load


def test_counters_prove_a_cold_cache_where_answers_do_not_tell():
    text = ('vllm:num_preemptions_total{engine="0"} 3\nvllm:num_preemptions_total{engine="1"} 1\n'
            'vllm:prefix_cache_queries_total{engine="0"} 1000.0\nvllm:prefix_cache_hits_total 500\n'
            'other:num_preemptions_total 9\n')  # fmt: skip
    before = counters_of(text)
    assert before == {"preemptions": 4, "prefix_queries": 1000, "prefix_hits": 500}
    after = {"preemptions": 6, "prefix_queries": 3000, "prefix_hits": 505}
    moved = counted([(before, after), (after, {**after, "prefix_queries": 4000})])
    assert (moved.preemptions, moved.cached_share) == (2, 5 / 3000)
    words, word = cache_state(Plan(), None, moved.cached_share)
    assert (word, "by the server's counters" in words) == ("cold", True)
    assert cache_state(Plan(), 0.5, moved.cached_share)[1] == "partly warm"
    assert cache_state(Plan(), None, None)[1] == "meant cold"
    # A server that was started anew counts from zero: nothing is known then.
    assert counted([(after, before)]).preemptions is None
    assert counted([]) == counted([({}, {})])


def test_llamacpps_account():
    props = {"default_generation_settings": {"n_ctx": 2048, "params": {"temperature": 0.8}},
             "total_slots": 4, "model_path": "/home/ana/m.gguf", "chat_template": "x",
             "build_info": "b8920-abc"}  # fmt: skip
    said = read_account({"/props": json.dumps(props), "/slots": '[{"n_ctx":2048},{"n_ctx":2048}]'})
    assert (said.engine, said.version, said.context_tokens) == ("llama.cpp", "b8920-abc", 2048)
    assert (said.slots, said.model_path) == (4, "m.gguf")
    assert said.chat_template.startswith("sha256:")
    assert said.settings == {"temperature": 0.8}


def test_sglangs_account_keeps_no_secret():
    info = {"model_path": "org/m", "version": "0.5.9", "kv_cache_dtype": "fp8_e5m2",
            "api_key": "sk-1", "admin_api_key": "sk-2", "hf_token": "hf-3",
            "max_total_num_tokens": 1000,
            "internal_states": [{"last_gen_throughput": 1.0}]}  # fmt: skip
    for path in ("/server_info", "/get_server_info"):
        said = read_account({path: json.dumps(info)})
        assert (said.engine, said.version, said.kv_pool_tokens) == ("sglang", "0.5.9", 1000)
        text = said.model_dump_json()
        assert not any(secret in text for secret in ("sk-1", "sk-2", "hf-3"))


@pytest.mark.parametrize(
    "text",
    ["", "[]", "null", "{", "[" * 9000, '{"a":' * 9000, '{"x":1e999}', "\x00",
     '{"data":[1,null,{"id":5}]}', 'a{b="c"} nan'],
)  # fmt: skip
def test_a_hostile_account_is_only_unknown(text):
    paths = ("/v1/models", "/version", "/props", "/slots", "/metrics", "/server_info")
    said = read_account(dict.fromkeys(paths, text), {}, "m")
    assert (said.version, said.kv_pool_tokens, said.slots) == (None, None, None)


def test_identity_of_an_endpoint_is_read_and_what_was_asked_for_is_declared():
    endpoint = Endpoint(base_url="http://h", model="m")
    unlisted = _identified(Identity(), endpoint, read_account({}, {}, "m"))
    assert unlisted.origin("model").basis is Basis.DECLARED
    texts = {"/v1/models": '{"data":[{"id":"m"}]}', "/version": '{"version":"1"}'}
    listed = _identified(Identity(), endpoint, read_account(texts, {}, "m"))
    assert listed.origin("model").basis is Basis.READ
    assert listed.origin("runtime_build").where == "/version"


def test_a_server_that_was_started_anew_is_noticed():
    def seen(step, at, launch=0):
        return {"step": step, "launch": launch, "server": {"started_at_s": at}}

    assert same_process([seen("server", 1.0), seen("server_after", 1.0)]) is True
    assert same_process([seen("server", 1.0), seen("server_after", 2.0)]) is False
    assert same_process([seen("server", 1.0), seen("server_after", None)]) is None
    two = [seen("server", 1.0), seen("server_after", 1.0), seen("server", 2.0, 1),
           seen("server_after", 2.0, 1)]  # fmt: skip
    assert same_process(two) is True


@pytest.mark.parametrize(
    ("prompts", "cached", "word"),
    [("own", None, "meant cold"), ("own", 0.0, "cold"), ("own", 0.3, "partly warm"),
     ("own", 0.9, "partly warm"), ("same", None, "meant warm"), ("same", 0.9, "warm"),
     ("same", 0.0, "cold")],
)  # fmt: skip
def test_the_state_of_the_prefix_cache_is_what_the_server_counted(prompts, cached, word):
    text, state = cache_state(Plan(prompts=prompts), cached)
    assert state == word
    assert text.startswith(word)


def test_identity_from_a_log_and_declarations(tmp_path, facts):
    log = data_dir() / "samples" / "vllm_start.log"
    found = arm_identity(["model_revision=abc", "kv_format=typed"], log=log, facts=facts)
    assert found.runtime == "vllm"
    assert found.origin("runtime").basis is Basis.LOGGED
    assert found.origin("model_revision").basis is Basis.DECLARED
    pool = found.origin("kv_pool_tokens")
    assert pool is None or "line" in pool.where
    for pair, reason in (("speed=1", "no item of id"), ("server=x", "no item"), ("x", "VALUE"),
                         ("slots=many", "slots")):  # fmt: skip
        with pytest.raises(InputError, match=reason):
            arm_identity([pair])


def test_the_hash_of_a_checkpoint_names_the_model(tmp_path, facts):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text('{"model_type": "llama"}')
    first, second = (arm_identity(checkpoint=tmp_path / n, facts=facts) for n in "ab")
    assert first.manifest_sha256 == second.manifest_sha256
    x, y = arm("x", identity={"manifest_sha256": first.manifest_sha256, "model": "one"}), arm(
        "y", identity={"manifest_sha256": second.manifest_sha256, "model": "two"})  # fmt: skip
    assert next(i for i in fairness(x, y, facts) if i.id == "model").status == "identical"


def test_without_raw_no_word_of_an_answer_is_kept():
    told = CanaryOutcome(id="sum", result="passed", text="secret answer")
    p = arm(validity={"canaries_before": (told,)})
    p = p.model_copy(update={"samples": (sample(0.1, text="secret answer", reasoning="secret"),)})
    assert "secret" not in without_texts(p).model_dump_json()


# The machine under it.


def test_memory_of_a_running_process_is_sampled_and_energy_only_when_measured():
    code = "x = bytearray(80_000_000); import sys; print(flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:  # fmt: skip
        process.stdout.readline()  # by now it holds them
        with Sampler(process.pid) as sampler:
            sampler._end.wait(1.2)
        process.stdin.close()
    found = sampler.results()
    if "GPU" not in found["peak_memory_of"]:
        assert found["peak_memory_bytes"] > 80_000_000
    assert ("energy_j" in found) == ("energy_of" in found)
    assert host_identity()["operating_system"]


# The command line.


def run(*args, **more):
    return subprocess.run(
        [sys.executable, "-m", "stackchoice.cli", *map(str, args)], capture_output=True, text=True,
        check=False, cwd=Path(__file__).resolve().parents[1], **more,
    )  # fmt: skip


def test_commands(tmp_path):
    shown = run("passport", "show", "rtx5090-262k")
    assert shown.returncode == 0
    assert "configured context tokens: 262144" in shown.stdout
    assert "[reported: the lesson]" in shown.stdout
    assert "UNCHECKED" in run("passport", "validate", "rtx5090-262k").stdout
    path = tmp_path / "x.json"
    path.write_text("{}")
    for args in (("passport", "validate", path), ("passport", "import", path),
                 ("compare", path, "rtx5090-262k"), ("passport", "show", "nobody"),
                 ("passport", "show"), ("compare", "rtx5090-262k")):  # fmt: skip
        done = run(*args)
        assert done.returncode == 2, args
        assert done.stderr.startswith("stackchoice: ")
        assert len(done.stderr.splitlines()) == 1
        assert not list(tmp_path.glob("*.passport.json"))
    both = run("compare", "gh200-0.19.1-draft2", "gh200-0.26.0-draft2", "--json")
    assert json.loads(both.stdout)["pairs"][0]["attribution"]["pattern"] == "decode alone"


@pytest.mark.parametrize("odd", [1e308, 5e-324, -1e200, "Infinity", "NaN"])
def test_a_figure_that_cannot_be_measured_makes_no_passport(tmp_path, odd):
    tree = json.loads((data_dir() / "samples" / "embedded.passport.json").read_text("utf-8"))
    tree["results"]["repetitions"][0]["output_tokens_per_s"] = float(odd)
    path = tmp_path / "p.json"
    path.write_text(json.dumps(tree), encoding="utf-8")
    with pytest.raises(PassportError, match=r"results\.repetitions\.0\.output_tokens_per_s "):
        Passport.load(path)


@pytest.mark.parametrize("odd", [float("nan"), float("inf")])
def test_a_setting_that_is_no_number_makes_no_passport(tmp_path, odd):
    tree = json.loads((data_dir() / "samples" / "embedded.passport.json").read_text("utf-8"))
    path = tmp_path / "p.json"
    for held, whole in (({"x": odd}, False), ({"x": 10**400, "y": "nan"}, True)):
        tree["identity"]["settings"] = held
        path.write_text(json.dumps(tree), encoding="utf-8")
        if whole:
            assert Passport.load(path).identity.settings == held
        else:
            with pytest.raises(PassportError, match=r"identity\.settings\.x cannot be"):
                Passport.load(path)


def test_less_than_no_device_makes_no_passport_and_no_speed_no_rate(tmp_path):
    tree = json.loads((data_dir() / "samples" / "embedded.passport.json").read_text("utf-8"))
    for name in ("decode_tokens_per_s", "prefill_tokens_per_s", "server_prefill_tokens_per_s"):
        tree["results"][name] = {"median": 0.0, "n": 1}
    path = tmp_path / "p.json"
    path.write_text(json.dumps(tree), encoding="utf-8")
    with pytest.raises(InputError, match="holds no rate"):
        own_rates(path)
    path.write_text(json.dumps(tree | {"identity": {"gpu_count": -2}}), encoding="utf-8")
    with pytest.raises(PassportError, match="gpu_count"):
        Passport.load(path)


def test_declared_pairs():
    assert read_declared(["seed=5", "model = a", "sampling_settings=top_k=7"]) == {
        "seed": "5", "model": "a", "sampling_settings": "top_k=7"}  # fmt: skip


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("/home/ana/models/m.gguf", "m.gguf"),
        ("C:\\Users\\ana\\m.gguf", "m.gguf"),
        ("org/model", "org/model"),
        ("m.gguf", "m.gguf"),
    ],
)
def test_a_passport_names_no_folder_of_the_engines_machine(told, kept):
    """The publisher's name stays; a home folder is nobody's business."""
    said = read_account({"/props": json.dumps({"model_path": told})})
    assert said.model_path == kept


def test_shipped_passports_name_no_folder():
    for path in (*data_dir().rglob("*passport*.json"), *(data_dir() / "workshop").rglob("*.json")):
        assert "site-packages" not in path.read_text(encoding="utf-8"), path
