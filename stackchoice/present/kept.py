"""What was put into panels outlives the kernel: one small file beside the notebook."""

import json
import os
from pathlib import Path

from stackchoice.errors import CheckpointError, InputError
from stackchoice.facts.write import write_whole
from stackchoice.read.bounded import MAX_CONFIG_BYTES, parse_json, read_bytes


class Kept:
    """The inputs of one panel that were changed, by field, in a file that all panels share.

    Parameters
    ----------
    path
        The file; nothing is kept where it is empty.
    name
        The panel's own part of it.
    """

    def __init__(self, path: str | Path = "", name: str = "") -> None:
        self.path, self.name = path, name

    def read(self) -> dict[str, str]:
        """Return what was kept; nothing where there is no file.

        InputError when the file is there and holds something else.
        """
        found = self._all().get(self.name, {})
        if not isinstance(found, dict) or not all(isinstance(v, str) for v in found.values()):
            raise InputError(f"{self.path}: {self.name!r} is no mapping of texts; delete the file")
        return found

    def write(self, start: dict[str, str], values: dict[str, str]) -> str:
        """Keep what differs from the first values; return why that was not possible, if so.

        Of one panel in two notebooks the last state stands whole, for its fields belong together.
        """
        changed = {name: text for name, text in values.items() if text != start.get(name)}
        try:
            if self.path:
                write_whole(self.path, lambda: self._with(changed), InputError)
        except InputError as error:
            return f"not kept for the next kernel: {error}"
        return ""

    def _with(self, changed: dict[str, str]) -> str:
        return json.dumps({**self._all(), self.name: changed}, indent=1) + "\n"

    def _all(self) -> dict[str, object]:
        if not self.path or not os.path.exists(self.path):
            return {}
        path = Path(self.path)
        try:
            return parse_json(read_bytes(path, MAX_CONFIG_BYTES), path, "what panels keep")
        except CheckpointError as error:
            raise InputError(f"{str(error).rpartition(';')[0]}; delete the file") from None
