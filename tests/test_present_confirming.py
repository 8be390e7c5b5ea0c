"""The widget of a live run: measures, cancels, refuses; the recorded run stands in."""

import time
from pathlib import Path

from odd_server import OddServer

from stackchoice.confirm import Passport
from stackchoice.facts.load import data_dir
from stackchoice.present.confirming import RECORDED, ConfirmPanel, recorded_arms, recorded_table


def panel_on(server: OddServer, folder: Path, **more: object) -> ConfirmPanel:
    given = {"requests": 3, "output_tokens": 16, "prompt_words": 5, "out": folder, **more}
    return ConfirmPanel("", endpoint=server.url, model="odd", **given)


def test_a_run_is_shown_with_its_canaries(tmp_path: Path) -> None:
    with OddServer() as server:
        panel = panel_on(server, tmp_path)
        panel.start()
        panel.wait(60)
    assert panel.error == ""
    assert not panel.running
    (passport,) = panel.done.passports
    assert passport.results.requests == 3
    assert panel.progress.value == panel.progress.max > 3
    assert "Canaries" in panel.view.value
    assert "capital" in panel.result.html
    assert Passport.load(tmp_path / "endpoint.passport.json") == passport


def test_what_a_notebook_measures_at_once_stands_in_its_result_alone(tmp_path: Path) -> None:
    with OddServer() as server:
        panel = panel_on(server, tmp_path)
        panel.start_if_installed()
        assert panel.done.passports[0].results.requests == 3
        assert panel.view.value == ""
        assert "Canaries" in panel.result.html
        panel.start()
        panel.wait(60)
    assert "Canaries" in panel.view.value


def test_cancelling_keeps_what_was_measured(tmp_path: Path) -> None:
    with OddServer() as server:
        panel = panel_on(server, tmp_path, requests=100_000)
        panel.start()
        raw = tmp_path / "endpoint.raw.jsonl"
        end = time.monotonic() + 60
        while time.monotonic() < end and not (raw.exists() and '"timed"' in raw.read_text()):
            time.sleep(0.05)
        assert not panel.cancel_button.disabled
        panel.cancel()
        panel.wait(60)
    assert not panel.running
    assert panel.cancel_button.disabled
    (passport,) = panel.done.passports
    assert 0 < passport.results.requests < 100_000
    assert "cancelled" in panel.view.value


def test_what_cannot_be_is_said_in_one_line(tmp_path: Path) -> None:
    with OddServer() as server:
        panel = panel_on(server, tmp_path, requests="many")
        panel.start()
        panel.wait(60)
        assert not panel.running
        assert "&#39;many&#39; is no whole number" in panel.form.places["requests"].value
        panel.fields["canaries"].value = "<b>none</b>"
        assert "&lt;b&gt;none" in panel.form.places["canaries"].value
        panel.fields["canaries"].value = "basic"
        assert "&#39;many&#39; is no whole number" in panel.form.places["requests"].value
        panel.fields["requests"].value = "3"
        assert panel.error == ""
        assert {place.value for place in panel.form.places.values()} == {""}
    panel.start()
    panel.wait(60)
    assert "no connection" in panel.form.places["endpoint"].value
    assert panel.start_button.disabled is False


def test_the_recorded_run_says_that_it_is_one() -> None:
    recorded = Passport.load(data_dir() / RECORDED)
    assert recorded.label == "VALID"
    assert recorded.validity.cache_probe.cached_tokens
    assert "Recorded earlier" in recorded_table().html
    assert recorded_arms(None) == [(recorded.arm, recorded)]
