"""Programs as JSON: inputs, variables and calls. Initial values are not kept: parameters are loaded."""

import json

from .framework import Call, Program, Variable
from .param_attr import ParamAttr

_FIELDS = ("dtype", "kind", "lod_level", "stop_gradient", "metric")


def to_text(program, feeds, targets):
    """A program with the names of what it is fed and what is fetched."""
    variables = [{"name": var.name, "shape": var._shape, **{field: getattr(var, field) for field in _FIELDS}}
                 for var in program.vars.values()]
    calls = [{"op": call.op, "arguments": {name: _encode(value) for name, value in call.arguments.items()},
              "outputs": [var.name for var in call.outputs]} for call in program.calls]
    return json.dumps({"feeds": feeds, "targets": targets, "variables": variables, "calls": calls})


def from_text(text):
    """(program, feeds, targets)"""
    saved = json.loads(text)
    program = Program()
    for each in saved["variables"]:
        var = Variable(program, each["name"], shape=each["shape"], kind=each["kind"])
        for field in _FIELDS:
            setattr(var, field, each[field])
    for each in saved["calls"]:
        arguments = {name: _decode(program, value) for name, value in each["arguments"].items()}
        program.calls.append(Call(each["op"], arguments, [program.vars[name] for name in each["outputs"]]))
    return program, saved["feeds"], saved["targets"]


def _encode(value):
    if isinstance(value, Variable):
        return {"variable": value.name}
    if isinstance(value, ParamAttr):
        return {"parameter": value.name}
    if isinstance(value, (list, tuple)):
        return [_encode(each) for each in value]
    return value


def _decode(program, value):
    if isinstance(value, dict):
        return program.vars[value["variable"]] if "variable" in value else ParamAttr(value["parameter"])
    if isinstance(value, list):
        return [_decode(program, each) for each in value]
    return value
