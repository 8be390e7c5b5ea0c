"""Checkpoints as they lie on disk: files within bounds, encodings, layers, contradictions."""

from stackchoice.read.build import declarations, inspect_checkpoint
from stackchoice.read.inspection import Inspection

__all__ = ["Inspection", "declarations", "inspect_checkpoint"]
