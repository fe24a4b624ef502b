"""A module begins with its imports and constants; what needs a function or class of the module stands below it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.house.sources import modules

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def stored(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def read(node: ast.AST | None) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} if node is not None else set()


def late_constants(tree: ast.Module) -> Iterator[ast.Assign | ast.AnnAssign]:
    """Assignments behind the first function or class that need nothing which the module defines or computes."""
    defined: set[str] = set()
    for node in tree.body:
        if isinstance(node, DEFINITIONS):
            defined.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if read(node.value) & defined or not all(isinstance(target, ast.Name | ast.Tuple) for target in targets):
                defined |= stored(node)
            elif defined:
                yield node
        elif defined and not isinstance(node, ast.Import | ast.ImportFrom):
            defined |= stored(node)


def test_constants_stand_before_functions_and_classes():
    assert [module.at(node) for module in modules() for node in late_constants(module.tree)] == []


def test_a_late_constant_would_be_seen():
    tree = ast.parse("FIRST = 1\ndef f(): ...\nLATE = FIRST + 1\nUSES = {'f': f}\nBELOW = (USES, 2)\nA, B = 3, 4\n")

    assert [ast.unparse(node) for node in late_constants(tree)] == ["LATE = FIRST + 1", "A, B = (3, 4)"]


def test_imports_come_first():
    assert [f"{module}: E402" for module in modules() if "noqa: E402" in module.text] == []
