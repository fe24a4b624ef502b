"""Pictures of cited passages: on the page, in the API, and in files."""

from __future__ import annotations

import re
from base64 import b64decode
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import docx
import pypdfium2
import pytest
from django.core.files.base import ContentFile
from django.test import Client
from PIL import Image

from accounts.key_scopes import KeyScope
from accounts.models import AuditEvent
from accounts.selectors import scope_for
from accounts.services import api_key_create
from chat.concurrency.executors import run_db
from chat.conversations.sharing import link_create
from chat.exports import files
from chat.models import Conversation, Message, MessageCitation
from knowledge.models import Chunk, Document, DocumentPicture
from tests.chat.conftest import Api
from tests.factories import ingest, make_set, make_user
from tests.scripted_llm import Reply

TEXT = """The mast stands on four feet.

![Figure 3: The mast seen from the north](picture:mast.png)

![Figure 4: The foot of the mast](picture:foot.png)
"""
ANSWER = "The mast stands on **four feet** [1].\n\nIts height is not told."
ASKED = "What does the mast look like?"
QUESTION = "How many feet does the mast have?"


@dataclass
class Place:
    """A document with two pictures, somebody who asked, and the answer."""

    document: Document
    message: Message

    def browser(self) -> Client:
        client = Client()
        client.force_login(self.message.conversation.user)
        return client

    def page(self) -> str:
        return self.browser().get(f"/messages/{self.message.pk}").content.decode()

    def file(self, kind: str) -> bytes:
        return self.browser().get(f"/messages/{self.message.pk}/export", {"kind": kind}).content

    def change(self, **values: Any) -> None:
        Message.objects.filter(pk=self.message.pk).update(**values)
        self.message.refresh_from_db()


def encoded(colour: str, size: tuple[int, int] = (40, 30)) -> bytes:
    out = BytesIO()
    Image.new("RGB", size, colour).save(out, "PNG")
    return out.getvalue()


def with_pictures(document: Document) -> None:
    for name, colour in (("mast.png", "red"), ("foot.png", "blue")):
        row = DocumentPicture(version=document.live_version, name=name, media_type="image/png", page=2, alt="")
        row.file.save(name, ContentFile(encoded(colour)))
    Chunk.objects.filter(version=document.live_version).update(text=TEXT)


@pytest.fixture
def place(db, redis_client, settings, tmp_path) -> Place:
    settings.MEDIA_ROOT = tmp_path
    owner, reader = make_user(), make_user()
    document = ingest(owner, make_set("radio", owners=[owner]), mast="The mast stands on four feet.")["mast"]
    with_pictures(document)
    conversation = Conversation.objects.create(tenant=reader.tenant, user=reader, channel="web", title="mast")
    message = Message.objects.create(
        conversation=conversation,
        question=ASKED,
        answer=ANSWER,
        answer_html='<p>The mast stands on <strong>four feet</strong> <button class="cite" type="button" '
        'data-cite="1" data-place="0">1</button>.</p>\n<p>Its height is not told.</p>\n',
        state="done",
        status="answered",
    )
    MessageCitation.objects.create(
        message=message,
        number=1,
        chunk=document.live_version.chunks.first(),
        document=document,
        version=document.live_version,
        cited=True,
    )
    return Place(document, message)


def names(html: str) -> list[str]:
    return re.findall(r'<figure class="cited-figure"><a href="/pictures/\d+/(\w+)\.png"', html)


def test_a_picture_stands_where_its_passage_is_cited(place):
    html = place.page()

    assert names(html) == ["mast", "foot"]
    assert 'alt="Figure 3: The mast seen from the north"' in html
    assert (
        'The mast seen from the north <button class="cite" type="button" data-cite="1">1</button></figcaption>' in html
    )
    report = html.partition('<div class="report"')[2]
    assert report.index("four feet") < report.index("<figure") < report.index("Its height is not told")


@pytest.mark.parametrize(
    ("question", "answer", "listed"),
    [
        (QUESTION, ANSWER, []),
        (QUESTION, "It has four feet, as Figure 4 shows [1].", ["foot"]),
        (QUESTION, "It has four feet; see the figure below [1].", ["mast", "foot"]),
        (QUESTION, "As Figure 4 shows, it is high. It has four feet [1].", []),
        ("What is in figure 3?", ANSWER, ["mast"]),
        ("天线长什么样？", ANSWER, ["mast", "foot"]),
        (ASKED, "Nothing is cited.", []),
    ],
)
def test_only_where_the_question_or_the_sentence_concerns_it(place, question, answer, listed):
    place.change(question=question, answer=answer)

    assert names(place.page()) == listed


def test_who_may_not_read_the_document_any_more_sees_no_picture(place):
    picture = DocumentPicture.objects.first()
    address = f"/pictures/{picture.version_id}/{picture.name}"
    assert place.browser().get(address).status_code == 200

    place.document.sets.update(visibility="members")

    assert names(place.page()) == []
    assert place.browser().get(address).status_code == 404
    assert b"data:image" not in place.file("md")


def test_a_colleague_who_reads_the_whole_answer_sees_its_pictures(place):
    scope = scope_for(place.message.conversation.user)
    link = link_create(scope=scope, message_id=place.message.pk, is_whole=False, days=7)
    colleague = Client()
    colleague.force_login(make_user())

    html = colleague.get(f"/shared/{link.key}").content.decode()

    assert names(html) == ["mast", "foot"]
    assert f'<a class="cite" href="#source-{place.message.pk}-1"' in html.partition("<figure")[2]
    place.document.sets.update(visibility="members")
    assert names(colleague.get(f"/shared/{link.key}").content.decode()) == []


