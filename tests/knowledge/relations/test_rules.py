"""Relations that rules of handlers and connectors state: found when either document arrives, and taken back."""

from __future__ import annotations

import pytest
from django.utils import timezone

from knowledge.connectors.items import FetchedItem, Item, ItemRelation
from knowledge.models import Document, DocumentRelation, HandlerRule, Source, SourceHandler
from knowledge.selectors.relations import relations_of
from knowledge.services import document_delete
from knowledge.services.deletion import purge
from knowledge.services.relations.by_hand import relation_remove
from knowledge.services.relations.connectors import item_relations_write
from knowledge.services.relations.keys import reference_key
from knowledge.services.relations.statements import Statement, statements_write
from knowledge.services.relations.targets import relations_settle
from tests.factories import run_job, scope_of
from tests.knowledge.uploads import upload

pytestmark = pytest.mark.django_db
DESIGN, TESTS = "docs/design/F123.md", "tests/F123_test.md"


@pytest.fixture
def source(owner):
    handler = SourceHandler.objects.create(tenant=owner.tenant, code="git", name="git")
    rules = [
        ("path", r"docs/design/(F\d+)\.md$", "tested_by", "path: tests/{1}_test.md"),
        ("path", r"docs/design/(F\d+)\.md$", "developed_by", "number: DEV-{1}"),
        ("text", r"replaces (SPEC-\d+)", "replaces", "spec={1}"),
        ("text", r"\]\((https?://[^)\s]+)\)", "links", "link: {1}"),
    ]
    HandlerRule.objects.bulk_create(
        HandlerRule(
            handler=handler,
            position=number,
            looks=looks,
            match="regex",
            pattern=pattern,
            action="relate",
            attribute=kind,
            value=value,
        )
        for number, (looks, pattern, kind, value) in enumerate(rules)
    )
    return Source.objects.create(tenant=owner.tenant, name="git", handler=handler, owner=owner)


def arrive(owner, common, source, path, text="Steps.", **more):
    result = upload(
        owner,
        common,
        name=path.rpartition("/")[2].removesuffix(".md") + ".md",
        external_id=path,
        source=source.name,
        content=f"# {path}\n\n{text}".encode(),
        **more,
    )
    if result.job:
        run_job(result.job.pk)
    return Document.objects.get(pk=result.document.pk)


def seen(user, document):
    rows = relations_of(scope=scope_of(user), document_ids=[document.pk])
    return [(line.kind, line.other.external_id) for line in rows[document.pk].lines] if rows else []


@pytest.mark.parametrize("first", [DESIGN, TESTS])
def test_paths_of_a_repository_relate_design_and_tests_whichever_arrives_first(owner, common, source, first):
    second = TESTS if first == DESIGN else DESIGN
    documents = {path: arrive(owner, common, source, path) for path in (first, second)}

    assert seen(owner, documents[DESIGN]) == [("tested_by", TESTS)]
    assert seen(owner, documents[TESTS]) == [("tests", DESIGN)]


def test_a_number_is_found_in_names_and_titles(owner, common, source):
    design = arrive(owner, common, source, DESIGN)
    development = arrive(owner, common, source, "work/dev f123 notes.md", title="DEV-F123 implementation")
    other = arrive(owner, common, source, "work/dev f1234.md", title="DEV-F1234")

    assert seen(owner, design) == [("developed_by", development.external_id)]
    assert seen(owner, other) == []


def test_an_attribute_names_the_edition_that_is_replaced(owner, common, source):
    old = arrive(owner, common, source, "a.md", metadata={"spec": "SPEC-7"})
    new = arrive(owner, common, source, "b.md", "This one replaces SPEC-7.")

    assert seen(owner, new) == [("replaces", "a.md")]
    assert seen(owner, old) == [("replaced_by", "b.md")]


def test_every_link_of_a_text_counts_and_waits_for_its_document(owner, common, source):
    page = arrive(
        owner, common, source, "c.md", "See [x](https://wiki.example/p/one) and [y](https://wiki.example/p/two)."
    )
    assert seen(owner, page) == []
    assert DocumentRelation.objects.filter(target=None, kind="links").count() == 2

    arrive(owner, common, source, "https://wiki.example/p/two")

    assert seen(owner, page) == [("links", "https://wiki.example/p/two")]
    assert DocumentRelation.objects.filter(target=None, kind="links").count() == 1


def test_a_new_version_that_says_it_no_more_takes_it_back(owner, common, source):
    arrive(owner, common, source, "a.md", metadata={"spec": "SPEC-7"})
    new = arrive(owner, common, source, "b.md", "This one replaces SPEC-7.")

    arrive(owner, common, source, "b.md", "This one stands alone.")

    assert seen(owner, new) == []


