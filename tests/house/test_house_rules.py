"""Rules of the house that a machine can check. Each test names every offender with its file and line."""

from __future__ import annotations

import ast
import inspect
import json
import subprocess
import sys
from importlib import import_module
from pkgutil import iter_modules

import pytest
from django.apps import apps as django_apps

import knowledge.indexes
from knowledge import selectors
from tests.forms_plugin import LONG_FILES
from tests.house.sources import ROOT, modules

# they read nothing that has readers: documents that were found with a scope, options and their labels, two texts
TEXTS_AND_LABELS = {"texts_diff", "side_by_side", "group_label", "option_label", "choice_label", "value_label", "shown"}
NO_RIGHTS_INVOLVED = {
    "pipeline_options",
    "reading_options",
    "site_options",
    "documents_in_any",
    *("readers_condition", "keepers_condition", "source_condition", "named_in_opened"),
    "is_replaced",  # a reason to look, never to tell
    "lexicon_of_index",  # what entries hold; what of it somebody may use is asked by searches
    "lexicon_of_version",
    "entry_of",
    *("sets_read_for_facts", "sets_of_equal_confidence", "documents_to_read"),  # a task reads for all tenants
    *("sets_read_for_entities", "documents_without_entities"),
    *("sets_read_by_model", "readings_to_ask"),
    "fact_rules",  # how a reading is called
    *("wait_of", "queues_busy"),  # of a document that was opened; numbers of the whole site
    *("switch_spec", "reranker_spec"),  # which models of the site
    *("entity_confidence", "sentences_of", "mentions_together", "curated_ids"),  # of what is given
    *("triples_with_words", "triples_around", "entity_key_of"),  # of facts that are given
    "summaries_after",  # of passages that are given, which the asker may search
    *TEXTS_AND_LABELS,
}
# who may call those of them that read facts: a task, and a page whose rows come from `triples_askable`
CALLERS_WITHOUT_RIGHTS = {
    "sets_read_for_facts": {"knowledge/jobs/read_facts.py"},
    "documents_to_read": {"knowledge/jobs/read_facts.py"},
    "sets_read_for_entities": {"knowledge/jobs/read_entities.py"},
    "documents_without_entities": {"knowledge/jobs/read_entities.py"},
    "triples_with_words": {"knowledge/admin/triples.py"},
    "triples_around": {"knowledge/admin/triples.py"},
}
MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_TASK_STATEMENTS = 5
HEAVY = (
    "torch",
    "transformers",
    "sentence_transformers",
    "onnxruntime",
    "pdfplumber",
    "sklearn",
    "scipy",
    "openai",
)
WEB_PROCESS = f"""
import json, sys, django
django.setup()
from knowledge.services.documents import upload_check
for name in ("a.pdf", "a.xlsx", "a.pptx", "a.docx", "a.msg", "a.png"):
    upload_check(name=name, size_bytes=1)
readers = ("pypdfium2", "openpyxl", "pptx", "docx", "oxmsg", "imapclient", "feedparser", "sqlalchemy")
of_format = [name for name in readers if name in sys.modules]
import ragsite.asgi
heavy = [name for name in {HEAVY!r} if name in sys.modules]
import ragsite.urls
from notifications.kinds import KINDS
print(json.dumps({{"of a format": of_format, "heavy": heavy, "notifications": [*KINDS]}}))
"""


def test_readers_of_facts_without_rights_are_called_where_rights_were_asked():
    sources = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for app in ("accounts", "chat", "evaluation", "feedback", "knowledge", "notifications", "ragsite", "work")
        for path in (ROOT / app).rglob("*.py")
        if "selectors" not in path.parts
    }

    assert {
        name: {path for path, text in sources.items() if name in text} for name in CALLERS_WITHOUT_RIGHTS
    } == CALLERS_WITHOUT_RIGHTS


def test_every_module_is_short_enough_to_be_read():
    assert [f"{module}: {module.lines} lines" for module in modules() if module.lines > MAX_MODULE_LINES] == []


def test_every_function_is_short_enough_to_be_read():
    assert [
        module.at(function, function.name)
        for module in modules()
        for function in module.functions()
        if function.end_lineno - function.lineno + 1 > MAX_FUNCTION_LINES
    ] == []


def words_not_used():
    """Word → what to say instead."""
    lines = (ROOT / "tests" / "house" / "words.tsv").read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t") for line in lines if line and not line.startswith("#"))


def test_modules_are_named_by_words_of_the_field():
    words = words_not_used()

    assert [
        f"{module}: say {words[part]}"
        for module in modules()
        for part in module.path.relative_to(ROOT).with_suffix("").parts
        if part in words
    ] == []


def test_the_long_files_of_the_tests_exist():
    assert [name for name in LONG_FILES if not (ROOT / name).exists()] == []
    assert len(set(LONG_FILES)) == len(LONG_FILES)


def test_no_error_is_swallowed_in_silence():
    assert [
        module.at(handler)
        for module in modules()
        for handler in module.nodes(ast.ExceptHandler)
        if handler.type is None or all(isinstance(statement, ast.Pass) for statement in handler.body)
    ] == []


