"""How much of each prompt begins like an earlier one, counted in blocks as engines cache.

A block stands for everything up to its end, so its key chains the keys before it. Keys are made
with a secret that dies with the process: nothing kept can be compared with anything outside.
"""

import secrets
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from hashlib import blake2b

#: Characters of a block of text: about 16 tokens of English, the block of common engines.
BLOCK_CHARACTERS = 64
#: Blocks remembered, the least recently used forgotten: some 100 MB.
MOST_BLOCKS = 500_000
#: Without sessions, a block that at least this share of the requests so far begin with counts as
#: shared by all; and so many requests at least.
COMMON_SHARE, COMMON_REQUESTS = 0.01, 5
MANY = -1


class Reuse:
    """Reuse found so far. Blocks are counted; the caller knows what a block weighs."""

    def __init__(self, most_blocks: int = MOST_BLOCKS) -> None:
        self._secret = secrets.token_bytes(32)
        self._seen: OrderedDict[int, tuple[int, int]] = OrderedDict()
        self._most = most_blocks
        self.requests = 0
        self.forgotten = 0

    def key(self, text: str) -> int:
        """Return the key of an identity, such as a session's name."""
        return self._digest(b"name", text.encode("utf-8", "replace"))

    def text_blocks(self, text: str) -> Iterator[int]:
        """Yield the keys of a prompt's whole blocks."""
        chained = b""
        for start in range(0, len(text) - BLOCK_CHARACTERS + 1, BLOCK_CHARACTERS):
            block = text[start : start + BLOCK_CHARACTERS].encode("utf-8", "surrogatepass")
            number = self._digest(chained, block)
            chained = number.to_bytes(8, "big", signed=True)
            yield number

    def hash_blocks(self, hashes: Iterable[object]) -> Iterator[int]:
        """Yield keys for the block hashes that a trace gives (each stands for its whole past)."""
        for value in hashes:
            yield self._digest(b"hash", str(value).encode("utf-8", "replace"))

    def add(self, blocks: Iterable[int], session: int | None) -> tuple[int, int]:
        """Take in one prompt; return its leading blocks shared by all, and those of its session.

        With sessions, shared are blocks that another session used; without, blocks that many
        requests begin with. The rest of the leading blocks that were seen are the session's.
        """
        self.requests += 1
        common = max(COMMON_REQUESTS, COMMON_SHARE * self.requests)
        shared = own = 0
        leading = True
        for block in blocks:
            count, first = self._seen.pop(block, (0, session if session is not None else MANY))
            leading = leading and count > 0
            by_all = count >= common if session is None else first != session
            if leading and not own and by_all:
                shared += 1
            elif leading:
                own += 1
            if session is not None and first != session:
                first = MANY
            self._seen[block] = (count + 1, first)
        while len(self._seen) > self._most:
            self._seen.popitem(last=False)
            self.forgotten += 1
        return shared, own

    def _digest(self, chained: bytes, block: bytes) -> int:
        digest = blake2b(chained + block, digest_size=8, key=self._secret).digest()
        return int.from_bytes(digest, "big", signed=True)
