"""Rules for indentation: levels from styles, labels and tabs, from the file to the passages."""

from __future__ import annotations

from html import escape
from io import BytesIO

import pytest
from docx import Document as Word
from docx.enum.style import WD_STYLE_TYPE

from knowledge.models import Chunk, HandlerRule, Source, SourceHandler
from knowledge.seeds import seed_handlers
from knowledge.services.handlers import Handler, Rule, document_nest, handlers_seed, text_nest
from knowledge.services.reingest import document_rebuild
from ragcore.types import Block, ParsedDocument
from tests.factories import run_job, scope_of
from tests.knowledge.uploads import upload

INDENTATION = {"match": "regex", "action": "indentation"}
BY_STYLE = Rule(looks="style", pattern=r"^B(\d)\b", value="{1}", **INDENTATION)
BY_LABEL = Rule(looks="line", pattern=r"^\s*(\d)>(?=\s)", value="{1}", **INDENTATION)
BY_TABS = Rule(looks="line", pattern=r"^\s*[-–•](?=\s)", value="{0|depth}", **INDENTATION)


def handler(*rules: Rule) -> Handler:
    return Handler(rules=rules)


@pytest.mark.parametrize(
    ("text", "rules", "wanted"),
    [
        ("1>\tif a:\n\t2>\tset b;\n\t\t3>\tsend c.", (BY_LABEL,), "- 1> if a:\n  - 2> set b;\n    - 3> send c."),
        ("1>\tif a:\n\n2>\tset b;\n\n3>\tsend c.", (BY_LABEL,), "- 1> if a:\n  - 2> set b;\n    - 3> send c."),
        ("-\ta\n\t-\tb\n\t\t-\tc\n-\td", (BY_TABS,), "- a\n  - b\n    - c\n- d"),
        ("- a\n    - b\n        - c", (BY_TABS,), "- a\n  - b\n    - c"),
        ("A plain text.\n2 > 1 holds.", (BY_LABEL, BY_TABS), ""),
        ("1> a", (), ""),
        ("  ", (BY_LABEL,), ""),
    ],
)
def test_lines_are_nested_by_labels_and_tabs(text, rules, wanted):
    assert text_nest(text, style="", handler=handler(*rules)) == wanted


def test_of_several_rules_the_last_one_counts():
    blocks = (Block(kind="paragraph", text="- a", style="B1"), Block(kind="paragraph", text="- b", style="B2"))
    document = ParsedDocument(blocks=blocks)

    by_style = document_nest(document, handler(BY_TABS, BY_STYLE))
    by_tabs = document_nest(document, handler(BY_STYLE, BY_TABS))

    assert [block.text for block in by_style.blocks] == ["- a\n  - b"]
    assert [block.text for block in by_tabs.blocks] == ["- a\n- b"]


@pytest.mark.parametrize("value", ["x", "0", "{1}"])
def test_values_that_are_no_level_nest_nothing(value):
    rule = Rule(looks="line", pattern="^x", value=value, **INDENTATION)

    assert text_nest("x> a", style="", handler=handler(rule)) == ""


def test_a_slow_rule_is_given_up_once_for_a_document(caplog):
    slow = Rule(looks="line", pattern=r"(a|aa)+$", value="1", **INDENTATION)
    text = "\n".join(["a" * 280 + "!"] * 20 + ["1> b"])

    assert text_nest(text, style="", handler=handler(slow, BY_LABEL)).endswith("- 1> b")
    assert sum("given up" in record.getMessage() for record in caplog.records) == 1


# ── from a file to passages ─────────────────────────────────────────────────────────────────────

PROCEDURE = [
    ("", "Upon reception of the message, the UE shall:"),
    ("B1", "1>\tif the field is present:"),
    ("B2", "2>\tapply the received value;"),
    ("B3", "3>\tstart the timer;"),
    ("NO", "NOTE 1:\tThe timer runs for each cell."),
    ("B2", "2>\telse keep the value;"),
    ("B1", "1>\telse:"),
    ("B2", "2>\trelease the field."),
    ("", "The procedure ends."),
]
NESTED = """Upon reception of the message, the UE shall:

- 1> if the field is present:
  - 2> apply the received value;
    - 3> start the timer;

      NOTE 1: The timer runs for each cell.

  - 2> else keep the value;
- 1> else:
  - 2> release the field.

The procedure ends."""


