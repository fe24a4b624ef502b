"""The key law of the answer cache: what changes a key, and what does not."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import User, UserGroup
from accounts.selectors import scope_for
from chat.answering.answer_config import resolve_answer_config
from chat.answering.cache_key import CacheKey, cache_key, understand_by_rules
from chat.answering.context import AnswerContext, build_question, profile_get
from chat.types import AnswerMetadata, AnswerRecord, AnswerRequest, ignore_event
from knowledge.models import KnowledgeSet
from knowledge.services import document_delete
from knowledge.types import Filters
from ragcore.types.answering import Turn
from tests.factories import ingest, make_set, make_user, scope_of
from tests.forms_plugin import examples

QUESTION = "How many steps does the random access procedure have?"
EARLIER = (Turn(question="What is a handover?", answer="A handover moves a terminal."),)


def key_of(user: User, query: str = QUESTION, *, history: tuple[Turn, ...] = (), **values) -> CacheKey:
    """The key of a question at this moment, as the answer path makes it."""
    user = User.objects.get(pk=user.pk)
    scope = scope_for(user)
    request = AnswerRequest(query=query, given=frozenset(values), **values)
    profile = profile_get(user, sets=request.sets) if request.personal else None
    context = AnswerContext(
        scope=scope,
        request=request,
        config=resolve_answer_config(scope=scope, request=request),
        question=build_question(query, history=history, profile=profile, user=user),
        events=ignore_event,
    )
    understood, depends = understand_by_rules(context)
    return cache_key(context, understood, depends_on_history=depends)


def two_sets_make():
    owner = make_user()
    sets = [make_set(name, owners=[owner]) for name in ("radio", "people")]
    ingest(owner, sets[0], ra="The random access procedure has four steps.")
    ingest(owner, sets[1], pay="Salaries are paid on the last working day.")
    return owner, sets


pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=two_sets_make)]


@pytest.fixture
def two_sets(kept_rows):
    """Sets that everyone may read, with a document each."""
    return kept_rows[1]


@pytest.fixture
def owner(request):
    return request.getfixturevalue("kept_rows")[0] if "kept_rows" in request.fixturenames else make_user()


def test_colleagues_with_equal_rights_share_a_key(two_sets):
    assert key_of(make_user()) == key_of(make_user())
    assert key_of(make_user(), sets=(two_sets[0].pk,)) == key_of(make_user(), sets=(two_sets[0].pk,))


def test_case_and_white_space_are_not_part_of_a_question(two_sets):
    reader = make_user()

    assert key_of(reader).name == key_of(reader, f"  {QUESTION.upper()}\n").name
    assert key_of(reader).name != key_of(reader, QUESTION.replace("random", "first")).name


CHANGES = {
    "style": st.sampled_from(["simple", "advanced", "precise"]),
    "mode": st.sampled_from(["enhanced", "agentic", "ultimate"]),
    "strategy": st.sampled_from(["adaptive", "self_rag"]),
    "preset": st.sampled_from(["accurate", "fast", "balanced", "cheap"]),
    "rewrite_method": st.sampled_from(["none", "multi", "expand"]),
    "retrieval_mode": st.sampled_from(["vector", "bm25"]),
    "rerank": st.booleans(),  # also what is the default: a site may say otherwise
    "top_k": st.integers(1, 50),
    "max_chunks": st.integers(1, 50),
    "temperature": st.floats(0, 2),
    "max_tokens": st.integers(1, 4096),
    "system_prompt": st.text("abc", min_size=1),
    "compression_method": st.sampled_from(["sentence_extraction", "hybrid"]),
    "confidence_threshold": st.floats(0, 0.7),
    "prefer_api_models": st.just(True),
    "filters": st.builds(Filters, tags=st.tuples(st.sampled_from(["a", "b"]))),
}
SHOWN = {
    "include_citations": st.booleans(),
    "include_inline": st.booleans(),
    "citation_format": st.sampled_from(["markdown", "html", "plain"]),
    "strict": st.booleans(),
    "tenant_id": st.none(),
    "conversation_id": st.sampled_from(["a", "b"]),
}


@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_option_that_shapes_an_answer_is_part_of_the_key(data, two_sets, reader):
    name = data.draw(st.sampled_from(sorted(CHANGES)))

    assert key_of(reader, **{name: data.draw(CHANGES[name])}).group != key_of(reader).group


@settings(max_examples=examples(6), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.fixed_dictionaries({}, optional=SHOWN))
def test_how_an_answer_is_shown_is_not_part_of_the_key(values, two_sets, reader):
    assert key_of(reader, **values) == key_of(reader)


@pytest.fixture
def reader():
    return make_user()


def test_the_laws_know_every_field_of_a_request():
    """A new field must be put into one of them."""
    others = {"query", "sets", "cache", "personal", "history", "given", "style", "constraints"}
    others |= {"compression_ratio", "enable_kg_enhancement", "use_agentic_rag", "max_agentic_iterations", "prompt_type"}
    others |= {"use_tiered_generation", "instead_of", "after"}
    others |= {"attachments", "draft"}  # an answer from a file, or by what is tried, never comes near the cache

    assert {field.name for field in fields(AnswerRequest)} == others | CHANGES.keys() | SHOWN.keys()


# ── rights ────────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=examples(6), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rights=st.lists(st.tuples(st.integers(0, 4), st.sets(st.integers(0, 2))), min_size=2, max_size=2),
    every=st.booleans(),
)
def test_a_key_is_shared_only_where_clearance_and_readable_sets_are_equal(rights, every, closed_sets):
    readers = []
    for clearance, memberships in rights:
        reader = make_user(clearance=clearance)
        for number in memberships:
            closed_sets[number].members.add(reader)
        readers.append(reader)
    asked = () if every else (closed_sets[0].pk, closed_sets[1].pk)
    seen = [
        (clearance, {closed_sets[n].pk for n in sets} & set(asked or [one.pk for one in closed_sets]))
        for clearance, sets in rights
    ]

    first, second = (key_of(reader, sets=asked) for reader in readers)

    assert (first == second) == (seen[0] == seen[1])


@pytest.fixture
def closed_sets(owner):
    return [make_set(name, owners=[owner], visibility="members") for name in "abc"]


def test_a_group_gives_the_rights_of_a_member(owner, closed_sets):
    member, in_group, outsider = make_user(), make_user(), make_user()
    group = UserGroup.objects.create(tenant=owner.tenant, name="g")
    in_group.user_groups.add(group)
    closed_sets[0].members.add(member)
    closed_sets[0].member_groups.add(group)

    assert key_of(member) == key_of(in_group) != key_of(outsider)


def test_filters_by_codes_of_sets_depend_on_all_readable_sets(owner, two_sets, closed_sets):
    member, outsider = make_user(), make_user()
    closed_sets[0].members.add(member)
    asked = (two_sets[0].pk,)

    assert key_of(member, sets=asked) == key_of(outsider, sets=asked)
    filters = Filters(capability=("a",))
    assert key_of(member, sets=asked, filters=filters) != key_of(outsider, sets=asked, filters=filters)


# ── epochs ────────────────────────────────────────────────────────────────────────────────────────


def test_a_change_in_another_set_leaves_a_key_as_it_is(owner, reader, two_sets):
    radio, people = ((one.pk,) for one in two_sets)
    before = [key_of(reader, sets=sets) for sets in (radio, people, ())]

    ingest(owner, two_sets[1], more="Holidays are booked in the portal.")

    after = [key_of(reader, sets=sets) for sets in (radio, people, ())]
    assert [one == other for one, other in zip(before, after, strict=True)] == [True, False, False]


def test_a_deleted_document_changes_the_keys_of_its_sets_only(owner, reader, two_sets):
    radio, people = ((one.pk,) for one in two_sets)
    before = [key_of(reader, sets=sets) for sets in (radio, people)]
    document = two_sets[0].documents.get()

    document_delete(scope=scope_of(owner), actor=owner, document_id=document.pk)

    after = [key_of(reader, sets=sets) for sets in (radio, people)]
    assert [one == other for one, other in zip(before, after, strict=True)] == [False, True]


def test_other_options_of_a_set_change_its_keys_only(reader, two_sets):
    radio, people = ((one.pk,) for one in two_sets)
    before = [key_of(reader, sets=sets) for sets in (radio, people)]

    KnowledgeSet.objects.filter(pk__in=radio).update(options={"answer": {"max_chunks": 3}})

    after = [key_of(reader, sets=sets) for sets in (radio, people)]
    assert [one == other for one, other in zip(before, after, strict=True)] == [False, True]


# ── profile and history ───────────────────────────────────────────────────────────────────────────


def test_a_profile_that_agrees_with_no_document_is_not_part_of_a_key(reader, two_sets):
    other = make_user(department="Legal", product="BTS", role="lawyer")

    assert key_of(other) == key_of(reader)


def test_a_profile_that_moves_the_ranking_is_part_of_a_key(owner, reader, two_sets):
    tagged = two_sets[0].documents.get()
    tagged.tags = ["BTS"]
    tagged.save()
    first, second, other = make_user(product="BTS"), make_user(product="BTS", role="cook"), make_user(product="DU")

    assert key_of(first) == key_of(second) != key_of(other) == key_of(reader)
    assert key_of(first, personal=False) == key_of(reader)


def test_a_profile_that_the_question_speaks_of_is_part_of_a_key(two_sets):
    first, second = make_user(department="Radio"), make_user(department="Sales")

    question = "Who leads my department?"

    assert key_of(first, question).name != key_of(second, question).name


def test_a_conversation_is_part_of_a_key_where_the_question_depends_on_it(reader, two_sets):
    follow_up = "Why does it do that?"
    other = (replace(EARLIER[0], question="What is a beam?"),)

    assert key_of(reader, follow_up, history=EARLIER).name != key_of(reader, follow_up).name
    assert key_of(reader, follow_up, history=EARLIER).name != key_of(reader, follow_up, history=other).name


def test_a_question_with_a_new_subject_is_answered_as_without_its_conversation(reader, two_sets):
    question = "How many preambles are sent on PRACH in TS 38.211?"

    with_history, without = key_of(reader, question, history=EARLIER), key_of(reader, question)

    assert with_history.name == without.name
    assert (with_history.has_history, without.has_history) == (True, False)


def test_what_a_model_wrote_after_other_questions_is_not_kept_for_others():
    record = AnswerRecord(text="", html="", status="answered", confidence=1.0)
    quoted, written = (replace(record, metadata=AnswerMetadata(model=name)) for name in ("extractive", "big"))
    alone, later = (CacheKey(question="q", group="g", has_history=has) for has in (False, True))

    assert [key.may_keep(one) for key in (alone, later) for one in (quoted, written)] == [True, True, True, False]
