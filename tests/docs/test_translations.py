"""Nobody who chose Chinese meets an English sentence of ours."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from gettext import GNUTranslations
from importlib import import_module
from pathlib import Path

import pytest
import unfold
from django.utils import translation

from accounts.error_messages import translated
from chat.errors import TurnFailedError, TurnRefusedError
from ragcore.errors import PLACEHOLDER, Plural, RagError, Sentence, placeholders
from ragcore.grounding.support import IN_PART, NOT_CITED, NOT_SAID, OTHER_LANGUAGE, REASONS
from ragcore.options import OPTION_GROUPS, option_fields
from tests.house.sources import Module, modules

ROOT = Path(__file__).resolve().parents[2]
CATALOGS = sorted((ROOT / "locale" / "zh_Hans" / "LC_MESSAGES").glob("*.po"))
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
MARKERS = {"_", "_lazy", "gettext", "gettext_lazy", "gettext_noop"}
ENTRY = re.compile(r'^(msgctxt|msgid|msgid_plural|msgstr(?:\[\d+\])?) (".*"(?:\n".*")*)', re.MULTILINE)
TAG = re.compile(r"""\{%\s*(?:trans|translate)\s+(?:"([^"]+)"|'([^']+)')""")
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


def test_what_the_product_writes_has_one_name_in_chinese():
    """An answer of the product is 回答; 答案 is what a document holds or a reviewer expects."""
    said = {e["msgid"]: e.get("msgstr", "") for catalog in CATALOGS for e in entries(catalog)}

    assert [text for msgid, text in said.items() if msgid.startswith("The answer cites") and "回答" not in text] == []


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
    said = {text for module in modules() for text in marked_in(module)}
    tags = [tag for path in TEMPLATES for tag in TAG.findall(path.read_text(encoding="utf-8"))]
    shown = {(a or b).replace("%", "%%") for a, b in tags}  # as the tag looks them up

    assert len(said) > 200
    assert sorted((said | shown) - known) == []


def marked_in(module: Module) -> Iterator[str]:
    for node in module.nodes(ast.Call):
        if getattr(node.func, "id", "") in MARKERS:
            yield from (a.value for a in node.args[:1] if isinstance(a, ast.Constant) and isinstance(a.value, str))


def is_chinese(text: str) -> bool:
    return bool(re.search(r"[\u3400-\u9fff]", text))


def kinds_of(error: type[RagError]) -> set[type[RagError]]:
    return {error}.union(*(kinds_of(kind) for kind in error.__subclasses__()))


@cache
def errors() -> list[type[RagError]]:
    for module in modules():
        if re.search(r"^class \w+Error\(", module.text, re.MULTILINE):
            import_module(".".join(module.path.relative_to(ROOT).with_suffix("").parts))
    return sorted((e for e in kinds_of(RagError) if not e.__module__.startswith("tests")), key=lambda e: e.__name__)


def said(sentence: Sentence) -> list[str]:
    """A sentence in the language of the thread, in each of its forms."""
    numbers = (1, 2) if isinstance(sentence, Plural) else (1,)
    return [translated(sentence, dict.fromkeys(placeholders(sentence), number)) for number in numbers]


def sentences_of_errors() -> list[tuple[str, str, Sentence]]:
    """Class, reason ("" for the default) and sentence of everything that an error can say."""
    return [
        (kind.__name__, reason, sentence)
        for kind in errors()
        for reason, sentence in {"": kind.default_message, **kind.reasons}.items()
    ]


def test_what_an_error_says_is_said_in_both_languages():
    sentences = sentences_of_errors()
    with translation.override("en"):
        english = [(name, reason, text) for name, reason, sentence in sentences for text in said(sentence)]
    with translation.override("zh-hans"):
        chinese = [(name, reason, text) for name, reason, sentence in sentences for text in said(sentence)]

    assert len(sentences) > 300
    assert [one for one in english if not one[2] or "%(" in one[2] or is_chinese(one[2])] == []
    assert [one for one in chinese if not is_chinese(one[2]) or "%(" in one[2]] == []


def test_the_chinese_of_an_error_has_the_placeholders_of_its_english():
    with translation.override("zh-hans"):
        for _name, _reason, sentence in sentences_of_errors():
            one, other = sentence[:2] if isinstance(sentence, Plural) else (sentence, "")
            chinese = translation.ngettext(one, other, 2) if other else translation.gettext(one)
            assert set(PLACEHOLDER.findall(chinese)) == placeholders(sentence)


def test_a_code_and_a_reason_stand_for_one_sentence():
    kinds = [kind for kind in errors() if kind.reasons and "reasons" in vars(kind)]
    pairs = [(kind.code, reason) for kind in kinds for reason in kind.reasons]

    assert len(pairs) > 100
    assert sorted(pairs) == sorted(set(pairs))


@cache
def errors_made() -> list[tuple[str, type[RagError], ast.Call]]:
    """Wherever one of our errors is made: the place, its class and the call."""
    kinds = {error.__name__: error for error in errors()}
    return [
        (module.at(node), kinds[node.func.id], node)
        for module in modules()
        for node in module.nodes(ast.Call)
        if getattr(node.func, "id", "") in kinds
    ]


def test_an_error_is_made_with_a_reason_of_its_class_and_never_with_a_sentence():
    faults = [
        place
        for place, kind, call in errors_made()
        for reason in call.args[:1]
        if isinstance(reason, (ast.Constant, ast.JoinedStr))
        and not issubclass(kind, (TurnFailedError, TurnRefusedError))
        if not (isinstance(reason, ast.Constant) and reason.value in {"", *kind.reasons})
    ]

    assert len(errors_made()) > 200
    assert faults == []


def test_an_error_is_made_with_everything_that_its_sentence_says():
    faults = [
        place
        for place, kind, call in errors_made()
        for reason in call.args[:1]
        if isinstance(reason, ast.Constant) and reason.value in kind.reasons
        if None not in {keyword.arg for keyword in call.keywords}  # **data
        if placeholders(kind.reasons[reason.value]) - {keyword.arg for keyword in call.keywords}
    ]

    assert faults == []


@pytest.mark.parametrize("reason", [*REASONS.values(), NOT_CITED, IN_PART, OTHER_LANGUAGE, NOT_SAID])
def test_why_a_sentence_is_not_supported_is_said_in_chinese(reason):
    with translation.override("zh-hans"):
        assert all(is_chinese(text) for text in said(reason))


def not_in_chinese(texts: list[str]) -> list[str]:
    """Those that are shown in English to somebody who chose Chinese."""
    with translation.override("zh-hans"):
        return [text for text in texts if not is_chinese(translation.gettext(text))]


def option_words() -> list[str]:
    """Labels and helps of all options, in English."""
    groups = OPTION_GROUPS.values()
    options = [field.option for group in groups for field in option_fields(group.options).values()]
    texts = {text for one in options for text in (one.label, one.help, *(choice.label for choice in one.choices))}
    return sorted({*texts, *(group.label for group in groups)} - {""})


def test_options_are_labelled_in_chinese():
    assert len(option_words()) > 100
    assert not_in_chinese(option_words()) == []


def theme_words() -> list[str]:
    pages = [p for p in THEME.rglob("*.html") if not NOT_USED_HERE.search(str(p.relative_to(THEME)))]
    return sorted({a or b for page in pages for a, b in TAG.findall(page.read_text(encoding="utf-8"))})


def test_the_theme_of_the_admin_speaks_chinese():
    assert len(theme_words()) > 50
    assert not_in_chinese(theme_words()) == []
