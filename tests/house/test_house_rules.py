"""Rules of the house that a machine can check."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import knowledge.indexes
from knowledge import selectors

# they read nothing that has readers: a job or documents that were found with a scope, options, two texts
NO_RIGHTS_INVOLVED = {"pipeline_options", "site_options", "texts_diff"}
ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("ragcore", "accounts", "knowledge", "chat", "feedback", "evaluation", "ragsite")
SOURCES = [p for name in PACKAGES for p in sorted((ROOT / name).rglob("*.py")) if "migrations" not in p.parts]
MAX_LINES = 400
MAX_TASK_STATEMENTS = 5
HEAVY = ("torch", "transformers", "sentence_transformers", "onnxruntime", "pdfplumber", "sklearn", "scipy")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_a_module_is_short_enough_to_be_read(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_no_error_is_swallowed_in_silence(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None, f"bare except in line {node.lineno}"
            assert not all(isinstance(s, ast.Pass) for s in node.body), f"except: pass in line {node.lineno}"


def public_functions(module):
    return [
        f
        for name, f in inspect.getmembers(module, inspect.isfunction)
        if not name.startswith("_") and f.__module__ == module.__name__
    ]


def index_functions():
    modules = [import_module(f"knowledge.indexes.{m.name}") for m in iter_modules(knowledge.indexes.__path__)]
    return [f for m in modules for f in public_functions(m) if f.__name__.endswith(("_search", "_load", "_query"))]


@pytest.mark.parametrize("function", index_functions(), ids=lambda f: f.__name__)
def test_every_search_requires_a_scope(function):
    parameter = inspect.signature(function).parameters["scope"]

    assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
    assert parameter.default is inspect.Parameter.empty


def selector_functions():
    modules = [import_module(f"knowledge.selectors.{m.name}") for m in iter_modules(selectors.__path__)]
    return [f for m in modules for f in public_functions(m)]


@pytest.mark.parametrize("function", selector_functions(), ids=lambda f: f.__name__)
def test_every_selector_of_knowledge_requires_a_scope(function):
    if function.__name__ in NO_RIGHTS_INVOLVED:
        return
    parameter = inspect.signature(function).parameters["scope"]

    assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
    assert parameter.default is inspect.Parameter.empty


def test_there_are_searches_to_check():
    assert {"lexical_many_search", "coarse_many_search", "fine_search", "passages_load"} <= {
        f.__name__ for f in index_functions()
    }
    assert {"documents_askable", "sets_readable", "job_get"} <= {f.__name__ for f in selector_functions()}


@pytest.mark.parametrize("path", [p for p in SOURCES if p.name == "tasks.py"], ids=name_of)
def test_tasks_only_call_services(path):
    functions = [n for n in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(n, ast.FunctionDef)]
    assert functions
    for function in functions:
        assert len(function.body) <= MAX_TASK_STATEMENTS, function.name


@pytest.mark.parametrize("path", [p for p in SOURCES if "indexes" not in p.parts], ids=name_of)
def test_hand_written_sql_lives_with_the_indexes(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("raw", "extra"):
            pytest.fail(f"{node.func.attr}() in line {node.lineno}")
        if isinstance(node, ast.Name) and node.id == "RawSQL":
            pytest.fail(f"RawSQL in line {node.lineno}")


def test_starting_the_web_process_loads_no_heavy_library():
    script = (
        f"import sys, django; django.setup(); import ragsite.asgi; print([m for m in {HEAVY!r} if m in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=False)

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().splitlines()[-1] == "[]"


def test_taking_a_file_in_loads_no_library_of_its_format():
    script = (
        "import sys, django; django.setup(); from knowledge.services.documents import upload_check\n"
        "for name in ('a.pdf', 'a.xlsx', 'a.pptx', 'a.docx', 'a.msg', 'a.png'): upload_check(name=name, size_bytes=1)\n"
        "print([m for m in ('pypdfium2', 'openpyxl', 'pptx', 'docx', 'oxmsg') if m in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=False)

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().splitlines()[-1] == "[]"
