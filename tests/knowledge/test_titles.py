"""Titles of documents: by their content, unless a person or the sender named them."""

from __future__ import annotations

from io import BytesIO

import pytest
from docx import Document as WordFile

from knowledge.models import Document
from knowledge.services import document_upload
from knowledge.services.documents import document_update
from knowledge.services.reingest import document_rebuild
from tests.factories import run_job, scope_of
from tests.knowledge.uploads import upload

pytestmark = pytest.mark.django_db

ORION = b"# Orion gateway design\n\nThe gateway has two ports."


def title(document_id: int) -> str:
    return Document.objects.get(pk=document_id).title


def word_file(heading: str) -> bytes:
    out = BytesIO()
    file = WordFile()
    file.core_properties.title = "Word Document"
    file.add_heading(heading, 1)
    file.add_paragraph("The gateway has two ports and a fan.")
    file.save(out)
    return out.getvalue()


def live(owner, home, **fields) -> int:
    done = upload(owner, home, **fields)
    run_job(done.job.pk)
    return done.document.pk


def test_a_word_file_is_called_by_its_heading_and_found_by_its_file_name(owner, common):
    number = live(owner, common, name="orion.docx", content=word_file("Orion gateway design"))

    document = Document.objects.get(pk=number)
    assert document.title == "Orion gateway design"
    assert "/orion.docx" in document.names.terms


def test_a_title_that_the_sender_gave_stays_even_where_it_is_the_file_name(owner, common):
    assert title(live(owner, common, name="orion.md", content=ORION, title="orion")) == "orion"
    assert title(live(owner, common, name="o2.md", content=ORION + b" 2", title="Gateways")) == "Gateways"


def test_a_title_that_a_person_gave_stays_when_the_document_is_processed_again(owner, common):
    number = live(owner, common, name="orion.md", content=ORION)
    document_update(scope=scope_of(owner), actor=owner, document_id=number, title="Our gateways")

    run_job(document_rebuild(scope=scope_of(owner), actor=owner, document_id=number).pk)

    assert title(number) == "Our gateways"


def test_a_document_from_before_is_called_by_its_heading_when_it_is_processed_again(owner, common):
    number = live(owner, common, name="orion.md", content=ORION)
    Document.objects.filter(pk=number).update(title="orion")

    run_job(document_rebuild(scope=scope_of(owner), actor=owner, document_id=number).pk)

    assert title(number) == "Orion gateway design"


def test_the_title_follows_a_new_version_and_changes_only_when_that_goes_live(owner, common):
    number = live(owner, common, name="orion.md", content=ORION, external_id="orion.md")
    again = document_upload(
        scope=scope_of(owner),
        actor=owner,
        sets=[common.pk],
        name="orion.md",
        content=b"# Orion gateway, second design\n\nThe gateway has four ports.",
        external_id="orion.md",
    )
    assert again.document.pk == number
    assert title(number) == "Orion gateway design"

    run_job(again.job.pk)

    assert title(number) == "Orion gateway, second design"


def test_a_document_without_a_title_of_its_own_is_called_by_its_file_name(owner, common):
    assert title(live(owner, common, name="solar.md", content=b"# Contents\n\nPumps.")) == "solar"


def test_texts_of_older_bulk_loads_keep_their_titles(owner, common):
    number = live(owner, common, name="Travel.md", content=ORION, external_id="t-17")
    Document.objects.filter(pk=number).update(title="Travel")

    run_job(document_rebuild(scope=scope_of(owner), actor=owner, document_id=number).pk)

    assert title(number) == "Travel"


def headed_file(number: str) -> bytes:
    out = BytesIO()
    file = WordFile()
    file.add_heading("Pump rules", 1)
    file.add_paragraph("The pump is oiled every week.")
    file.sections[0].header.paragraphs[0].text = f"Document No.: {number}"
    file.save(out)
    return out.getvalue()


def test_what_page_headers_say_is_an_attribute_that_follows_the_file_and_not_over_other_values(owner, common):
    number = live(
        owner, common, name="pump.docx", external_id="pump", content=headed_file("QP-07"), metadata={"version": "ours"}
    )
    assert Document.objects.get(pk=number).metadata == {"version": "ours", "document_number": "QP-07"}

    assert live(owner, common, name="pump.docx", external_id="pump", content=headed_file("QP-08")) == number

    assert Document.objects.get(pk=number).metadata == {"version": "ours", "document_number": "QP-08"}
