"""The answer that is not a guess."""


class Unknown(Exception):
    """A question that ``given`` does not allow to answer; the text says what is missing."""
