"""The errors meant for the user. Each text says the value, why it is wrong, and the fix."""


class StackchoiceError(Exception):
    """Root of every error meant for the user; the command line prints it without traceback."""


class FactsError(StackchoiceError):
    """The fact base in ``data/`` is missing, malformed or unsourced."""


class ScenarioError(StackchoiceError):
    """A scenario holds a wrong value; the text names file, line, value, reason and fix."""


class InputError(StackchoiceError):
    """A value given to a panel or to a call cannot be; the text says value, reason and fix."""


class ConfigError(StackchoiceError):
    """A model's config.json could not be read."""


class UnknownCacheError(StackchoiceError):
    """A model's config has a layer kind whose cache arithmetic is not known here."""


class UnknownRuleError(StackchoiceError):
    """No sourced rule tells how an engine release shares out its memory in this case."""


class EngineError(StackchoiceError):
    """The embedded engine is not installed, did not start or stopped."""


class EndpointError(StackchoiceError):
    """An endpoint could not be reached or does not speak the protocol."""


class ReportError(StackchoiceError):
    """A report could not be rendered."""


class ScoreError(StackchoiceError):
    """A file of questions could not be read."""


class TrafficError(StackchoiceError):
    """A request log could not be read; the text never quotes what stands in it."""


class CheckpointError(StackchoiceError):
    """A file of a checkpoint is broken, truncated, too large or hostile: value, reason, fix."""
