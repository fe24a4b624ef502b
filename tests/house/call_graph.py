"""Who calls whom among the functions of our apps, read from the code."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests.house.sources import ROOT

APPS = ("accounts", "work", "knowledge", "chat", "feedback", "evaluation")
WRITES = {"save", "create", "update", "delete", "bulk_create", "bulk_update", "get_or_create", "update_or_create"}
RELATED = {"set", "add", "remove", "clear"}  # `row.members.set(…)`


@dataclass
class Function:
    """A function with the functions of ours that it names, as (module, name)."""

    place: str
    module: str
    name: str
    calls: set[tuple[str, str]] = field(default_factory=set)
    writes: bool = False


@dataclass
class Module:
    names: dict[str, tuple[str, str]] = field(default_factory=dict)  # imported name → (module, name in it)
    functions: dict[str, Function] = field(default_factory=dict)


@cache
def modules() -> dict[str, Module]:
    """By dotted name, without migrations."""
    found = {}
    for path in (p for app in APPS for p in sorted((ROOT / app).rglob("*.py")) if "migrations" not in p.parts):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = read_module(name, path)
    return found


def read_module(name: str, path: Path) -> Module:
    tree, module = ast.parse(path.read_text(encoding="utf-8")), Module()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            module.names |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            module.functions[node.name] = read_function(node, name, path)
    return module


def read_function(node: ast.FunctionDef | ast.AsyncFunctionDef, module: str, path: Path) -> Function:
    function = Function(f"{path.relative_to(ROOT)}:{node.lineno}", module, node.name)
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            function.calls.add(("", part.id))
        elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
            function.calls.add((part.value.id, part.attr))
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            function.writes |= is_write(part.func)
    return function


def is_write(func: ast.Attribute) -> bool:
    """`row.save()`, `Model.objects….update()`, `row.related.create()`: not `dict.update(...)` of a plain name."""
    if func.attr in RELATED:
        return isinstance(func.value, ast.Attribute) and not func.value.attr.startswith("_")
    if func.attr not in WRITES:
        return False
    if func.attr == "save" or func.attr.startswith("bulk_") or func.attr.endswith("_or_create"):
        return True
    value = func.value
    return not isinstance(value, ast.Name) or func.attr == "delete" or value.id in ("rows", "row", "found")


@cache
def resolve(module: str, owner: str, name: str) -> Function | None:
    """The function of ours that a name in a module means."""
    if owner:
        source, inner = modules()[module].names.get(owner, ("", ""))
        return lookup(f"{source}.{inner}", name) if source else None
    return lookup(module, name)


def lookup(module: str, name: str, depth: int = 0) -> Function | None:
    """A function of a module, or one that it imports from another."""
    found = modules().get(module)
    if found is None or depth > 5:
        return None
    if name in found.functions:
        return found.functions[name]
    return lookup(*found.names[name], depth + 1) if name in found.names else None


def reached(function: Function) -> list[Function]:
    """The function and all that it leads to."""
    seen, waiting = {}, [function]
    while waiting:
        one = waiting.pop()
        if one.place not in seen:
            seen[one.place] = one
            waiting += [called for owner, name in one.calls if (called := resolve(one.module, owner, name))]
    return list(seen.values())
