"""Keys that somebody's text gives away: by their name, or by how the keys of a maker begin."""

import re

#: What stands for a key that was taken out.
HIDDEN = "[redacted]"
#: A token of a model, or its id, is no key though it has a key's name; nothing is none either.
_NONE = r"""(?!['"]?(?:\d{1,6}|none|null|true|false)\b)"""
_TOKEN = r"""token(?=['"\\=:\s]++(?!['"]?(?:\d+\b|<)))"""
_QUOTED = r"""(?:'[^']*'|"[^"]*")"""
#: Keys that stand alone, known by how their makers begin them (OpenAI and those who follow it,
#: Hugging Face, NVIDIA, Groq, GitHub, GitLab, AWS, Google, Slack) and by a digit among the rest.
_BEGUN = r"""((?-i:(?<![\w-])(?:sk-|hf_|nvapi-|gsk_|gh[pousr]_|github_pat_|glpat-|AKIA|AIza
                                 |xox[abp]-)))
              ((?=[a-z_-]{0,200}\d)[\w-]{16,})"""
_GIVEN = re.compile(
    rf"""
    ((?<![\w-])--api-key(?:=|\s+)) ({_NONE} (?:{_QUOTED}|[^\s'"]{{4,}})
                                    (?:\s+(?!-)(?:{_QUOTED}|[^\s'"]{{4,}}))*)
    | ((?<![\w-])--[\w-]*(?:key|{_TOKEN}|secret|password)(?:=|\s+))
      ({_NONE} (?:{_QUOTED}|[^\s'"]{{4,}}))
    | ((?:(?:api|access|secret|private|admin|master|auth)[_\s-]?keys?|secret|passw(?:or)?d|pwd
         |passphrase|credentials?|(?-i:\b[A-Z][A-Z0-9_]*_KEY)|{_TOKEN}) \\*['"]?\s*[:=]\s*)
      ({_NONE} (?:\w*[\[(]\s*{_QUOTED}(?:\s*,\s*{_QUOTED})*|{_QUOTED}
                  |\w*[\[(]?\\*['"]?[^\s'",\])}}&\\]{{4,}}))
    | (\bbearer\s+|\bauthorization:\s*basic\s+) ({_NONE} [^\s'",\])}}]{{4,}})
    | (\b[a-z][a-z+.-]{{1,9}}://[^\s:/@]{{0,100}}:)(?!\d{{1,5}}/) ([^\s'"]{{1,200}}(?=@))
    | (\b[a-z][a-z+.-]{{1,9}}://) ([^\s:/@'"]{{16,200}}(?=@))
    | {_BEGUN}
    """,
    re.VERBOSE | re.IGNORECASE,
)
#: What stays around a value: brackets, quotes, the class that holds it.
_AROUND = re.compile(r"""(\w*[\[(]\s*)?(\\*['"])?""")


def without_keys(text: str) -> str:
    """Return a text without the values of what it calls a key, a token, a secret or a password."""
    return _GIVEN.sub(_hidden, text)


def _hidden(found: re.Match[str]) -> str:
    given, value = (group for group in found.groups() if group is not None)
    around = _AROUND.match(value)
    before, quote = around.groups("") if around else ("", "")
    return f"{given}{before}{quote}{HIDDEN}{quote * value.endswith(quote)}"
