"""Charts, tables, widgets and the report of a decision. Nothing here computes.

Imported by the module that is needed (``charts``, ``tables``, ``widgets``, ``report``,
``render``), so that a command line without notebooks does not load a browser's worth of code.
"""

import sys

#: Altair and papermill import jsonschema, which compiles a grammar of IRIs for a second or more if
#: it finds one, and neither asks for it: what is None here counts as not installed.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
