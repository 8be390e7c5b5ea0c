"""Keys that somebody's text gives away by their name: in command lines, settings and addresses."""

import re

#: What stands for a key that was taken out.
HIDDEN = "[redacted]"
#: A flag, setting or header that is named like a key, or an address with a password, and its
#: value. Numbers are none: engines print token ids under such names.
_GIVEN = re.compile(
    r"""(?i)(
    --[\w-]*(?:key|token|secret|password)(?:=|\s+)['"]?
    | (?:(?:api|access|secret|private|admin|master|auth)[_-]?key|token|secret|password|passwd)
      ['"]?\s*[:=]\s*(?:[\[(]\s*)?['"]?
    | \bbearer\s+
    | \b[a-z][a-z+.-]{1,9}://[^\s:/@]{0,100}:(?!\d{1,5}/)(?=[^\s@]{1,200}@)
    )(?!(?:\d+|none|null|true|false)\b)([^\s'",\])}@]{4,})""",
    re.VERBOSE,
)


def without_keys(text: str) -> str:
    """Return a text without the values of what it calls a key, a token, a secret or a password."""
    return _GIVEN.sub(rf"\1{HIDDEN}", text)
