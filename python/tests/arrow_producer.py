"""A producer of Arrow streams for the tests, since Debian has no pyarrow: the C stream interface by ctypes.

    Stream({"id": ("l", [1, 2]), "name": ("u", ["a", None])}, batches=2)
"""

import ctypes

import numpy

P = ctypes.POINTER


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class ArrayStream(ctypes.Structure):
    pass


RELEASE_SCHEMA = ctypes.CFUNCTYPE(None, P(Schema))
RELEASE_ARRAY = ctypes.CFUNCTYPE(None, P(Array))
Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p),
                   ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64), ("children", P(P(Schema))),
                   ("dictionary", P(Schema)), ("release", RELEASE_SCHEMA), ("private_data", ctypes.c_void_p)]
Array._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                  ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", P(ctypes.c_void_p)),
                  ("children", P(P(Array))), ("dictionary", P(Array)), ("release", RELEASE_ARRAY),
                  ("private_data", ctypes.c_void_p)]
GET_SCHEMA = ctypes.CFUNCTYPE(ctypes.c_int, P(ArrayStream), P(Schema))
GET_NEXT = ctypes.CFUNCTYPE(ctypes.c_int, P(ArrayStream), P(Array))
GET_ERROR = ctypes.CFUNCTYPE(ctypes.c_void_p, P(ArrayStream))
RELEASE_STREAM = ctypes.CFUNCTYPE(None, P(ArrayStream))
ArrayStream._fields_ = [("get_schema", GET_SCHEMA), ("get_next", GET_NEXT), ("get_last_error", GET_ERROR),
                        ("release", RELEASE_STREAM), ("private_data", ctypes.c_void_p)]

TYPES = {"c": "i1", "C": "u1", "s": "i2", "S": "u2", "i": "i4", "I": "u4", "l": "i8", "L": "u8", "f": "f4", "g": "f8",
         "tdD": "i4"}


def _pointers(kind, values):
    return (P(kind) * max(1, len(values)))(*map(ctypes.pointer, values))


class Stream:
    """Columns by name: (format, values), or (format, values, item or dictionary format)."""

    def __init__(self, columns, batches=1, error=None):
        self.columns = columns
        self.batches = batches
        self.error = error
        self.live = 0  # structures that the consumer has not released
        self._kept = []

    def _schema(self, name, column):
        format, *_, = column
        more = column[2:]
        children = [self._schema("item", (more[0], []))] if format.startswith("+") else []
        kept = [name.encode(), format.encode(), _pointers(Schema, children)]
        made = Schema(format=kept[1], name=kept[0], n_children=len(children), children=kept[2], flags=2)
        if more and not format.startswith("+"):
            made.dictionary = ctypes.pointer(self._schema("", (more[0], [])))
        self._kept += [kept, made, children]
        return made

    def _array(self, column):
        format, values, *more = column
        valid = numpy.array([value is not None for value in values], dtype=bool)
        bits = numpy.packbits(valid, bitorder="little")
        buffers, children, dictionary = [bits], [], None
        if format == "+l":
            lists = [value or [] for value in values]
            buffers.append(numpy.cumsum([0, *map(len, lists)], dtype=numpy.int32))
            children = [self._array((more[0], [item for each in lists for item in each]))]
        elif format in "uU":
            texts = [(value or "").encode() for value in values]
            buffers.append(numpy.cumsum([0, *map(len, texts)], dtype=numpy.int32 if format == "u" else numpy.int64))
            buffers.append(numpy.frombuffer(b"".join(texts) or b"\0", dtype=numpy.uint8))
        elif format == "b":
            buffers.append(numpy.packbits([bool(value) for value in values], bitorder="little"))
        elif more:
            words = sorted({value for value in values if value is not None})
            buffers.append(numpy.array([words.index(value) if value is not None else 0 for value in values],
                                       dtype=TYPES[format]))
            dictionary = self._array((more[0], words))
        else:
            buffers.append(numpy.array([value or 0 for value in values], dtype=TYPES[format]))
        kept = (ctypes.c_void_p * len(buffers))(*[each.ctypes.data for each in buffers])
        pointers = _pointers(Array, children)
        made = Array(length=len(values), null_count=-1, n_buffers=len(buffers), buffers=kept,
                     n_children=len(children), children=pointers)
        if dictionary is not None:
            made.dictionary = ctypes.pointer(dictionary)
        self._kept += [buffers, kept, pointers, made, children]
        return made

    def _release(self, pointer, nothing):
        self.live -= 1
        pointer.contents.release = nothing

    def __arrow_c_stream__(self, requested_schema=None):
        left = [self.batches]
        release_schema = RELEASE_SCHEMA(lambda schema: self._release(schema, RELEASE_SCHEMA()))
        release_array = RELEASE_ARRAY(lambda array: self._release(array, RELEASE_ARRAY()))

        def get_schema(_, out):
            children = [self._schema(name, column) for name, column in self.columns.items()]
            out[0] = Schema(format=b"+s", name=b"", n_children=len(children), children=_pointers(Schema, children),
                            release=release_schema)
            self._kept.append((children, out[0].children))
            self.live += 1
            return 0

        def get_next(_, out):
            left[0] -= 1
            if left[0] < 0:
                out[0] = Array()
                return 5 if self.error else 0
            children = [self._array(column) for column in self.columns.values()]
            buffers = (ctypes.c_void_p * 1)()
            out[0] = Array(length=children[0].length, n_buffers=1, buffers=buffers, n_children=len(children),
                           children=_pointers(Array, children), release=release_array)
            self._kept.append((children, buffers, out[0].children))
            self.live += 1
            return 0

        text = ctypes.create_string_buffer((self.error or "").encode())
        stream = ArrayStream(get_schema=GET_SCHEMA(get_schema), get_next=GET_NEXT(get_next),
                             get_last_error=GET_ERROR(lambda _: ctypes.addressof(text)),
                             release=RELEASE_STREAM(lambda pointer: self._release(pointer, RELEASE_STREAM())))
        self._kept.append((stream, release_schema, release_array))
        self.live += 1
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(stream), b"arrow_array_stream", None)
