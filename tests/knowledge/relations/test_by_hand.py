"""Relations that keepers set: who may, what is refused, and what others see of them."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.audit.events import AuditEvent
from accounts.errors import NotAllowedError, NotFoundError
from knowledge.models import Document, DocumentRelation
from knowledge.relation_errors import RelationInvalidError
from knowledge.relation_kinds import KINDS, WORDS
from knowledge.selectors import corpus_epoch
from knowledge.selectors.documents import documents_askable
from knowledge.selectors.relations import relations_of
from knowledge.services import document_delete
from knowledge.services.relations.by_hand import relation_add, relation_remove
from knowledge.types import Filters
from tests.factories import make_set, make_tenant, make_user, scope_of

pytestmark = pytest.mark.django_db


def document_in(owner, *sets, title="note", clearance=0):
    row = Document.objects.create(
        tenant=owner.tenant,
        source=owner.tenant.sources.get_or_create(name="uploads")[0],
        external_id=title,
        sha256=title,
        title=title,
        clearance=clearance,
        home=sets[0].pk,
    )
    row.sets.set(sets)
    return row


def relate(user, document, kind, other):
    return relation_add(scope=scope_of(user), actor=user, document_id=document.pk, kind=kind, other_id=other.pk)


def seen(user, document):
    rows = relations_of(scope=scope_of(user), document_ids=[document.pk])
    return [(line.kind, line.other.title) for line in rows[document.pk].lines] if rows else []


def beside(user, document, *kinds):
    filters = Filters(related_to=document.pk, relations=kinds)
    return set(documents_askable(scope=scope_of(user), filters=filters).values_list("title", flat=True))


@pytest.mark.parametrize("code", sorted(WORDS))
def test_each_kind_is_seen_from_both_ends(owner, common, code):
    one, other = (document_in(owner, common, title=title) for title in ("one", "other"))

    relate(owner, one, code, other)

    opposite = KINDS[code].inverse if code in KINDS else next(k.code for k in KINDS.values() if k.inverse == code)
    assert (seen(owner, one), seen(owner, other)) == ([(code, "other")], [(opposite, "one")])


def test_setting_a_relation_again_changes_nothing(owner, common):
    one, other = (document_in(owner, common, title=title) for title in ("one", "other"))
    first = relate(owner, one, "links", other)
    epoch = corpus_epoch(scope=scope_of(owner))

    assert relate(owner, one, "links", other).pk == first.pk
    assert corpus_epoch(scope=scope_of(owner)) == epoch


def test_a_relation_is_recorded_and_answers_are_made_anew(owner, common):
    one, other = (document_in(owner, common, title=title) for title in ("one", "other"))
    epoch = corpus_epoch(scope=scope_of(owner))
    row = relate(owner, one, "replaces", other)
    after = corpus_epoch(scope=scope_of(owner))

    relation_remove(scope=scope_of(owner), actor=owner, document_id=other.pk, relation_id=row.pk)

    assert epoch < after < corpus_epoch(scope=scope_of(owner))
    events = AuditEvent.objects.filter(action__in=["document.relate", "document.unrelate"]).order_by("pk")
    assert [(event.action, event.data["other_document"], event.data["relation"]) for event in events] == [
        ("document.relate", other.pk, "replaces"),
        ("document.unrelate", other.pk, "replaces"),
    ]
    assert seen(owner, one) == []


def test_what_a_reader_may_not_open_does_not_exist_for_them(owner, common):
    one, secret = document_in(owner, common, title="one"), document_in(owner, common, title="secret", clearance=3)
    relate(owner, one, "replaced_by", secret)
    reader = make_user(tenant=owner.tenant, clearance=1)

    assert seen(owner, one) == [("replaced_by", "secret")]
    assert seen(reader, one) == []
    assert beside(reader, one) == beside(reader, secret) == set()
    assert beside(owner, one) == {"secret"}


def test_only_keepers_set_and_remove(owner, common):
    one, other = (document_in(owner, common, title=title) for title in ("one", "other"))
    row = relate(owner, one, "links", other)
    reader = make_user(tenant=owner.tenant)

    with pytest.raises(NotAllowedError):
        relate(reader, one, "links", other)
    with pytest.raises(NotAllowedError):
        relation_remove(scope=scope_of(reader), actor=reader, document_id=one.pk, relation_id=row.pk)
    assert DocumentRelation.objects.count() == 1


def test_who_keeps_one_document_alone_cannot_push_out_that_of_others(owner, common):
    keeper = make_user(tenant=owner.tenant)
    mine = document_in(owner, make_set("mine", tenant=owner.tenant, owners=[keeper]), title="mine")
    theirs = document_in(owner, common, title="theirs")

    with pytest.raises(NotAllowedError):
        relate(keeper, mine, "replaces", theirs)
    assert relate(keeper, mine, "links", theirs).pk


def test_documents_of_other_tenants_are_unknown(owner, common):
    stranger = make_user(tenant=make_tenant("far"))
    far = document_in(stranger, make_set("far", tenant=stranger.tenant, owners=[stranger]), title="far")
    keeper = make_user(tenant=owner.tenant)
    one = document_in(owner, make_set("own", tenant=owner.tenant, owners=[keeper]), title="one")

    with pytest.raises(NotFoundError):
        relate(keeper, one, "links", far)


def test_a_deleted_successor_gives_the_place_back(owner, common):
    old, new = (document_in(owner, common, title=title) for title in ("old", "new"))
    relate(owner, new, "replaces", old)

    document_delete(scope=scope_of(owner), actor=owner, document_id=new.pk)

    assert seen(owner, old) == []


def test_unknown_kinds_and_a_relation_to_itself_are_refused(owner, common):
    one, other = (document_in(owner, common, title=title) for title in ("one", "other"))

    with pytest.raises(RelationInvalidError, match="no kind of relation"):
        relate(owner, one, "married_to", other)
    with pytest.raises(RelationInvalidError, match="itself"):
        relate(owner, one, "links", one)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from(["replaces", "extends"])), max_size=14))
def test_no_order_of_acts_makes_a_circle(owner, common, acts):
    DocumentRelation.objects.all().delete()
    titles = [f"edition {number}" for number in range(5)]
    known = {row.title: row for row in Document.objects.filter(title__in=titles)}
    rows = [known.get(title) or document_in(owner, common, title=title) for title in titles]
    follows = {kind: {number: set() for number in range(5)} for kind in ("replaces", "extends")}

    for one, other, kind in acts:
        closes = one == other or one in _reached(follows[kind], other)
        try:
            relate(owner, rows[one], kind, rows[other])
        except RelationInvalidError:
            assert closes
        else:
            assert not closes
            follows[kind][one].add(other)


def _reached(follows, start):
    reached, waiting = set(), [start]
    while waiting:
        for number in follows[waiting.pop()] - reached:
            reached.add(number)
            waiting.append(number)
    return reached
