from .....fleet import StrategyFactory  # noqa: F401
