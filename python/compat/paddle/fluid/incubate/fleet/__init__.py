from . import base, parameter_server, utils  # noqa: F401
