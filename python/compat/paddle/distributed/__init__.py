from . import fleet  # noqa: F401
