"""Nobody who chose Chinese meets an English sentence of ours."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from gettext import GNUTranslations
from importlib import import_module
from pathlib import Path

import pytest
import unfold
from django.utils import translation

from accounts.wording import reasons_worded, worded
from ragcore.errors import RagError

ROOT = Path(__file__).resolve().parents[2]
CATALOGS = sorted((ROOT / "locale" / "zh_Hans" / "LC_MESSAGES").glob("*.po"))
PACKAGES = ("ragcore", "accounts", "knowledge", "chat", "feedback", "evaluation", "ragsite")
SOURCES = [p for name in PACKAGES for p in sorted((ROOT / name).rglob("*.py")) if "migrations" not in p.parts]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
MARKERS = {"_", "gettext", "gettext_lazy", "gettext_noop"}
ENTRY = re.compile(r'^(msgctxt|msgid|msgid_plural|msgstr(?:\[\d+\])?) (".*"(?:\n".*")*)', re.MULTILINE)
TAG = re.compile(r"""\{%\s*(?:trans|translate)\s+(?:"([^"]+)"|'([^']+)')""")
OUR_ERRORS = "errors.py", "bulk.py", "outcomes.py"
NOT_USED_HERE = re.compile(
    r"import_export|guardian|simple_history|location_field|constance|contrib/forms|command_results"
)
THEME = Path(unfold.__file__).parent


def entries(catalog: Path) -> list[dict[str, str]]:
    """The messages of a .po file: msgid, msgstr and the like → text; `flags` is the comment above."""
    found = []
    for block in catalog.read_text(encoding="utf-8").split("\n\n"):
        fields = {name: "".join(map(ast.literal_eval, value.split("\n"))) for name, value in ENTRY.findall(block)}
        if fields.get("msgid"):
            flags = " ".join(line for line in block.splitlines() if line.startswith("#,"))
            found.append({**fields, "flags": flags})
    return found


@pytest.mark.parametrize("catalog", CATALOGS, ids=lambda path: path.name)
def test_every_message_has_chinese_words_and_none_is_a_guess(catalog):
    found = entries(catalog)
    blank = [e["msgid"] for e in found if not all(text for name, text in e.items() if name.startswith("msgstr"))]

    assert found
    assert blank == []
    assert [e["msgid"] for e in found if "fuzzy" in e["flags"]] == []


@pytest.mark.parametrize("catalog", CATALOGS, ids=lambda path: path.name)
def test_what_is_compiled_is_what_was_written(catalog):
    with catalog.with_suffix(".mo").open("rb") as file:
        compiled = GNUTranslations(file)

    for entry in entries(catalog):
        if "msgid_plural" in entry:
            assert compiled.ngettext(entry["msgid"], entry["msgid_plural"], 2) == entry["msgstr[0]"]
        elif "msgctxt" in entry:
            assert compiled.pgettext(entry["msgctxt"], entry["msgid"]) == entry["msgstr"]
        else:
            assert compiled.gettext(entry["msgid"]) == entry["msgstr"]


def test_every_sentence_of_the_code_is_in_the_catalog():
    known = {entry["msgid"] for catalog in CATALOGS for entry in entries(catalog)}
    said = {text for path in SOURCES for text in marked_in(path)}
    shown = {a or b for path in TEMPLATES for a, b in TAG.findall(path.read_text(encoding="utf-8"))}

    assert len(said) > 200
    assert sorted((said | shown) - known) == []


def marked_in(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in MARKERS:
            yield from (a.value for a in node.args[:1] if isinstance(a, ast.Constant) and isinstance(a.value, str))


def is_chinese(text: str) -> bool:
    return bool(re.search(r"[\u3400-\u9fff]", text))


def kinds_of(error: type[RagError]) -> set[type[RagError]]:
    return {error}.union(*(kinds_of(kind) for kind in error.__subclasses__()))


def errors() -> list[type[RagError]]:
    for path in SOURCES:
        if path.name in OUR_ERRORS:
            import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    return sorted((e for e in kinds_of(RagError) if not e.__module__.startswith("tests")), key=lambda e: e.__name__)


@pytest.mark.parametrize("error", errors(), ids=lambda error: error.__name__)
def test_what_an_error_says_is_said_in_chinese(error):
    with translation.override("zh-hans"):
        assert is_chinese(worded(error.default_message))


def raised_sentences() -> list[str]:
    """First arguments of our errors wherever they are made; `x` for what is filled in."""
    names = {error.__name__ for error in errors()}
    calls = [
        node.args[0]
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in names and node.args
    ]
    constant = [call.value for call in calls if isinstance(call, ast.Constant) and " " in str(call.value)]
    filled = [
        "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in call.values)
        for call in calls
        if isinstance(call, ast.JoinedStr)
    ]
    return sorted({*constant, *filled})


@pytest.mark.parametrize("sentence", raised_sentences())
def test_what_an_error_says_in_one_place_is_said_in_chinese(sentence):
    with translation.override("zh-hans"):
        assert is_chinese(worded(sentence))


def test_what_is_filled_in_survives_the_change_of_language():
    with translation.override("zh-hans"):
        assert "4711" in worded("There is no document 4711, or you may not see it.")
        assert worded("A sentence of somebody else.") == "A sentence of somebody else."
    with translation.override("en"):
        assert worded("There is no document 4711, or you may not see it.").startswith("There is no document 4711")


def test_reasons_beside_a_sentence_are_put_into_words_and_stay_safe():
    markup = (
        '<span class="support weak" data-support-reason="These figures stand in no source: &quot;&lt;b&gt;7.">x</span>'
    )

    with translation.override("zh-hans"):
        shown = reasons_worded(markup)

    assert "这些数字在来源中找不到：&quot;&lt;b&gt;7。" in shown
    assert "<b>" not in shown


def theme_words() -> list[str]:
    pages = [p for p in THEME.rglob("*.html") if not NOT_USED_HERE.search(str(p.relative_to(THEME)))]
    return sorted({a or b for page in pages for a, b in TAG.findall(page.read_text(encoding="utf-8"))})


@pytest.mark.parametrize("words", theme_words())
def test_the_theme_of_the_admin_speaks_chinese(words):
    with translation.override("zh-hans"):
        assert is_chinese(translation.gettext(words))
