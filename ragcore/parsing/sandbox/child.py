"""The parsing process: the file on standard input, JSON on standard output (parse.py starts it)."""

from __future__ import annotations

import json
import os
import sys

from ragcore.errors import RagError, ResourceLimitError
from ragcore.parsing import parser_for
from ragcore.parsing.sandbox.confine import confine
from ragcore.parsing.sandbox.process import LIMIT_EXIT
from ragcore.parsing.sandbox.serialization import dump_document, dump_error

__all__ = ["LIMIT_EXIT", "main", "write_answer"]

# Beautiful Soup imports them where they are installed, for selectors and for bytes of unknown encoding. No parser needs
# them there, and both together are a third of the start of a process.
NOT_AT_START = ("soupsieve", "charset_normalizer")


def main() -> int:
    """Import the parser that is needed, set the limits, then parse the file."""
    order = json.loads(sys.argv[1])
    name = str(order["name"])
    try:
        sys.modules.update(dict.fromkeys(NOT_AT_START))  # type: ignore[arg-type]  # None: not to be imported
        parser = parser_for(name)
        for module in NOT_AT_START:
            del sys.modules[module]  # for who asks for it by itself
        confine(**order["limits"])
        answer = dump_document(parser.parse(sys.stdin.buffer.read(), name=name))
    except RagError as problem:
        answer = dump_error(problem)
    except MemoryError:
        answer = dump_error(ResourceLimitError(name=name, problem="memory"))
    try:
        write_answer(answer)
    except OSError:  # larger than RLIMIT_FSIZE
        return LIMIT_EXIT
    return 0


def write_answer(answer: bytes) -> None:
    """All of it to standard output. Raises OSError beyond the limit on output."""
    view = memoryview(answer)
    while view:
        view = view[os.write(1, view) :]


if __name__ == "__main__":
    sys.exit(main())
