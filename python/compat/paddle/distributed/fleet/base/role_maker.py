from ....fluid.fleet import PaddleCloudRoleMaker, Role, UserDefinedRoleMaker  # noqa: F401