def public_functions(module):
    return [
        f
        for name, f in inspect.getmembers(module, inspect.isfunction)
        if not name.startswith("_") and f.__module__ == module.__name__
    ]


def index_functions():
    modules = [import_module(f"knowledge.indexes.{m.name}") for m in iter_modules(knowledge.indexes.__path__)]
    return [f for m in modules for f in public_functions(m) if f.__name__.endswith(("_search", "_load", "_query"))]


def requires_scope(function):
    parameter = inspect.signature(function).parameters.get("scope")
    return parameter and parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty


def test_every_search_requires_a_scope():
    assert [place_of(function) for function in index_functions() if not requires_scope(function)] == []


def selector_functions():
    modules = [import_module(f"knowledge.selectors.{m.name}") for m in iter_modules(selectors.__path__)]
    return [f for m in modules for f in public_functions(m)]


def place_of(function):
    return f"{inspect.getsourcefile(function)}:{inspect.getsourcelines(function)[1]} {function.__name__}"


def test_every_selector_of_knowledge_requires_a_scope():
    functions = [f for f in selector_functions() if f.__name__ not in NO_RIGHTS_INVOLVED]

    assert [place_of(function) for function in functions if not requires_scope(function)] == []


def test_there_are_searches_to_check():
    assert {"lexical_many_search", "vector_search", "fine_search", "passages_load"} <= {
        f.__name__ for f in index_functions()
    }
    assert {"documents_askable", "sets_readable", "job_get"} <= {f.__name__ for f in selector_functions()}


def test_tasks_only_call_services():
    tasks = [module for module in modules() if module.path.name == "tasks.py"]
    functions = {module: [n for n in module.tree.body if isinstance(n, ast.FunctionDef)] for module in tasks}

    assert tasks
    assert [str(module) for module, found in functions.items() if not found] == []
    assert [
        module.at(function, function.name)
        for module, found in functions.items()
        for function in found
        if len(function.body) > MAX_TASK_STATEMENTS
    ] == []


def is_hand_written_sql(node):
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and node.func.attr in ("raw", "extra")
    return isinstance(node, ast.Name) and node.id == "RawSQL"


def test_hand_written_sql_lives_with_the_indexes():
    outside = [module for module in modules() if "indexes" not in module.path.parts]

    assert [
        module.at(node) for module in outside for node in module.nodes(ast.Call, ast.Name) if is_hand_written_sql(node)
    ] == []


@pytest.fixture(scope="module")
def web_process() -> dict[str, list[str]]:
    """What a fresh process has loaded after it took files in and became a web process, and what it notifies of."""
    done = subprocess.run([sys.executable, "-c", WEB_PROCESS], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    said: dict[str, list[str]] = json.loads(done.stdout.strip().splitlines()[-1])
    return said


def test_taking_a_file_in_loads_no_library_of_its_format(web_process):
    assert web_process["of a format"] == []


def test_starting_the_web_process_loads_no_heavy_library(web_process):
    assert web_process["heavy"] == []


def test_the_web_process_knows_every_kind_of_notification(web_process):
    """One that it does not know is shown by its code."""
    declared = {
        node.args[0].value
        for module in modules()
        for node in module.nodes(ast.Call)
        if isinstance(node.func, ast.Name) and node.func.id == "notification_kind"
    }

    assert declared == set(web_process["notifications"])


SPREADSHEET_WRITERS = {"csv": {"writer", "DictWriter"}, "openpyxl": {"Workbook"}, "xlsxwriter": {"Workbook"}}


def test_every_spreadsheet_is_written_where_formulas_are_escaped():
    """`ragcore.text.csv_rows.csv_line` is the only writer of cells that spreadsheets open."""
    offenders = []
    for module in modules():
        for node in module.nodes(ast.Attribute, ast.ImportFrom):
            if isinstance(node, ast.Attribute):
                names, library = {node.attr}, getattr(node.value, "id", "")
            else:
                names, library = {one.name for one in node.names}, node.module or ""
            if names & SPREADSHEET_WRITERS.get(library.split(".")[0], set()):
                offenders.append(module.at(node, f"{library} {sorted(names)}"))

    assert offenders == []


def test_no_query_is_ordered_by_the_ordering_of_another_table():
    """`order_by("document")` joins documents and sorts as they do, in silence; `document_id` is a column at hand."""
    fields = [field for model in django_apps.get_models() for field in model._meta.get_fields()]
    columns = {field.name for field in fields if not field.is_relation}
    keys = {field.name for field in fields if field.is_relation} - columns
    offenders = []
    for module in modules():
        for node in module.nodes(ast.Call):
            if getattr(node.func, "attr", "") != "order_by":
                continue
            names = [str(one.value) for one in node.args if isinstance(one, ast.Constant)]
            offenders += [module.at(node, name) for name in names if name.lstrip("-").split("__")[-1] in keys]

    assert {"document", "version", "job"} <= keys
    assert offenders == []
