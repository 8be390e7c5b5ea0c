"""The version of the package, as installed."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("stackchoice")
except PackageNotFoundError:  # run from a bare checkout
    VERSION = "0+unknown"
