"""Times and days have one form: templates and modules leave it to accounts.relative_time."""

from __future__ import annotations

import ast
import re
from datetime import UTC, datetime

from django.template import Context, Template
from django.utils import formats, translation

from tests.house.sources import ROOT, modules

FORMATTER = "accounts/relative_time.py"
IN_TEMPLATES = re.compile(r"\|\s*(?:date|time|timesince|timeuntil|naturaltime|naturalday)\b|{%\s*now (?!.Z)")
FORMATS = re.compile(r"%[YmdHMSGV]")
CALLS = {"strftime", "date_format", "time_format", "localize_input", "timesince", "naturaltime", "naturalday"}
FOR_MACHINES = {  # prompts, texts of documents, names of tables, questions to other systems: no reader's page
    "ragcore/answering/stages/question.py",
    "ragcore/parsing/mail/message.py",
    "ragcore/parsing/office/number_formats.py",
    "accounts/month_partitions.py",
    "knowledge/connectors/rest/moments.py",
}


def test_templates_show_times_by_the_one_formatter():
    folder = ROOT / "templates"
    assert [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted(folder.rglob("*.html"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if IN_TEMPLATES.search(line)
    ] == []


def test_modules_show_times_by_the_one_formatter():
    assert [
        module.at(node)
        for module in modules()
        if str(module) not in {FORMATTER, *FOR_MACHINES}
        for node in module.nodes(ast.Call, ast.FormattedValue)
        if _formats_a_time(node)
    ] == []


def _formats_a_time(node: ast.AST) -> bool:
    if isinstance(node, ast.FormattedValue):
        return node.format_spec is not None and bool(FORMATS.search(ast.unparse(node.format_spec)))
    assert isinstance(node, ast.Call)
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in CALLS


def test_what_django_shows_itself_has_the_same_form_in_every_language():
    moment = datetime(2026, 11, 28, 16, 5, tzinfo=UTC)
    for language in ("en", "zh-hans"):
        with translation.override(language):
            assert formats.localize(moment) == "2026-11-28 16:05"
            assert formats.localize(moment.date()) == "2026-11-28"
            assert formats.get_format("DATE_INPUT_FORMATS")[0] == "%Y-%m-%d"
            page = Template("{% load ui %}{{ moment|day }} {{ moment|exact }}").render(Context({"moment": moment}))
            assert re.fullmatch(r"2026-11-2\d 2026-11-2\d \d\d:\d5", page)
