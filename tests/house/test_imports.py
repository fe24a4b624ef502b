"""Modules know each other in one direction: no circle of imports, those inside functions included."""

from __future__ import annotations

from functools import cache

import grimp

from tests.house.sources import PACKAGES, modules


@cache
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(*PACKAGES, "bench", "scripts", cache_dir=None)


def circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that reach each other, by removing again and again what imports or is imported by nothing."""
    left = {name: set(others) for name, others in imports.items()}
    while True:
        imported = set().union(*left.values()) if left else set()
        inner = {name for name, others in left.items() if others & left.keys() and name in imported}
        if inner == left.keys():
            break
        left = {name: left[name] & inner for name in inner}
    groups: list[list[str]] = []
    for name in sorted(left):
        reached = reached_from(name, left)
        group = sorted(other for other in reached if name in reached_from(other, left))
        if group and group not in groups:
            groups.append(group)
    return groups


def reached_from(name: str, imports: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        new = imports[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def test_no_modules_import_each_other_in_a_circle():
    imports = {name: graph().find_modules_directly_imported_by(name) for name in graph().modules}

    assert circles(imports) == []


def test_imports_inside_functions_are_read_too():
    assert graph().direct_import_exists(importer="knowledge.apps", imported="ragcore.parsing.sandbox.process")


def test_a_circle_would_be_found():
    imports = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"a"}}

    assert circles(imports) == [["b", "c"]]


def test_admin_pages_are_declared_at_their_views():
    """Addresses are lists nowhere but where declarations are collected (`accounts.admin.pages`)."""
    owners = [str(module) for module in modules() if any(f.name == "get_urls" for f in module.functions())]

    assert owners == ["accounts/admin/base.py"]
