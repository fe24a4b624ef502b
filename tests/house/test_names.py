"""Names say what they hold: the field's noun in the place of a participle or a pronoun.

Counted once in each function or class: assigned names, targets of loops and comprehensions, parameters, fields.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from tests.house.sources import Module, modules

VAGUE = frozenset({
    *("found", "one", "asked", "known", "wanted", "kept", "said", "own", "mine", "told", "made", "given", "taken"),
    *("seen", "held", "left", "put", "shown", "written", "meant", "called", "named", "sent", "done", "others"),
    *("those", "these"),
})  # fmt: skip
# Folder → how many may be there: columns and fields of the API that others read, and what nobody has renamed yet.
# Lower a number when names go. Where no line fits: none.
CEILINGS = {
    "ragcore": 3,
    "accounts": 1,
    "chat": 2,
    "feedback": 2,
    "ragsite": 1,
    "work": 3,
    "knowledge": 190,
    "evaluation": 185,
}
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
SIDES = {"left": "right", "one": "other"}  # of a box; the forms of a plural


def bindings(node: ast.AST) -> Iterator[ast.Name | ast.arg]:
    """Names that a function, a class or a module binds, without those of the definitions in it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.arg) or (isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store)):
            yield child
        if not isinstance(child, DEFINITIONS):
            yield from bindings(child)


def vague_names(module: Module) -> Iterator[str]:
    """Each place, once for a name in a definition."""
    for node in (module.tree, *module.nodes(*DEFINITIONS)):
        lines: dict[str, ast.AST] = {}
        for binding in bindings(node):
            lines.setdefault(binding.id if isinstance(binding, ast.Name) else binding.arg, binding)
        yield from (
            module.at(binding, name)
            for name, binding in lines.items()
            if name in VAGUE and SIDES.get(name) not in lines
        )


def folder_of(place: str) -> str:
    """The longest folder with a number of its own, or the package."""
    path = place.partition(":")[0]
    return max((folder for folder in CEILINGS if path.startswith(f"{folder}/")), key=len, default=path.split("/")[0])


def test_names_say_what_they_hold():
    places = [place for module in modules() for place in vague_names(module)]
    counts = Counter(map(folder_of, places))

    over = {folder for folder, count in counts.items() if count > CEILINGS.get(folder, 0)}
    assert [place for place in places if folder_of(place) in over] == [], counts


def test_the_count_sees_every_way_to_bind_a_name():
    code = "\n".join([
        "kept: int = 0",
        "def f(asked, *, wanted=1):",
        "    found, *others = [one for one in asked]",
        "    found = (mine := wanted)",
        "    with open('x') as held, open('y') as left: right = left",
    ])  # fmt: skip
    module = Module.__new__(Module)
    object.__setattr__(module, "path", modules()[0].path)
    module.__dict__["text"] = code

    assert [place.rsplit(" ", 1)[1] for place in vague_names(module)] == [
        *("kept", "asked", "wanted", "found", "others", "one", "mine", "held")
    ]
