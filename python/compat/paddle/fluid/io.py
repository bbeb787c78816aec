"""Models on disk, in Flotilla's format (docs/checkpoint_format.md): `flotilla infer`, `inspect` and `export` read
them. A model for inference has its program beside it."""

import os

from .. import _names
from . import framework, program_io
from .compiler import CompiledProgram
from .framework import Variable
from .reader import DataLoader, PyReader  # noqa: F401
from .scope import global_scope

#: The file of the program of a model for inference.
PROGRAM_FILE = "program.json"


def _program(program):
    if isinstance(program, CompiledProgram):
        program = program.program
    return program or framework.default_main_program()


def save_persistables(executor, dirname, main_program=None, filename=None):
    """Saves parameters, the state of the optimizer and the graph. Over servers, their parameters."""
    global_scope().engine(_program(main_program)).core.save(os.fspath(dirname), False)


save_params = save_persistables


def load_persistables(executor, dirname, main_program=None, filename=None):
    """Loads the parameters of a program by name; all of them must be there. A program with an optimizer continues."""
    global_scope().load(_program(main_program), os.fspath(dirname))


load_params = load_persistables


def save_inference_model(dirname, feeded_var_names, target_vars, executor, main_program=None, model_filename=None,
                         params_filename=None, export_for_deployment=True, program_only=False):
    """Saves a program with what it is fed and what is fetched from it, metrics included, and its parameters."""
    program = _program(main_program)
    global_scope().engine(program).core.save(os.fspath(dirname), False)
    test = program.clone(for_test=True)
    targets = [each.name if isinstance(each, Variable) else each for each in target_vars]
    with open(os.path.join(dirname, PROGRAM_FILE), "w") as file:
        file.write(program_io.to_text(test, list(feeded_var_names), targets))
    return targets


def load_inference_model(dirname, executor, model_filename=None, params_filename=None, pserver_endpoints=None):
    """[program, names of its inputs, what to fetch]"""
    path = os.path.join(dirname, PROGRAM_FILE)
    if not os.path.exists(path):
        raise FileNotFoundError(f"load_inference_model: {path} does not exist: save_inference_model writes it")
    with open(path) as file:
        program, feeds, targets = program_io.from_text(file.read())
    load_persistables(executor, dirname, program)
    return [program, feeds, [program.var(name) for name in targets]]


__getattr__ = _names.unknown_name(__name__)
