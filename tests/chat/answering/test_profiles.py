"""What of a person's work takes part in the ranking."""

import pytest
from django.utils import timezone

from accounts.models import User
from chat.answering.context import profile_get
from chat.models import Conversation
from ragcore.types import Profile
from tests.factories import make_set, make_user

pytestmark = pytest.mark.django_db


def conversation(user, *sets, minutes=0):
    made = Conversation.objects.create(tenant=user.tenant, user=user)
    made.sets.set(sets)
    Conversation.objects.filter(pk=made.pk).update(updated=timezone.now() - timezone.timedelta(minutes=minutes))
    return made


def test_the_work_profile_and_the_sets_asked_last_are_told():
    user = make_user(department="RAN", product="BTS", role="tester", interests=["power"])
    old, new, newest = make_set("old"), make_set("new"), make_set("newest")
    conversation(user, old, minutes=30)
    conversation(user, new, old, minutes=20)
    conversation(user, newest, minutes=10)

    assert profile_get(user) == Profile(
        department="RAN", product="BTS", role="tester", interests=("power",), recent_sets=(newest.pk, old.pk, new.pk)
    )


def test_who_keeps_the_profile_out_or_has_none_has_none():
    user = make_user(department="RAN", use_profile=False)
    conversation(user, make_set("radio"))

    assert profile_get(user) is None
    assert profile_get(make_user()) is None


def test_only_the_last_ten_conversations_and_their_last_three_sets_count():
    user = make_user()
    sets = [make_set(f"set-{n}") for n in range(5)]
    conversation(user, make_set("long-ago"), minutes=99)
    for minutes, one in enumerate(sets):
        conversation(user, one, minutes=minutes)
    for minutes in range(5):
        conversation(user, minutes=20 + minutes)

    assert profile_get(user).recent_sets == tuple(s.pk for s in sets[:3])


def test_conversations_of_others_and_of_another_tenant_do_not_count():
    user, other = make_user(), make_user()
    conversation(other, make_set("theirs"))

    assert profile_get(user) is None


def test_who_names_the_sets_of_a_question_has_said_where_to_look():
    user = make_user(product="BTS")
    radio = make_set("radio")
    conversation(user, radio)

    assert profile_get(user, sets=[radio.pk]) == Profile(product="BTS")


def test_the_profile_is_read_with_one_query(django_assert_num_queries):
    user = User.objects.select_related("tenant").get(pk=make_user(product="BTS").pk)

    with django_assert_num_queries(1):
        profile_get(user)
