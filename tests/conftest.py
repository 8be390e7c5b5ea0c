"""Shared fixtures: the fact base, and a scenario changed by path."""

import os

import pytest
from hypothesis import HealthCheck, settings

#: Small matrices: two threads of BLAS for each of two workers mostly wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from stackchoice import decide, load_facts, load_scenario
from stackchoice.scenario import Scenario, parse_scenario

#: A busy machine is no failure: no test asserts a time, and neither does hypothesis.
settings.register_profile(
    "stackchoice", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("stackchoice")


@pytest.fixture(scope="session")
def facts():
    return load_facts()


@pytest.fixture(scope="session")
def decision(facts):
    """Return the worked case, decided once."""
    return decide(load_scenario("json-chat"), facts)


@pytest.fixture(scope="session")
def changed():
    """Return a shipped scenario with some values replaced, checked again as a file would be."""

    def change(name: str, **by_path) -> Scenario:
        tree = load_scenario(name).model_dump(mode="json", by_alias=True)
        for path, value in by_path.items():
            *parents, last = path.split("__")
            node = tree
            for key in parents:
                node = node[key]
            node[last] = value
        return parse_scenario(tree)

    return change


def pytest_sessionfinish(session, exitstatus):
    """In CI everything the suite needs is installed, so a skipped test is a failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:  # one of several workers; the controller counts
        return
    if os.environ.get("CI") == "true" and exitstatus == 0 and reporter.stats.get("skipped"):
        reporter.write_line("a test was skipped, which counts as a failure in CI", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