def test_what_a_keeper_has_removed_stays_out_when_the_rule_says_it_again(owner, common, source):
    arrive(owner, common, source, TESTS)
    design = arrive(owner, common, source, DESIGN)
    row = DocumentRelation.objects.get(kind="tested_by")

    relation_remove(scope=scope_of(owner), actor=owner, document_id=design.pk, relation_id=row.pk)
    arrive(owner, common, source, DESIGN, "Another text.")

    assert seen(owner, design) == []


def test_rules_cannot_close_a_circle(owner, common, source):
    first = arrive(owner, common, source, "a.md", "replaces SPEC-2", metadata={"spec": "SPEC-1"})
    second = arrive(owner, common, source, "b.md", "replaces SPEC-1", metadata={"spec": "SPEC-2"})

    assert sorted([seen(owner, first), seen(owner, second)]) == [[("replaced_by", "b.md")], [("replaces", "a.md")]]


def test_another_source_cannot_say_that_its_document_replaces_ours(owner, common, source):
    other = Source.objects.create(tenant=owner.tenant, name="other", handler=source.handler, owner=owner)
    ours = arrive(owner, common, source, "a.md", metadata={"spec": "SPEC-7"})

    arrive(owner, common, other, "b.md", "This one replaces SPEC-7.")

    assert seen(owner, ours) == []


def test_a_path_means_a_file_of_the_same_source(owner, common, source):
    other = Source.objects.create(tenant=owner.tenant, name="other", owner=owner)
    arrive(owner, common, other, TESTS)

    assert seen(owner, arrive(owner, common, source, DESIGN)) == []


def test_settling_again_changes_nothing(owner, common, source):
    documents = [arrive(owner, common, source, path) for path in (DESIGN, TESTS)]
    before = list(DocumentRelation.objects.order_by("pk").values())

    changed = relations_settle(tenant_id=owner.tenant_id, document_ids=[one.pk for one in documents])

    assert changed == set()
    assert list(DocumentRelation.objects.order_by("pk").values()) == before


def test_purging_the_middle_edition_keeps_the_order_and_lets_statements_wait(owner, common, source):
    oldest = arrive(owner, common, source, "a.md", metadata={"spec": "SPEC-1"})
    middle = arrive(owner, common, source, "b.md", "replaces SPEC-1", metadata={"spec": "SPEC-2"})
    newest = arrive(owner, common, source, "c.md", "replaces SPEC-2")
    document_delete(scope=scope_of(owner), actor=owner, document_id=middle.pk)
    Document.objects.filter(pk=middle.pk).update(deleted=timezone.now() - timezone.timedelta(days=90))

    purge(days=30)

    assert not Document.objects.filter(pk=middle.pk).exists()
    assert seen(owner, oldest) == [("replaced_by", "c.md")]
    assert DocumentRelation.objects.get(source=newest, target=None).target_key == "attribute:spec=SPEC-2"


def test_a_connector_states_relations_by_ids_and_takes_them_back(owner, common, source):
    parent, page = (arrive(owner, common, source, name) for name in ("space/parent", "space/page"))

    def item(*relations):
        return Item(
            external_id="space/page",
            name="page.md",
            read=lambda stamp: FetchedItem(name="page.md", content=b"", stamp={}),
            relations=relations,
        )

    item_relations_write(source=source, item=item(ItemRelation(kind="belongs_to", external_id="space/parent")))
    assert seen(owner, page) == [("belongs_to", "space/parent")]
    assert seen(owner, parent) == [("has_part", "space/page")]

    item_relations_write(source=source, item=item())
    assert seen(owner, page) == []


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("path: docs/design/F123.md", "path:7:/docs/design/f123"),
        ("docs/design/F123.md", "path:7:/docs/design/f123"),
        ("name: F123_test.md", "name:/f123 test.md"),
        ("link: https://wiki.example/a/b?x=1#y", "name:/wiki example/a/b"),
        ("https://wiki.example/a/b", "name:/wiki example/a/b"),
        ("title: Travel  Rules", "title:travel rules"),
        ("number: HR-012", "number:hr012"),
        ("spec=TS 38.331", "attribute:spec=TS 38.331"),
        ("path: ", ""),
        ("number: DEV-F123", "number:devf123"),
        ("number: TS 38.331", "number:ts38.331"),
        ("number: none", ""),
        ("", ""),
    ],
)
def test_references_become_keys(text, key):
    assert reference_key(text, source_id=7) == key


def test_unknown_kinds_and_empty_references_are_left_out(owner, common, source):
    document = arrive(owner, common, source, "a.md")
    statements = [Statement(kind="marries", reference="name: b.md"), Statement(kind="links", reference="  ")]

    assert not statements_write(document=document, origin="rule", statements=statements)
    assert not DocumentRelation.objects.exists()
