"""Options of a parameter."""


class ParamAttr:
    """A name, initial values, a factor of the learning rate, decay."""

    def __init__(self, name=None, initializer=None, learning_rate=1.0, regularizer=None, trainable=True,
                 gradient_clip=None, do_model_average=False):
        if gradient_clip is not None or do_model_average:
            raise NotImplementedError("ParamAttr: gradient_clip and do_model_average are not available")
        self.name = name
        self.initializer = initializer
        self.learning_rate = learning_rate
        self.regularizer = regularizer
        self.trainable = trainable

    @staticmethod
    def of(value):
        """Of what a layer was given: None, a name, an initializer or a ParamAttr."""
        if value is None:
            return ParamAttr()
        if isinstance(value, ParamAttr):
            return value
        if isinstance(value, str):
            return ParamAttr(name=value)
        return ParamAttr(initializer=value)

    def __repr__(self):
        return f"ParamAttr({self.name or ''})"
