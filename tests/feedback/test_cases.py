"""Votes open cases; reviewers move them."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.errors import NotFoundError
from accounts.models import AuditEvent, User
from accounts.selectors import scope_for
from chat.models import MessageCitation
from feedback.models import BadCase, Vote
from feedback.selectors import case_counts, case_get, cases_reviewable, signals_of, vote_of, votes_of
from feedback.services import CASE_REOPENED, case_move, is_reviewing, signal_record, vote_record
from feedback.triage import reviewers_of
from knowledge.services.readers import document_readers_set
from notifications.models import Notification
from tests.api.world import document_make, message_make, set_make
from tests.factories import make_set, make_tenant, make_user


def case_of(user: User, **values: Any) -> BadCase:
    message = message_make(user, **values)
    vote_record(scope=scope_for(user), user=user, message_id=message.pk, vote="down")
    return BadCase.objects.get(message=message)


def cite(case: BadCase, document: Any) -> None:
    version = document.live_version
    MessageCitation.objects.create(
        message=case.message, number=1, document=document, version=version, chunk=version.chunks.get()
    )


def reviewable_by(user: User) -> list[BadCase]:
    return list(cases_reviewable(scope=scope_for(user)))


def test_a_closed_case_is_opened_again_by_a_new_complaint_and_its_reviewer_is_told(world):
    case = case_of(world.bob)
    case_move(actor=world.root, case=case, state="closed", note="Fixed.")

    vote_record(scope=scope_for(world.bob), user=world.bob, message_id=case.message_id, vote="down", comment="No.")

    case.refresh_from_db()
    assert (case.state, case.closed, case.note, case.assignee) == ("open", None, "Fixed.", world.root)
    assert case.reopened is not None
    assert AuditEvent.objects.get(action="case.reopen").target == f"#{case.pk}"
    told = Notification.objects.get()
    assert (told.recipient, told.kind, told.link) == (
        world.root,
        CASE_REOPENED,
        f"/admin/feedback/badcase/{case.pk}/change/",
    )


@pytest.mark.parametrize("votes", [["down"], ["down", "down"], ["up"]])
def test_a_closed_case_stays_closed_where_nothing_new_is_said(world, votes):
    case = case_of(world.bob)
    case_move(actor=world.root, case=case, state="closed")

    for vote in votes:
        vote_record(scope=scope_for(world.bob), user=world.bob, message_id=case.message_id, vote=vote)

    case.refresh_from_db()
    assert (case.state, case.reopened, Notification.objects.count()) == ("closed", None, 0)


def test_a_change_of_the_vote_keeps_reasons_and_comment(world):
    message = message_make(world.bob)

    def vote(**said: Any) -> Vote:
        return vote_record(scope=scope_for(world.bob), user=world.bob, message_id=message.pk, **said)

    vote(vote="down", reasons=["outdated"], comment="Release 17.", rating=1)
    changed = vote(vote="up")
    assert (changed.vote, changed.reasons, changed.comment, changed.rating) == ("up", ["outdated"], "Release 17.", None)
    again = vote(vote="down", comment="")
    assert (again.reasons, again.comment) == (["outdated"], "")


def test_a_case_in_work_is_not_disturbed_by_votes(world):
    case = case_of(world.bob)
    case_move(actor=world.root, case=case, state="in_work")

    for vote in ("down", "up"):
        vote_record(scope=scope_for(world.bob), user=world.bob, message_id=case.message_id, vote=vote)

    case.refresh_from_db()
    assert (case.state, case.assignee) == ("in_work", world.root)


def test_a_vote_up_opens_no_case(world):
    message = message_make(world.bob)

    vote_record(scope=scope_for(world.bob), user=world.bob, message_id=message.pk, vote="up", rating=5)

    assert not BadCase.objects.exists()
    found = vote_of(scope=scope_for(world.bob), message_id=message.pk)
    assert (found and found.rating) == 5


def test_who_takes_a_case_is_its_reviewer_until_it_is_open_again(world):
    case = case_of(world.bob)

    taken = case_move(actor=world.root, case=case, state="in_work", note="Looking.")
    assert (taken.assignee, taken.note, taken.closed) == (world.root, "Looking.", None)
    closed = case_move(actor=world.root, case=case, state="closed")
    assert (closed.assignee, closed.note) == (world.root, "Looking.")
    assert closed.closed is not None
    assert case_move(actor=world.root, case=case, state="closed").closed == closed.closed
    freed = case_move(actor=world.root, case=case, state="open")
    assert (freed.assignee, freed.closed) == (None, None)


def test_each_move_is_in_the_audit_log(world):
    case_move(actor=world.root, case=case_of(world.bob), state="in_work")

    event = AuditEvent.objects.get(action="case.move")
    assert (event.actor, event.data["before"], event.data["after"]) == (world.root, "open", "in_work")


def test_an_unknown_state_is_refused(world):
    with pytest.raises(ValueError, match="lost"):
        case_move(actor=world.root, case=case_of(world.bob), state="lost")


def test_owners_review_what_was_asked_in_or_cites_from_their_sets(world):
    mine = set_make(world.alice)
    asked, cited, other = case_of(world.bob, sets=(mine,)), case_of(world.bob), case_of(world.bob)
    cite(cited, document_make(mine))

    assert set(reviewable_by(world.alice)) == {asked, cited}
    assert reviewable_by(world.bob) == []
    with pytest.raises(NotFoundError):
        case_move(actor=world.alice, case=other, state="closed")


def test_nobody_reviews_an_answer_that_rests_on_what_they_may_not_open(world):
    mine = set_make(world.alice)
    case = case_of(world.bob, sets=(mine,))
    cite(case, document_make(mine, clearance=3))

    assert reviewable_by(world.alice) == []
    assert reviewable_by(world.root) == [case]


def test_administrators_review_their_tenant_only(world):
    case = case_of(world.bob)

    assert reviewable_by(world.eve) == []
    assert reviewable_by(world.root) == [case]


def test_staff_with_the_permission_review_their_tenant(world):
    reviewer = User.objects.create(username="rita", tenant=world.home, is_staff=True)
    case = case_of(world.bob)
    with pytest.raises(NotFoundError):
        case_move(actor=reviewer, case=case, state="in_work")

    reviewer.user_permissions.add(Permission.objects.get(codename="change_badcase"))
    reviewer = User.objects.get(pk=reviewer.pk)  # permissions are remembered by the object

    assert case_move(actor=reviewer, case=case, state="in_work").assignee == reviewer


def test_a_reviewer_sees_votes_signals_and_counts(world):
    case = case_of(world.bob)
    signal_record(scope=scope_for(world.bob), user=world.bob, message_id=case.message_id, kind="copy")
    scope = scope_for(world.root)

    found = case_get(scope=scope, case_id=case.pk)

    assert [vote.user for vote in votes_of(case=found)] == [world.bob]
    assert [signal.kind for signal in signals_of(case=found)] == ["copy"]
    assert case_counts(scope=scope) == {"open": 1, "in_work": 0, "closed": 0}


def staff_of_every_kind(home: Any) -> list[User]:
    """Administrators, reviewers and owners, with and without clearance, and staff who have nothing to do with it."""
    permission = Permission.objects.get(codename="change_badcase")
    group = Group.objects.create(name="desk")
    group.permissions.add(permission)
    made = []
    for clearance in (0, 4):
        reviewer, member, owner, other, admin = (
            make_user(is_staff=True, tenant=home.tenant, clearance=clearance) for _ in range(5)
        )
        reviewer.user_permissions.add(permission)
        member.groups.add(group)
        home.owners.add(owner)
        User.objects.filter(pk=admin.pk).update(is_superuser=True)
        made += [reviewer, member, owner, other, admin]
    return made


@pytest.mark.parametrize("names_readers", [False, True])
@pytest.mark.parametrize("is_default", [False, True])
@pytest.mark.django_db
def test_a_case_can_be_given_to_those_who_may_review_it_and_asking_for_them_costs_the_same_for_many(
    is_default, names_readers, django_assert_num_queries
):
    asker = make_user(tenant=None if is_default else make_tenant())
    home = make_set(owners=[make_user(is_staff=True, tenant=asker.tenant)])
    case = case_of(asker)
    document = document_make(home, clearance=2)
    cite(case, document)
    people = staff_of_every_kind(home)
    if names_readers:
        keeper = home.owners.order_by("pk").first()
        document_readers_set(
            scope=scope_for(keeper), actor=keeper, document_id=document.pk, users=[keeper.username], groups=[]
        )
    root = make_user(is_staff=True, tenant=asker.tenant)
    expected = {
        user.username
        for user in User.objects.filter(tenant=asker.tenant, is_staff=True)
        if cases_reviewable(scope=scope_for(user), is_reviewer=is_reviewing(user)).filter(pk=case.pk).exists()
    }

    assert {user.username for user in reviewers_of(case=case)} == expected
    assert expected < {user.username for user in [*people, root, *home.owners.all()]}

    case.message.document_sources = 2  # of which one was purged
    case.message.save()
    assert {user.pk for user in reviewers_of(case=case)} == {
        user.pk
        for user in User.objects.filter(tenant=asker.tenant, is_staff=True)
        if cases_reviewable(scope=scope_for(user), is_reviewer=is_reviewing(user)).filter(pk=case.pk).exists()
    }
    case.message.document_sources = 1

    with CaptureQueriesContext(connection) as before:
        reviewers_of(case=case)
    for _ in range(6):
        make_user(is_staff=True, tenant=asker.tenant)
    with django_assert_num_queries(len(before)):
        reviewers_of(case=case)
