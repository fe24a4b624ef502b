"""Query adapters in searches: each in its own set, at most four, off by an option; switching them."""

import numpy as np
import pytest

from accounts.errors import NotFoundError
from accounts.models import AuditEvent
from knowledge import model_registry
from knowledge.models import QueryAdapter
from knowledge.search_profile import search_profile
from knowledge.selectors.answer_space import answer_space
from knowledge.selectors.query_adapters import adapters_of_search
from knowledge.selectors.visibility import visible_to
from knowledge.services import retrieve
from knowledge.services.passage_evidence import passages_explain, query_embed
from knowledge.types import RetrievalRequest
from knowledge.vector_errors import AdapterSwitchError
from knowledge.wiring import query_of
from ragcore.embedding import query_adapter
from tests.factories import ingest, make_set, make_user, scope_of
from tests.knowledge.owned_rows import owned
from work.versions import version_activate, version_roll_back

RADIO = {
    "beam": "Beam management keeps the narrow beams of a base station aligned while the terminal moves.",
    "cake": "A cake of apples needs flour, butter, sugar and forty minutes in the oven.",
    "boat": "The ferry leaves the harbour every hour and carries forty cars.",
}
ASKED = "How are narrow beams aligned?"


def towards(text, *, home, number=1, state="ready", model="", strength=20.0):
    """A version of a set that turns every question towards a text."""
    embedder = model_registry.embedder()
    adapter = query_adapter.QueryAdapter(
        down=np.zeros((768, 1), np.float32),
        up=np.zeros((1, 768), np.float32),
        shift=strength * embedder.embed_documents([text])[0],
    )
    return QueryAdapter.objects.create(
        tenant_id=home.tenant_id,
        knowledge_set=home,
        number=number,
        state=state,
        model=model or embedder.model,
        weights=adapter.pack(),
    )


def found(person, *homes, **options):
    request = RetrievalRequest(query=ASKED, sets=tuple(home.pk for home in homes), mode="vector", options=options)
    return [c.passage.external_id for c in retrieve(scope=scope_of(person), request=request).state.candidates]


def off(owner, home):
    subject = {"knowledge_set_id": home.pk}
    return version_roll_back(kind="query_adapter", scope=scope_of(owner), actor=owner, subject=subject)


def corpus_make(owner, common):
    return ingest(owner, common, **RADIO)


pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=owned(corpus_make))]


@pytest.fixture
def corpus(kept_rows):
    return kept_rows[2]


def test_a_version_is_switched_on_and_off_in_a_moment(owner, common, corpus):
    version = towards(RADIO["cake"], home=common)
    assert found(owner, common)[0] == "beam"
    before = answer_space(scope=scope_of(owner), sets=[common.pk])

    version_activate(kind="query_adapter", scope=scope_of(owner), actor=owner, version_id=version.pk)

    now = answer_space(scope=scope_of(owner), sets=[common.pk])
    assert found(owner, common)[0] == "cake"
    assert found(owner)[0] == "cake"  # of all sets
    assert found(owner, common, query_adapter=0)[0] == "beam"
    assert now.epoch > before.epoch
    assert (before.adapters, now.adapters) == ((), (version.pk,))  # part of the key of cached answers

    off(owner, common)

    assert found(owner, common)[0] == "beam"
    assert found(owner, common, query_adapter=1)[0] == "cake"  # a former version, for comparing
    actions = list(
        AuditEvent.objects.filter(action__startswith="adapter.").order_by("pk").values_list("action", flat=True)
    )
    assert actions == ["adapter.switch_on", "adapter.switch_off"]


def test_each_adapter_searches_its_own_set(owner, common, corpus):
    kitchen = make_set("kitchen", owners=[owner])
    ingest(owner, kitchen, soup="Soup of pumpkins is cooked slowly.", bread="Bread rises for a night.")
    towards("Bread rises for a night.", home=kitchen, state="live")

    both = found(owner, common, kitchen, deduplicate=False)

    assert both.index("bread") < both.index("soup")
    assert both.index("beam") < min(both.index("cake"), both.index("boat"))  # as without an adapter
    assert found(owner, common) == found(owner, common, query_adapter=0)


def test_at_most_four_adapters_take_part_in_a_search(owner):
    homes = [make_set(f"set-{n}", owners=[owner]) for n in range(6)]
    for home in homes:
        ingest(owner, home, **{f"in-{home.code}": f"The text of {home.code} tells of narrow beams."})
        towards("anything", home=home, state="live", strength=0.1)
    scope = scope_of(owner)

    taking = adapters_of_search(scope=scope, visible=visible_to(scope=scope))

    assert [set_id for set_id, _row in taking] == [home.pk for home in homes[:4]]
    assert len(found(owner, *homes, top_k=6)) == 6  # the others are searched, too


def test_an_adapter_of_another_model_or_a_damaged_one_takes_no_part(owner, common, corpus):
    towards(RADIO["cake"], home=common, state="live", model="another-model")
    assert found(owner, common)[0] == "beam"
    QueryAdapter.objects.all().delete()
    broken = towards(RADIO["cake"], home=common, state="live")
    QueryAdapter.objects.filter(pk=broken.pk).update(weights=b"broken")
    off(owner, common)  # a new epoch
    QueryAdapter.objects.filter(pk=broken.pk).update(state="live")
    assert found(owner, common)[0] == "beam"


@pytest.mark.parametrize(
    ("state", "model", "reason"),
    [
        ("live", "", "in_use"),
        ("no_gain", "", "unusable"),
        ("training", "", "unusable"),
        ("failed", "", "unusable"),
        ("ready", "another-model", "model"),
    ],
)
def test_what_cannot_be_switched_on_is_refused(owner, common, state, model, reason):
    version = towards("anything", home=common, state=state, model=model)
    with pytest.raises(AdapterSwitchError) as refused:
        version_activate(kind="query_adapter", scope=scope_of(owner), actor=owner, version_id=version.pk)
    assert refused.value.reason == reason


def test_only_owners_of_the_set_switch_it(owner, common, corpus):
    version = towards(RADIO["cake"], home=common)
    stranger = make_user("stranger", tenant=owner.tenant)
    with pytest.raises(NotFoundError):
        version_activate(kind="query_adapter", scope=scope_of(stranger), actor=stranger, version_id=version.pk)
    assert found(stranger, common, query_adapter=7)[0] == "beam"  # a version that there is not


def test_what_a_passage_got_is_explained_as_it_was_searched(owner, common, corpus):
    towards(RADIO["cake"], home=common, state="live")
    scope = scope_of(owner)
    chunks = [version.live_version.chunks.get().pk for version in corpus.values()]
    profile = search_profile(scope=scope, request=RetrievalRequest(query=ASKED, sets=(common.pk,)))
    told = passages_explain(profile=profile, query=query_embed(profile, query_of(ASKED)), chunks=chunks)
    best = max(told.values(), key=lambda one: one.dense)
    assert best.passage.external_id == "cake"
