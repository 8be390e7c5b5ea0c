"""What people really have, read within bounds: the files of a checkpoint, the log of an engine."""

from stackchoice.read.build import inspect_checkpoint
from stackchoice.read.inspection import Inspection

__all__ = ["Inspection", "inspect_checkpoint"]
