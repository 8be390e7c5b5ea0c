"""What CONTRIBUTING.md says is enough to add an engine is enough."""

import pytest
import yaml

from stackchoice import decide, load_facts, load_scenario
from stackchoice.facts import data_dir


@pytest.fixture
def with_newcomer(tmp_path):
    """The fact base and one file more: an engine that runs what SGLang runs, with another name."""
    tree = yaml.safe_load((data_dir() / "engines" / "sglang.yaml").read_text(encoding="utf-8"))
    (tmp_path / "engines").mkdir()
    text = yaml.safe_dump({**tree, "id": "newcomer", "name": "Newcomer"})
    (tmp_path / "engines" / "newcomer.yaml").write_text(text, encoding="utf-8")
    return load_facts(overlay=tmp_path)


def test_an_engine_is_one_file_until_its_rules_are_read(with_newcomer, facts):
    scenario = load_scenario("json-chat")
    before, after = decide(scenario, facts), decide(scenario, with_newcomer)
    options = {option.name: option for option in after.options}
    assert set(options) == {option.name for option in before.options} | {"Newcomer"}
    assert options["Newcomer"].status == options["vLLM"].status
    newcomers = [c for c in after.candidates if c.option == "Newcomer"]
    assert len(newcomers) == sum(c.option == "SGLang" for c in before.candidates)
    # Nobody read its memory rule or its kernels: a quotient that says so, and what is unknown.
    assert "by quotient" in options["Newcomer"].reason
    assert options["Newcomer"].conditions
    assert after.best_self_hosted == before.best_self_hosted
