"""`make code-figures`: sizes of modules and functions, options, relays of a scope, packages that import each other.

Counts what is neither a test nor a migration. FOLDER=… measures another checkout, to compare with.
"""

from __future__ import annotations

import ast
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

PACKAGES = (
    *("ragcore", "accounts", "work", "notifications", "knowledge", "chat", "feedback", "evaluation", "ragsite"),
    *("bench", "scripts"),
)


def modules(root: Path) -> list[Path]:
    """Python files with code in them, without tests and migrations."""
    found = (path for package in PACKAGES for path in sorted((root / package).rglob("*.py")))
    return [path for path in found if "migrations" not in path.parts and path.read_text(encoding="utf-8").strip()]


def function_lengths(tree: ast.AST) -> Iterator[int]:
    """Lines of every function and method, from `def` to its end."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (node.end_lineno or node.lineno) - node.lineno + 1


def options_declared(root: Path) -> int:
    """Options that a site, a set or a request can set; those for comparing alone do not count."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (root / "ragcore" / "options").rglob("*.py")]
    values = [node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.AnnAssign)]
    calls = [value for value in values if isinstance(value, ast.Call) and ast.unparse(value.func) == "option"]
    return sum(all(keyword.arg != "is_for_comparing" for keyword in call.keywords) for call in calls)


def relays(trees: Iterable[ast.AST], name: str) -> int:
    """Calls that hand a value on under its own name (`name=name`)."""
    keywords = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.keyword)]
    return sum(k.arg == name and isinstance(k.value, ast.Name) and k.value.id == name for k in keywords)


def imported(node: ast.AST) -> Iterator[str]:
    """Dotted names of everything that is imported when the code runs; imports for type checkers alone do not count."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.ImportFrom) and child.module:
            yield from (f"{child.module}.{alias.name}" for alias in child.names)
        elif isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        yield from imported(child)


def two_way_pairs(root: Path, package: str = "ragcore") -> list[tuple[str, str]]:
    """Pairs of sub-packages (or top modules) of a package that import each other."""
    edges: dict[str, set[str]] = defaultdict(set)
    names = {path.stem if path.is_file() else path.name for path in (root / package).iterdir()}
    for path in (root / package).rglob("*.py"):
        own = path.relative_to(root / package).parts[0].removesuffix(".py")
        for name in imported(ast.parse(path.read_text(encoding="utf-8"))):
            parts = name.split(".")
            if parts[0] == package and len(parts) > 1 and parts[1] in names and parts[1] != own:
                edges[own].add(parts[1])
    return sorted((one, other) for one in edges for other in edges[one] if one < other and one in edges.get(other, ()))


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    paths = modules(root)
    lines = [len(path.read_text(encoding="utf-8").splitlines()) for path in paths]
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in paths]
    lengths = sorted(length for tree in trees for length in function_lengths(tree))
    product = [tree for path, tree in zip(paths, trees, strict=True) if path.relative_to(root).parts[0] != "bench"]
    print(f"modules {len(paths)}, {len(product)} without bench; lines {sum(lines)}; mean {statistics.mean(lines):.0f}")
    print(f"modules under 50 lines {sum(n < 50 for n in lines)}, over 400 {sum(n > 400 for n in lines)}")
    p90 = lengths[int(len(lengths) * 0.9)]
    print(f"functions {len(lengths)}; median {statistics.median(lengths):.0f}, p90 {p90}, longest {lengths[-1]} lines")
    print(f"options {options_declared(root)}; calls with scope=scope {relays(product, 'scope')} without bench")
    print(f"two-way package pairs in ragcore: {two_way_pairs(root) or 'none'}")


if __name__ == "__main__":
    main()
