from ....fleet import PaddleCloudRoleMaker, Role, UserDefinedRoleMaker  # noqa: F401
from ..... import _names

__getattr__ = _names.unknown_name(__name__)
