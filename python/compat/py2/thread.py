"""The module `thread` of Python 2, on its successor."""

from _thread import *
from _thread import LockType, error, start_new_thread
