"""Python files drawn from a folder, and documented functions of them without their docstrings."""

from __future__ import annotations

import ast
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

LEFT_OUT = frozenset({"site-packages", "test", "tests", "idle_test", "__pycache__", "lib2to3", "encodings"})
LEAST_WORDS = 4  # of a first sentence that is asked
MAX_BYTES = 200_000
_SENTENCE = re.compile(r"\A(.*?[.!?])(?:\s|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """One question. Lines are those of the text that is indexed."""

    path: str
    name: str
    sentence: str  # the first of its docstring
    first: int
    last: int


@dataclass(slots=True, kw_only=True)
class Module:
    """A file as it is indexed, and the lines of what it defines."""

    path: str  # below the folder
    text: str
    functions: list[Function] = field(default_factory=list)
    defined: list[tuple[str, int]] = field(default_factory=list)  # every name with the line of its definition


_Node = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def draw_modules(folder: Path, *, modules: int, questions: int, seed: int) -> list[Module]:
    """The drawn files; the drawn functions of them have no docstring any more."""
    chance = random.Random(seed)
    paths = [path for path in sorted(folder.rglob("*.py")) if _is_library(path.relative_to(folder))]
    texts = {path.relative_to(folder).as_posix(): text for path in paths if (text := _readable(path))}
    chosen = sorted(chance.sample(sorted(texts), min(modules, len(texts))))
    documented = [
        (path, node.name, sentence)
        for path in chosen
        for node in _nodes(texts[path])
        if not isinstance(node, ast.ClassDef) and not node.name.startswith("__") and (sentence := _sentence(node))
    ]
    often = Counter(sentence for _path, _name, sentence in documented)
    once = Counter((path, node.name) for path in chosen for node in _nodes(texts[path]))
    unique = [row for row in documented if often[row[2]] == 1 and once[row[:2]] == 1]
    drawn = set(chance.sample(unique, min(questions, len(unique))))
    return [_module(path, texts[path], [row for row in drawn if row[0] == path]) for path in chosen]


def names_defined_once(modules: Sequence[Module]) -> dict[str, tuple[str, int]]:
    """Names of functions, methods and classes that all files together define once -> path and line."""
    counts = Counter(name for module in modules for name, _line in module.defined)
    return {name: (module.path, line) for module in modules for name, line in module.defined if counts[name] == 1}


def _is_library(path: Path) -> bool:
    return not LEFT_OUT.intersection(path.parts) and not path.name.startswith("test_")


def _readable(path: Path) -> str:
    """The text of a file that the interpreter can read, of modest size; "" for others."""
    content = path.read_bytes()
    if len(content) > MAX_BYTES:
        return ""
    try:
        text = content.decode()
        ast.parse(text)
    except (UnicodeDecodeError, SyntaxError, ValueError):
        return ""
    return text


def _nodes(text: str) -> Iterator[_Node]:
    """Functions and classes of modules and of classes; not those inside of functions."""
    pending: list[ast.AST] = [ast.parse(text)]
    while pending:
        for child in ast.iter_child_nodes(pending.pop()):
            if isinstance(child, _Node):
                yield child
            if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                pending.append(child)


def _sentence(node: _Node) -> str:
    """The first sentence of a docstring in one line; "" where it is short."""
    paragraph = (ast.get_docstring(node) or "").split("\n\n")[0]
    match = _SENTENCE.match(paragraph)
    sentence = " ".join((match[1] if match else paragraph).split())
    return sentence if len(sentence.split()) >= LEAST_WORDS else ""


def _module(path: str, text: str, drawn: Sequence[tuple[str, str, str]]) -> Module:
    sentences = {(name, sentence) for _path, name, sentence in drawn}
    lines = text.split("\n")
    for node in sorted(_nodes(text), key=lambda node: -node.lineno):
        if (node.name, _sentence(node)) in sentences:
            _without_docstring(lines, node)
    stripped = "\n".join(lines)
    module = Module(path=path, text=stripped)
    of_name = dict(sentences)
    for node in _nodes(stripped):
        module.defined.append((node.name, node.lineno))
        if node.name in of_name and not isinstance(node, ast.ClassDef) and not ast.get_docstring(node):
            module.functions.append(
                Function(
                    path=path,
                    name=node.name,
                    sentence=of_name[node.name],
                    first=node.lineno,
                    last=node.end_lineno or node.lineno,
                )
            )
    return module


def _without_docstring(lines: list[str], node: _Node) -> None:
    """Take the lines of the docstring out; a body of nothing else becomes `pass`."""
    docstring = node.body[0]
    last = docstring.end_lineno or docstring.lineno
    if docstring.lineno == node.lineno:  # on the line of its function: `def f(): "…"`
        return
    rest = [f"{' ' * docstring.col_offset}pass"] if len(node.body) == 1 else []
    lines[docstring.lineno - 1 : last] = rest
