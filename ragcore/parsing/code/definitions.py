"""The definitions of a source file with their names and lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ragcore.parsing.code.grammars import COMMENTS, Grammar

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 4  # of symbols below each other; what is deeper stays inside of the last one
MAX_NAME = 120  # characters
_FUNCTIONS = frozenset(
    {"arrow_function", "function_expression", "function", "generator_function", "class", "class_expression"}
)
_VALUES = frozenset({"lexical_declaration", "variable_declaration", "expression_statement"})
_PROTOTYPES = frozenset({"declaration", "field_declaration"})
_TYPES = frozenset({"struct_specifier", "union_specifier", "enum_specifier", "class_specifier"})
_NAMES = frozenset({"identifier", "type_identifier", "field_identifier", "destructor_name", "operator_name"})


@dataclass(slots=True)
class Definition:
    """A named part of a file. Rows are 0-based, `last` inclusive; comments above it belong to it."""

    name: str
    first: int
    last: int
    members: list[Definition] = field(default_factory=list)


def find_definitions(root: Node, grammar: Grammar) -> list[Definition]:
    """Definitions in the order of their lines. Faulty syntax hides some, and fails nothing."""
    return list(_definitions(root.named_children, grammar, 1))


def last_row(node: Node) -> int:
    """The last row that has something of a node; some end with the line break behind them."""
    row, column = int(node.end_point.row), int(node.end_point.column)
    return row - 1 if column == 0 and row > node.start_point[0] else row


def _definitions(nodes: Iterable[Node], grammar: Grammar, depth: int) -> Iterator[Definition]:
    lead: tuple[int, int] | None = None  # rows of the comments right above
    for node in nodes:
        first, last = node.start_point[0], last_row(node)
        above = lead if lead is not None and lead[1] + 1 >= first else None
        if node.type in COMMENTS:
            lead = (above[0] if above else first, last)
            continue
        lead = None
        inner = _unwrapped(node, grammar)
        if inner.type in grammar.transparent or inner.type == "ERROR":
            yield from _definitions(inner.named_children, grammar, depth)
        elif inner.type in grammar.definitions and (name := _name(inner, is_documented=above is not None)):
            yield Definition(name, above[0] if above else first, last, _members(inner, grammar, depth))


def _members(node: Node, grammar: Grammar, depth: int) -> list[Definition]:
    body = node.child_by_field_name("body") if node.type in grammar.containers and depth < MAX_DEPTH else None
    return list(_definitions(body.named_children, grammar, depth + 1)) if body is not None else []


def _unwrapped(node: Node, grammar: Grammar) -> Node:
    """The definition inside of decorators, `export` and the like; the node itself where there is none."""
    inner = node
    while inner.type in grammar.wrappers or (inner.type == "expression_statement" and inner.named_child_count == 1):
        inside = [child for child in inner.named_children if child.type in grammar.definitions | grammar.wrappers]
        if not inside:
            break
        inner = inside[-1]
    return inner


def _name(node: Node, *, is_documented: bool) -> str:
    """How a definition is called; "" for what defines nothing: plain values, bare declarations without a comment."""
    if node.type in _VALUES:
        return _value_name(node)
    if node.type in _TYPES and node.child_by_field_name("body") is None:
        return ""
    if node.type in _PROTOTYPES:
        return _declared(node) if is_documented and _has_function(node) else ""
    if node.type == "impl_item":
        of_trait, of_type = node.child_by_field_name("trait"), node.child_by_field_name("type")
        return " for ".join(_text(part) for part in (of_trait, of_type) if part is not None)
    if node.type == "type_declaration":
        specs = (child.child_by_field_name("name") for child in node.named_children)
        return ", ".join([_text(name) for name in specs if name is not None][:3])
    if node.type == "method_declaration" and (receiver := node.child_by_field_name("receiver")) is not None:
        types = [name for name in _below(receiver) if name.type == "type_identifier"]
        return ".".join(_text(part) for part in (*types[:1], node.child_by_field_name("name")) if part is not None)
    name = node.child_by_field_name("name")
    return _text(name) if name is not None else _declared(node)


def _value_name(node: Node) -> str:
    """The name that a function or class is bound to: `const f = () => …`, `module.exports.g = function …`."""
    for part in node.named_children:
        left = part.child_by_field_name("name") or part.child_by_field_name("left")
        right = part.child_by_field_name("value") or part.child_by_field_name("right")
        if left is not None and right is not None and right.type in _FUNCTIONS:
            return _text(left)
    return ""


def _has_function(node: Node) -> bool:
    return any(part.type == "function_declarator" for part in _declarators(node))


def _declarators(node: Node) -> Iterator[Node]:
    """The chain of declarators of C, outermost first: pointer, function, name."""
    part: Node | None = node
    while part is not None:
        yield part
        inner = part.child_by_field_name("declarator")
        part = inner or next((child for child in part.named_children if child.type.endswith("_declarator")), None)


def _declared(node: Node) -> str:
    *_, innermost = _declarators(node)
    if innermost.type == "function_declarator" or innermost is node:
        innermost = next((name for name in innermost.named_children if name.type in _NAMES), innermost)
    return _text(innermost) if innermost is not node else ""


def _below(node: Node) -> Iterator[Node]:
    for child in node.named_children:
        yield child
        yield from _below(child)


def _text(node: Node) -> str:
    return re.sub(r"\s+", " ", (node.text or b"").decode(errors="replace")).strip()[:MAX_NAME]
