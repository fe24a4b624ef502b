"""The modules of the product, read and parsed once for all rules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("ragcore", "accounts", "work", "notifications", "knowledge", "chat", "feedback", "evaluation", "ragsite")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())

    @cached_property
    def walk(self) -> list[ast.AST]:
        """All nodes, in the order of `ast.walk`, which takes a second for the whole product."""
        return list(ast.walk(self.tree))

    def nodes(self, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
        return (node for node in self.walk if isinstance(node, kinds))

    def functions(self) -> Iterator[Function]:
        yield from self.nodes(ast.FunctionDef, ast.AsyncFunctionDef)

    def at(self, node: ast.AST, what: str = "") -> str:
        """`path:line what`, as editors and terminals understand it."""
        return f"{self}:{node.lineno} {what}".rstrip()

    def __str__(self) -> str:
        return str(self.path.relative_to(ROOT))


@cache
def modules() -> tuple[Module, ...]:
    """All of the product without migrations."""
    paths = [p for name in PACKAGES for p in sorted((ROOT / name).rglob("*.py")) if "migrations" not in p.parts]
    assert len(paths) > 300, "the folders of the product were not found"
    return tuple(map(Module, paths))