def test_markdown_has_the_picture_in_it(place):
    text = place.file("md").decode()

    head, tail = text.split("![Figure 3: The mast seen from the north][", 1)
    assert head.rstrip().endswith("**four feet** [1].")
    assert "*Figure 3: The mast seen from the north [1]*" in tail
    assert tail.index("*Figure 4") < tail.index("Its height is not told.")
    data = re.search(r"\[picture-\d+\]: data:image/png;base64,(\S+)", text)
    with Image.open(BytesIO(b64decode(data[1]))) as image:
        assert (image.size, image.getpixel((5, 5))) == ((40, 30), (255, 0, 0))


def test_word_has_the_picture_with_its_words(place):
    document = docx.Document(BytesIO(place.file("docx")))

    described = [shape._inline.docPr.get("descr") for shape in document.inline_shapes]
    lines = [paragraph.text for paragraph in document.paragraphs]
    assert described == ["Figure 3: The mast seen from the north", "Figure 4: The foot of the mast"]
    at = lines.index("Figure 3: The mast seen from the north [1]")
    assert lines[at - 2].startswith("The mast stands on four feet")
    assert lines.index("Its height is not told.") > at


def test_a_pdf_has_the_picture_with_its_words(place):
    with pypdfium2.PdfDocument(place.file("pdf")) as document:
        images = [each for page in document for each in page.get_objects() if each.type == 3]
        words = "".join(page.get_textpage().get_text_range() for page in document)

    assert len(images) == 2
    assert "seen from the north [1]" in " ".join(words.split())


@pytest.mark.parametrize("kind", ["md", "docx", "pdf"])
def test_a_picture_that_cannot_be_read_leaves_its_words(place, kind):
    first, second = DocumentPicture.objects.order_by("pk")
    first.file.save("mast.png", ContentFile(b"\x89PNG no picture"))
    second.file.storage.delete(second.file.name)

    content = place.file(kind)

    read = {
        "md": lambda: content.decode(),
        "docx": lambda: "\n".join(each.text for each in docx.Document(BytesIO(content)).paragraphs),
        "pdf": lambda: "".join(page.get_textpage().get_text_range() for page in pypdfium2.PdfDocument(content)),
    }
    words = " ".join(read[kind]().split())
    assert "The mast seen from the north [1]" in words
    assert "The foot of the mast [1]" in words
    assert "data:image" not in words


def test_a_file_has_a_limited_number_of_pictures(place, monkeypatch):
    monkeypatch.setattr("chat.exports.pictures.MAX_PICTURES", 1)

    assert place.file("md").decode().count("data:image") == 1


def test_markers_in_fences_and_lists_of_markdown_break_nothing(place):
    place.change(answer="- one\n- two [1]\n\n```\ncode\n\nmore [1]\n```\n\nEnd.")

    text = place.file("md").decode()

    assert "```\ncode\n\nmore [1]\n```" in text
    assert text.index("- two [1]") < text.index("![Figure 3") < text.index("```")
    assert files.FORMATS["md"][0].startswith("text/markdown")


# ── API ───────────────────────────────────────────────────────────────────────────────────────────


async def test_an_answer_names_its_pictures_and_a_key_reads_them(world, llm):
    question = "Is there a picture of the random access procedure and its four steps?"
    await run_db(with_text, world.documents["ra"])
    llm.default = Reply(texts=("The random access procedure has four steps [1].",))
    api = Api(world.key)

    answer = await api.generate(question)

    assert [picture["caption"] for picture in answer["pictures"]] == [
        "Figure 3: The mast seen from the north",
        "Figure 4: The foot of the mast",
    ]
    first = answer["pictures"][0]
    assert (first["citation_num"], first["document"], first["page"]) == (1, "ra", 2)
    assert first["document_id"] == world.documents["ra"].pk
    response = await api.client.get(first["url"], headers=api.headers)
    assert (response.status_code, response.headers["Content-Type"]) == (200, "image/png")
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.content == encoded("red")
    without = await api.generate(question, include_citations=False)
    assert without["pictures"] == []


def with_text(document: Document) -> None:
    with_pictures(document)
    text = f"The random access procedure has four steps.\n\n{TEXT}"
    Chunk.objects.filter(version=document.live_version).update(text=text)


async def test_only_who_may_open_the_document_reads_its_pictures(world, llm):
    document = world.documents["ra"]
    await run_db(with_text, document)
    address = f"/api/v1/rag/pictures/{document.live_version_id}/mast.png"
    reader, stranger = Api(world.key), Api("")
    reading_key = (await run_db(api_key_create, user=world.reader, name="r", scopes=[KeyScope.READ]))[1]

    async def status(api: Api, path: str = address) -> int:
        return (await api.client.get(path, headers=api.headers)).status_code

    assert [await status(api) for api in (reader, stranger, Api(reading_key))] == [200, 401, 403]
    assert await status(reader, address.replace("mast", "nothing")) == 404
    assert await status(reader, "/api/v1/rag/pictures/999999/mast.png") == 404
    await run_db(close, document)
    assert await status(reader) == 404


def close(document: Document) -> None:
    document.sets.update(visibility="members")


async def test_reading_a_picture_of_a_confidential_document_is_recorded(world):
    document = world.documents["ra"]
    await run_db(with_text, document)
    await run_db(lambda: Document.objects.filter(pk=document.pk).update(clearance=2))
    address = f"/api/v1/rag/pictures/{document.live_version_id}/mast.png"

    api = Api(world.key)
    answer = await api.client.get(address, headers=api.headers)

    assert answer.status_code == 200
    assert await run_db(lambda: AuditEvent.objects.filter(action="document.view", target="ra").exists())
