"""Results of other harnesses become passports; what a file does not say stays unknown."""

from stackchoice.importers.build import import_results

__all__ = ["import_results"]
