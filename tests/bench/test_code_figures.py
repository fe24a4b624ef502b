"""Figures of the code's structure."""

from __future__ import annotations

import ast

from bench.code_figures import function_lengths, modules, options_declared, relays, two_way_pairs


def write(root, path, text):
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def test_empty_files_and_migrations_do_not_count(tmp_path):
    write(tmp_path, "chat/__init__.py", "")
    write(tmp_path, "chat/migrations/0001_initial.py", "x = 1\n")
    write(tmp_path, "chat/views.py", "x = 1\n")

    assert [path.name for path in modules(tmp_path)] == ["views.py"]


def test_packages_that_import_each_other_are_a_pair_and_imports_for_type_checkers_are_not(tmp_path):
    write(tmp_path, "ragcore/llm/a.py", "from ragcore.text.b import x\n")
    write(tmp_path, "ragcore/text/b.py", "if TYPE_CHECKING:\n    from ragcore.llm.a import y\n")
    assert two_way_pairs(tmp_path) == []

    write(tmp_path, "ragcore/text/c.py", "def late():\n    from ragcore.llm import a\n")
    assert two_way_pairs(tmp_path) == [("llm", "text")]


def test_options_for_comparing_do_not_count(tmp_path):
    write(tmp_path, "ragcore/options/groups.py", "class A:\n    a: int = option(1)\n    b: int = 2\n")
    write(tmp_path, "ragcore/options/voice.py", "class B:\n    c: int = option(1, is_for_comparing=True)\n")

    assert options_declared(tmp_path) == 1


def test_a_value_that_is_handed_on_under_its_own_name_is_a_relay():
    assert relays([ast.parse("f(scope=scope, a=scope)\ng(scope=x.scope)\nh(a, scope=scope)")], "scope") == 2


def test_a_function_is_measured_from_its_name_to_its_end():
    assert list(function_lengths(ast.parse("@x\ndef f():\n    a = 1\n    return a\n"))) == [3]
