"""Answers as files with their sources."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO

import docx
import pypdfium2
import pytest
from django.db import connection
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone

from chat.errors import ExportBusyError
from chat.exports import files, report
from chat.exports.report import Block, markdown_blocks
from chat.models import Conversation, Message, MessageCitation
from tests.factories import ingest, make_set, make_user

ANSWER = """## Result 结果

The timer waits **two seconds** [1]. 定时器等待两秒，超时后回退；Ω ≥ 5 [1].

1. Open `cabinet`
2. Check

   - nested

| 项目 | Value |
|---|---|
| 接地电阻 | 10 Ω |

```
SET A=<1>;
```

> quoted & <b>escaped</b>

$E = mc^2$
"""


def message_make() -> Message:
    owner = make_user()
    document = ingest(owner, make_set("radio", owners=[owner], name="Radio"), timer="The timer waits for two seconds.")[
        "timer"
    ]
    reader = make_user()
    conversation = Conversation.objects.create(tenant=reader.tenant, user=reader, channel="web", title="定时器 / timer")
    made = Message.objects.create(
        conversation=conversation, question="How long? 多久？", answer=ANSWER, state="done", status="answered"
    )
    MessageCitation.objects.create(
        message=made,
        number=1,
        chunk=document.live_version.chunks.first(),
        document=document,
        version=document.live_version,
    )
    return made


pytestmark = pytest.mark.starts_from(make=message_make)


@pytest.fixture
def message(kept_rows, redis_client) -> Message:
    return kept_rows


def fetched(message: Message, kind: str, *, name: str = "message_export"):
    client = Client()
    client.force_login(message.conversation.user)
    target = message.pk if name == "message_export" else message.conversation_id
    return client.get(reverse(f"chat:{name}", args=[target]), {"kind": kind})


def words_of_pdf(content: bytes) -> str:
    with pypdfium2.PdfDocument(content) as document:
        return "".join(page.get_textpage().get_text_range() for page in document)


def test_markdown_word_and_pdf_hold_the_answer_and_its_sources(message):
    markdown = fetched(message, "md")
    word = docx.Document(BytesIO(fetched(message, "docx").content))
    pdf = "".join(words_of_pdf(fetched(message, "pdf").content).split())

    assert ANSWER.strip() in markdown.content.decode()
    assert "- [1] timer (Radio)" in markdown.content.decode()
    lines = [paragraph.text for paragraph in word.paragraphs]
    assert {"Result 结果", "1. Open cabinet", "• nested", "SET A=<1>;", "[1] timer (Radio)"} <= set(lines)
    assert [[cell.text for cell in row.cells] for row in word.tables[0].rows][1] == ["接地电阻", "10 Ω"]
    for part in (
        "定时器等待两秒，超时后回退；",
        "接地电阻",
        "Ω",
        "≥",
        "SETA=<1>;",
        "<b>escaped</b>",
        "[1]timer(Radio)",
        "$E=mc^2$",
    ):
        assert part in pdf


def test_a_conversation_is_one_file_and_its_name_is_safe(message):
    response = fetched(message, "md", name="conversation_export")

    assert response.content.decode().startswith("# 定时器 / timer")
    assert "/" not in response["Content-Disposition"].partition("filename*=utf-8''")[2]
    assert response["Content-Disposition"].startswith("attachment")


def test_a_source_that_may_not_be_read_any_more_keeps_its_number_only(message):
    message.citations.get().document.sets.update(visibility="members")

    text = fetched(message, "md").content.decode()

    assert "[1] This source was removed, or you no longer have access." in text
    assert "(Radio)" not in text


@pytest.mark.parametrize("kind", ["md", "docx", "pdf"])
def test_a_file_says_what_the_chat_marks(message, kind):
    message.state, message.answer = "stopped", "Two seconds [1]. The rest is a guess."
    message.sentences = [
        {"text": "Two seconds.", "support": "supported", "citations": [1]},
        {"text": "The rest is a guess.", "support": "unsupported", "citations": []},
    ]
    message.save()

    content = fetched(message, kind).content
    words = {
        "md": lambda: content.decode(),
        "docx": lambda: "\n".join(one.text for one in docx.Document(BytesIO(content)).paragraphs),
        "pdf": lambda: words_of_pdf(content),
    }[kind]()
    plain = "".join(words.split())

    assert "Stopped;partialanswerkept." in plain
    assert plain.count("Therestisaguess.") == 2
    assert "Notsupportedbythesources" in plain


@pytest.mark.parametrize("head", ["项目", "项目" * 700])
def test_a_row_that_is_higher_than_a_page_goes_on_on_the_next(message, head):
    message.answer = f"| {head} | b | c | d |\n|---|---|---|---|\n| {'很长的说明' * 280} | x | y | z |\n"
    message.save()

    response = fetched(message, "pdf")

    assert response.status_code == 200
    with pypdfium2.PdfDocument(response.content) as document:
        assert len(document) > 1


def test_nobody_exports_the_answer_of_another_and_no_other_format(message):
    stranger = Client()
    stranger.force_login(make_user())

    assert stranger.get(reverse("chat:message_export", args=[message.pk])).status_code == 404
    assert stranger.get(reverse("chat:conversation_export", args=[message.conversation_id])).status_code == 404
    assert fetched(message, "exe").status_code == 422


@pytest.mark.parametrize("kind", ["md", "docx", "pdf"])
def test_hostile_texts_make_files_too(message, kind):
    cell = "x" * 20_000
    message.question = "\u202e<script>" * 20
    message.answer = (
        f"| a | b |\n|---|---|\n| {cell} | <para>&bogus; |\n\n# \x0b\n\n{'> ' * 40}deep\n\n```\n{cell}\n```\n"
    )
    message.save()

    assert fetched(message, kind).status_code == 200


def test_a_second_export_of_a_person_waits_in_turn_and_is_told_when_to_ask_again(message, monkeypatch):
    monkeypatch.setattr(files, "queue", replace(files.queue, wait_seconds=0.01))

    with files.queue.turn(message.conversation.user_id):
        refused = fetched(message, "pdf")

    assert (refused.status_code, int(refused["Retry-After"]) > 0) == (503, True)
    assert refused.content.decode() == "Another export is being prepared. Please try again shortly."
    assert fetched(message, "pdf").status_code == 200


def test_an_export_that_is_too_long_says_what_to_do(message, monkeypatch):
    monkeypatch.setattr("chat.exports.pdf.MAX_SECONDS", 0.0)

    refused = fetched(message, "pdf")

    assert refused.status_code == 422
    assert "Export it as Markdown" in refused.content.decode()


@pytest.mark.django_db(transaction=True)
def test_an_export_is_parsed_and_made_in_its_turn_without_a_connection_to_the_database(message, monkeypatch):
    connections, turns, parse = [], [], report.markdown_blocks

    def read(text: str) -> list[Block]:
        connections.append(connection.connection)
        with pytest.raises(ExportBusyError), replace(files.queue, wait_seconds=0.01).turn(person):
            pytest.fail("a second export of the same person at once")
        turns.append(text)
        return parse(text)

    def write(_report: object) -> bytes:
        connections.append(connection.connection)
        return b""

    person = message.conversation.user_id
    monkeypatch.setattr(report, "markdown_blocks", read)
    monkeypatch.setitem(files.FORMATS, "pdf", ("application/pdf", write))

    assert fetched(message, "pdf").status_code == 200
    assert connections == [None, None]
    assert turns == [message.answer]


@override_settings(LANGUAGE_CODE="zh-hans")
def test_the_words_around_an_answer_are_in_the_language_of_the_reader(message):
    assert "**来源**" in fetched(message, "md").content.decode()


def test_blocks_keep_their_order_and_numbers():
    kinds = [(block.kind, block.mark) for block in markdown_blocks("3. a\n4. b\n\ntext\n\n- c\n\n  more\n")]

    assert kinds == [("item", "3."), ("item", "4."), ("paragraph", ""), ("item", "•"), ("item", "")]


@pytest.mark.parametrize("name", ["message_export", "conversation_export"])
def test_a_title_that_is_the_question_stands_once_and_days_are_iso(message, name):
    Conversation.objects.update(title=message.question)
    markdown = fetched(message, "md", name=name).content.decode()
    word = [part.text for part in docx.Document(BytesIO(fetched(message, "docx", name=name).content)).paragraphs]
    pdf = words_of_pdf(fetched(message, "pdf", name=name).content)

    assert markdown.count(message.question) == 1
    assert word.count(message.question) == 1
    assert pdf.count("How long?") == 1
    day = f"{timezone.localtime(message.created):%Y-%m-%d %H:%M}"
    assert all(day in text for text in (markdown, " ".join(word), pdf))
