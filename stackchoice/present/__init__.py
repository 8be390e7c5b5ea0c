"""Charts, tables, widgets and the report of a decision. Nothing here computes.

Imported by the module that is needed (``charts``, ``tables``, ``widgets``, ``report``,
``render``), so that a command line without notebooks does not load a browser's worth of code.
"""
