"""Who changed which options, and going back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.errors import NotAllowedError, NotFoundError
from accounts.models import AuditEvent
from knowledge.models import CorpusEpoch, KnowledgeSet, OptionsChange, SiteOptions
from knowledge.selectors.options import options_changes, options_differences, options_owner, options_shown, site_options
from knowledge.services.options import ChangeNote, options_restore, set_options_update, site_options_update
from ragcore.errors import InvalidOptionsError
from tests.factories import make_admin, make_set, make_tenant, make_user, scope_of

pytestmark = pytest.mark.django_db


def change_set(user, kept, options, **more):
    return set_options_update(scope=scope_of(user), actor=user, set_id=kept.pk, options=options, **more)


def change_site(user, options, **more):
    return site_options_update(scope=scope_of(user), actor=user, options=options, **more)


def epoch(tenant_id):
    return CorpusEpoch.objects.filter(tenant_id=tenant_id).values_list("value", flat=True).first() or 0


def test_a_change_says_who_when_what_and_why():
    owner = make_user()
    kept = make_set(owners=[owner])
    change_set(owner, kept, {"chunking": {"max_tokens": 300}})

    change_set(owner, kept, {"chunking": {"max_tokens": 400}}, why=ChangeNote(note="longer lists"))

    latest = options_changes(scope=scope_of(owner)).first()
    assert (latest.actor, latest.knowledge_set, latest.kind, latest.note) == (owner, kept, "edit", "longer lists")
    assert (latest.before, latest.after) == ({"chunking": {"max_tokens": 300}}, {"chunking": {"max_tokens": 400}})
    assert AuditEvent.objects.filter(action="set.options", actor=owner).count() == 2


def test_saving_without_a_change_leaves_no_trace():
    owner = make_user()
    kept = make_set(owners=[owner])
    change_set(owner, kept, {"chunking": {"max_tokens": 300}})
    before = epoch(owner.tenant_id)

    change_set(owner, kept, {"chunking": {"max_tokens": 300}, "retrieval": {"top_k": None}})

    assert OptionsChange.objects.count() == 1
    assert epoch(owner.tenant_id) == before


def test_every_change_makes_cached_answers_stale():
    admin = make_admin()
    kept = make_set(owners=[admin])
    seen = [epoch(admin.tenant_id)]
    for act in (
        lambda: change_set(admin, kept, {"answer": {"max_chunks": 3}}),
        lambda: change_site(admin, {"answer": {"max_chunks": 4}}),
        lambda: options_restore(scope=scope_of(admin), actor=admin, change_id=OptionsChange.objects.latest("pk").pk),
    ):
        act()
        seen.append(epoch(admin.tenant_id))

    assert seen == sorted(set(seen))


def test_going_back_restores_the_state_before_a_change_and_can_be_taken_back_itself():
    owner = make_user()
    kept = make_set(owners=[owner])
    for tokens in (300, 400, 500):
        change_set(owner, kept, {"chunking": {"max_tokens": tokens}})
    second = OptionsChange.objects.order_by("pk")[1]

    options_restore(scope=scope_of(owner), actor=owner, change_id=second.pk, note="worse")

    assert KnowledgeSet.objects.get().options == {"chunking": {"max_tokens": 300}}
    undone = OptionsChange.objects.latest("pk")
    assert (undone.kind, undone.note, undone.before) == ("undo", "worse", {"chunking": {"max_tokens": 500}})
    options_restore(scope=scope_of(owner), actor=owner, change_id=undone.pk)
    assert KnowledgeSet.objects.get().options == {"chunking": {"max_tokens": 500}}


def test_going_back_to_before_the_first_change_inherits_everything_again():
    admin = make_admin()
    change_site(admin, {"chunking": {"max_tokens": 300}, "answer": {"mode": "agentic"}})

    options_restore(scope=scope_of(admin), actor=admin, change_id=OptionsChange.objects.get().pk)

    assert SiteOptions.objects.get().options == {}


def test_a_state_that_this_version_does_not_know_is_refused_and_named():
    owner = make_user()
    kept = make_set(owners=[owner])
    old = OptionsChange.objects.create(
        tenant=owner.tenant, knowledge_set=kept, before={"chunking": {"size": 3}}, after={}
    )

    with pytest.raises(InvalidOptionsError, match="size"):
        options_restore(scope=scope_of(owner), actor=owner, change_id=old.pk)


def test_restoring_leaves_out_what_is_no_setting_any_more():
    owner = make_user()
    kept = make_set(owners=[owner])
    before = {"retrieval": {"top_k": 7, "exact": False, "set_embedder": 0}}
    old = OptionsChange.objects.create(tenant=owner.tenant, knowledge_set=kept, before=before, after={})

    options_restore(scope=scope_of(owner), actor=owner, change_id=old.pk)

    kept.refresh_from_db()
    assert kept.options == {"retrieval": {"top_k": 7}}


def test_what_an_earlier_version_stored_does_not_keep_anybody_from_saving():
    owner = make_user()
    kept = make_set(owners=[owner], options={"chunking": {"size": 3, "max_tokens": 300}, "cutting": {"a": 1}})

    changed = change_set(owner, kept, {"chunking": {"min_tokens": 50}})

    assert changed.options == {"chunking": {"max_tokens": 300, "min_tokens": 50}}


def test_all_faults_are_named_at_once():
    owner = make_user()
    kept = make_set(owners=[owner])

    with pytest.raises(InvalidOptionsError) as refused:
        change_set(owner, kept, {"chunking": {"size": 3}, "answer": {"mode": "magic"}, "cutting": {}})

    assert len(refused.value.data["faults"]) == 3


# ── rights ──────────────────────────────────────────────────────────────────────────────────────


def test_changes_are_seen_by_those_who_could_have_made_them():
    root, owner, other = make_admin(), make_user(), make_user()
    abroad = make_admin(tenant=make_tenant())
    mine, theirs = make_set(owners=[owner]), make_set(owners=[abroad])
    change_set(owner, mine, {"chunking": {"max_tokens": 300}})
    change_set(abroad, theirs, {"chunking": {"max_tokens": 301}})
    change_site(abroad, {"chunking": {"max_tokens": 302}})
    change_site(root, {"chunking": {"max_tokens": 303}})

    def seen(user):
        return [row.after["chunking"]["max_tokens"] for row in options_changes(scope=scope_of(user))]

    assert (seen(root), seen(owner), seen(other), seen(abroad)) == ([303, 302, 301, 300], [300], [], [302, 301])
    foreign = OptionsChange.objects.get(after={"chunking": {"max_tokens": 301}})
    with pytest.raises(NotFoundError):
        options_restore(scope=scope_of(owner), actor=owner, change_id=foreign.pk)


def test_administrators_of_everything_change_the_site_of_another_tenant_and_no_one_else_does():
    root, abroad = make_admin(), make_admin(tenant=make_tenant())
    change_site(root, {"answer": {"max_chunks": 3}}, tenant_id=abroad.tenant_id)

    assert site_options(tenant_id=abroad.tenant_id) == {"answer": {"max_chunks": 3}}
    assert site_options(tenant_id=root.tenant_id) == {}
    with pytest.raises(NotAllowedError):
        change_site(abroad, {"answer": {"max_chunks": 3}}, tenant_id=root.tenant_id)
    with pytest.raises(NotAllowedError):
        options_shown(scope=scope_of(abroad), tenant_id=root.tenant_id)
    with pytest.raises(NotAllowedError):
        options_owner(scope=scope_of(make_user()))


# ── differences ─────────────────────────────────────────────────────────────────────────────────

STATES = st.fixed_dictionaries(
    {},
    optional={
        "chunking": st.dictionaries(st.sampled_from(["max_tokens", "overlap", "gone"]), st.integers(0, 3)),
        "answer": st.dictionaries(st.sampled_from(["mode", "tiered"]), st.sampled_from(["basic", True, False])),
        "cutting": st.dictionaries(st.just("a"), st.integers(0, 3)),
    },
)


@given(old=STATES, new=STATES)
def test_the_differences_lead_from_one_state_to_the_other(old, new):
    found = options_differences(scope=None, old=old, new=new)

    state = {(code, name): value for code, values in old.items() for name, value in values.items()}
    for one in found:
        assert one.old != one.new
        assert state.get((one.group, one.option)) == one.old
        state[one.group, one.option] = one.new
    wanted = {(code, name): value for code, values in new.items() for name, value in values.items()}
    assert {key: value for key, value in state.items() if value is not None} == wanted
