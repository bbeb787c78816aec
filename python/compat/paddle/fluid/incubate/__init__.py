from . import data_generator, fleet  # noqa: F401
