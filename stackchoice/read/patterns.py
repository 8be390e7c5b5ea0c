r"""Module patterns of other people's files, matched in linear time.

A pattern may be a name, a part of one, a glob, or ``re:`` with a regular expression. Expressions
are never handed to ``re`` as they stand: a few characters can make it run for hours. The forms that
quantisers write (literals, ``.*``, ``\d+``, alternatives of literals) are taken apart and matched
piece by piece; any other is left unread and counted.
"""

import re
from collections.abc import Iterable

#: Patterns longer than this, or more than this of the slow kind, are not evaluated.
MAX_LENGTH, MAX_SLOW = 300, 200
#: One piece of an expression between two ``.*``.
PIECE = re.compile(r"\\\.|\\d\+|\(\??:?[\w.|\\-]+\)|[\w/-]|\.(?![*+?{])")
#: Digits in a name; never more than this many, so that a piece takes bounded time.
DIGITS = r"\d{1,6}"


class Patterns:
    """A list of patterns, asked whether any of them names a module."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self.names: set[str] = set()
        self.words: set[str] = set()
        self.starts: list[str] = []
        self.slow: list[tuple[list[re.Pattern[str]], bool]] = []
        self.unread = 0
        for pattern in patterns:
            if not self._add(pattern):
                self.unread += 1
        self.prefixes = tuple(self.starts)

    def __bool__(self) -> bool:
        return bool(self.names or self.words or self.starts or self.slow)

    def _add(self, pattern: str) -> bool:
        if len(pattern) > MAX_LENGTH:
            return False
        if pattern.startswith("re:"):
            return self._expression(pattern[3:])
        if "*" in pattern or "?" in pattern:
            head, star, rest = pattern.partition("*")
            if star and not rest and "?" not in head:
                self.starts.append(head)
                return True
            escaped = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
            return self._expression(f"^{escaped}$")
        (self.names if "." in pattern else self.words).add(pattern)
        return True

    def _expression(self, text: str) -> bool:
        if len(self.slow) >= MAX_SLOW:
            return False
        ends = text.endswith("$")
        text = text.removeprefix("^").removesuffix("$")
        pieces = []
        for piece in text.split(".*"):
            tokens = PIECE.findall(piece)
            if "".join(tokens) != piece or piece.count(r"\d+") > 3:
                return False
            pieces.append(re.compile("".join(_token(t) for t in tokens)))
        self.slow.append((pieces, ends))  # quantisers match from the beginning of a name
        return True

    def match(self, name: str) -> bool:
        """Whether a module, or a module it is in, is named."""
        if name in self.names or (self.prefixes and name.startswith(self.prefixes)):
            return True
        if self.words and not self.words.isdisjoint(name.split(".")):
            return True
        if self.names:
            at = name.rfind(".")
            while at > 0:
                if name[:at] in self.names:
                    return True
                at = name.rfind(".", 0, at)
        return any(_matches(name[:MAX_LENGTH], pieces, ends) for pieces, ends in self.slow)


def _token(token: str) -> str:
    if token == r"\d+":
        return DIGITS
    if token.startswith("("):
        inner = token[1:-1].removeprefix("?:")
        parts = (re.escape(p.replace("\\", "")) for p in inner.split("|"))
        return f"(?:{'|'.join(parts)})"
    return "." if token == "." else re.escape(token.removeprefix("\\"))


def _matches(name: str, pieces: list[re.Pattern[str]], ends: bool) -> bool:
    """Match pieces in order, the first at the beginning, each other at its first place."""
    first = pieces[0].match(name)
    if first is None:
        return False
    at = first.end()
    for piece in pieces[1:-1] if ends and len(pieces) > 1 else pieces[1:]:
        found = piece.search(name, at)
        if found is None:
            return False
        at = found.end()
    if not ends:
        return True
    if len(pieces) == 1:
        return at == len(name)
    last = pieces[-1]
    return any(last.fullmatch(name, i) for i in range(at, len(name) + 1))
