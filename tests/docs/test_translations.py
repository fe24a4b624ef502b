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
from ragcore.options import OPTION_GROUPS, option_fields

ROOT = Path(__file__).resolve().parents[2]
CATALOGS = sorted((ROOT / "locale" / "zh_Hans" / "LC_MESSAGES").glob("*.po"))
PACKAGES = ("ragcore", "accounts", "knowledge", "chat", "feedback", "evaluation", "ragsite")
SOURCES = [p for name in PACKAGES for p in sorted((ROOT / name).rglob("*.py")) if "migrations" not in p.parts]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
MARKERS = {"_", "gettext", "gettext_lazy", "gettext_noop"}
ENTRY = re.compile(r'^(msgctxt|msgid|msgid_plural|msgstr(?:\[\d+\])?) (".*"(?:\n".*")*)', re.MULTILINE)
TAG = re.compile(r"""\{%\s*(?:trans|translate)\s+(?:"([^"]+)"|'([^']+)')""")
STORED = "knowledge/services", "ragcore/fetching"  # what they write down is read later, in anybody's language
SENTENCE = re.compile(r"[A-Z].* .*\.")
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
        if re.search(r"^class \w+Error\(", path.read_text(encoding="utf-8"), re.MULTILINE):
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
    return sorted({text for call in calls if " " in (text := text_of(call))})


def text_of(node: ast.AST) -> str:
    """The words of a text, `x` for what is filled in; nothing for what is no text."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


@pytest.mark.parametrize("sentence", raised_sentences())
def test_what_an_error_says_in_one_place_is_said_in_chinese(sentence):
    with translation.override("zh-hans"):
        assert is_chinese(worded(sentence))


def stored_sentences() -> list[str]:
    """Whatever looks like a sentence of ours in places that write reports for people, docstrings aside."""
    paths = [path for path in SOURCES if str(path.relative_to(ROOT)).startswith(STORED)]
    nodes = [node for path in paths for node in spoken(ast.parse(path.read_text(encoding="utf-8")))]
    return sorted({text for node in nodes if SENTENCE.fullmatch(text := text_of(node))})


def spoken(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes below, without texts that stand alone (docstrings) and without the parts of f-strings."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        yield node
        if not isinstance(node, ast.JoinedStr):
            yield from spoken(node)


@pytest.mark.parametrize("sentence", stored_sentences())
def test_what_reports_of_runs_and_jobs_say_is_said_in_chinese(sentence):
    with translation.override("zh-hans"):
        assert is_chinese(worded(sentence))


def test_the_sentences_of_reports_are_found():
    assert {"This file cannot be read.", "There is no such page.", "The last run was broken off."} <= set(
        stored_sentences()
    )


def option_words() -> list[str]:
    """Labels and helps of all options, in English."""
    groups = OPTION_GROUPS.values()
    options = [field.option for group in groups for field in option_fields(group.options).values()]
    texts = {text for one in options for text in (one.label, one.help, *(choice.label for choice in one.choices))}
    return sorted({*texts, *(group.label for group in groups)} - {""})


@pytest.mark.parametrize("words", option_words())
def test_options_are_labelled_in_chinese(words):
    with translation.override("zh-hans"):
        assert is_chinese(translation.gettext(words))


def test_a_reason_within_a_sentence_is_put_into_words_too():
    sentence = "No file of this archive can be taken: The file is empty."

    with translation.override("zh-hans"):
        assert worded(sentence) == "压缩包中没有可以收录的文件：文件是空的。"


def test_the_template_that_says_most_is_taken():
    with translation.override("zh-hans"):
        assert worded("Unknown owner: lin.") == "没有名为 lin 的负责人。"
        assert worded("Unknown users: lin.") == "users 中有未知名称：lin。"


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