def word(paragraphs) -> bytes:
    document = Word()
    for name in ("B1", "B2", "B3", "NO"):
        document.styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH)
    document.add_heading("5.3 Reception", level=1)
    for style, text in paragraphs:
        document.add_paragraph(text, style=style or None)
    target = BytesIO()
    document.save(target)
    return target.getvalue()


def page(paragraphs) -> bytes:
    texts = [(style, escape(text).replace("\t", "&nbsp; ")) for style, text in paragraphs]
    lines = "".join(f'<p class="{style}">{text}</p>' for style, text in texts)
    return f"<html><body><article><h1>5.3 Reception</h1>{lines}</article></body></html>".encode()


def plain(paragraphs) -> bytes:
    return "\n\n".join(text for _style, text in paragraphs).encode()


@pytest.fixture
def source(owner):
    handlers_seed(owner.tenant)
    chosen = SourceHandler.objects.get(tenant=owner.tenant, code="3gpp")
    return Source.objects.create(tenant=owner.tenant, name="specs", handler=chosen, owner=owner)


def stored(owner, common, source, name, content):
    done = upload(owner, common, name=name, content=content, source=source.name)
    run_job(done.job.pk)
    done.document.refresh_from_db()
    return done.document


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "make"), [("38331-h10.docx", word), ("38331-h10.html", page), ("38331-h10.txt", plain)]
)
def test_levels_of_a_procedure_survive_to_markdown_and_passages(owner, common, source, name, make):
    document = stored(owner, common, source, name, make(PROCEDURE))

    version = document.live_version
    assert NESTED in version.markdown
    (chunk,) = Chunk.objects.filter(version=version)
    assert NESTED in chunk.text


@pytest.mark.django_db
def test_styles_alone_say_the_level(owner, common, source):
    content = word([("B1", "-\tone"), ("B2", "-\ttwo"), ("B3", "-\tthree"), ("B1", "a)\tfour")])

    document = stored(owner, common, source, "38331-h10.docx", content)

    assert "- one\n  - two\n    - three\n- a) four" in document.live_version.markdown


@pytest.mark.django_db
def test_a_long_procedure_keeps_its_levels_in_every_passage(owner, common, source):
    steps = [
        ("B3", f"3>\tstep {n} " + "sets one more field of the message to its received value " * 4) for n in range(60)
    ]
    content = word([("B1", "1>\tif the cell is barred:"), ("B2", "2>\tfor each field:"), *steps])

    document = stored(owner, common, source, "38331-h10.docx", content)

    texts = list(Chunk.objects.filter(version=document.live_version, kind="body").values_list("text", flat=True))
    assert len(texts) > 2
    for text in texts[1:]:
        start = text.index("- 1> if the cell is barred:")
        assert text[start:].startswith("- 1> if the cell is barred:\n  - 2> for each field:\n    - 3> step")


@pytest.mark.django_db
def test_without_the_rules_and_without_a_handler_the_text_is_as_before(owner, common, source):
    HandlerRule.objects.filter(handler=source.handler, action="indentation").delete()
    document = stored(owner, common, source, "38331-h10.docx", word(PROCEDURE))

    assert "1> if the field is present:\n\n2> apply the received value;" in document.live_version.markdown


@pytest.mark.django_db
def test_changed_rules_take_effect_when_the_document_is_processed_again(owner, common, source):
    kept = list(HandlerRule.objects.filter(handler=source.handler, action="indentation").values())
    HandlerRule.objects.filter(handler=source.handler, action="indentation").delete()
    document = stored(owner, common, source, "38331-h10.docx", word(PROCEDURE))
    HandlerRule.objects.bulk_create(HandlerRule(**row) for row in kept)

    run_job(document_rebuild(scope=scope_of(owner), actor=owner, document_id=document.pk).pk)

    document.refresh_from_db()
    assert NESTED in document.live_version.markdown


def test_only_the_seed_for_specifications_nests():
    nesting = {row["code"] for row in seed_handlers() if any(r["action"] == "indentation" for r in row["rules"])}

    assert nesting == {"3gpp"}
