"""The module `commands` of Python 2, on its successor."""

from subprocess import getoutput, getstatusoutput

__all__ = ["getoutput", "getstatusoutput"]
