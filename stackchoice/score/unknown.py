"""The answer where no sourced rule tells."""

from stackchoice.errors import StackchoiceError


class Unknown(StackchoiceError):
    """A question of the cases has no answer here; the text says why."""
