"""Confirmation by measurement: the embedded engine, the load client, canaries, the passport."""

from stackchoice.confirm.engine import EmbeddedEngine, Engine
from stackchoice.confirm.identity import Identity
from stackchoice.confirm.passport import Passport, PassportError
from stackchoice.confirm.probe import ProbedMachine, probe_machine
from stackchoice.confirm.run import Progress, confirm
from stackchoice.confirm.setup import setup_engine
from stackchoice.load.endpoint import Endpoint
from stackchoice.load.plan import Plan

__all__ = [
    "EmbeddedEngine", "Endpoint", "Engine", "Identity", "Passport", "PassportError", "Plan",
    "ProbedMachine", "Progress", "confirm", "probe_machine", "setup_engine",
]  # fmt: skip
