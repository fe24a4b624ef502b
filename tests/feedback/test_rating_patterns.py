"""What goes with votes: correlations, shortcomings, kinds of questions."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from chat.turns.turn_figures import turn_figures_store
from feedback.features import answer_cosine, answer_features
from feedback.models import Vote
from feedback.rating_patterns import rating_patterns
from feedback.services import judged_answer_measure
from knowledge.model_registry import tokenizer
from tests.admin.conftest import signed_in
from tests.api.world import message_make
from tests.factories import make_admin, make_set, make_user

pytestmark = pytest.mark.django_db


def judged(user, answer, vote, *, rating=None, **values):
    message = message_make(user, question="How is it done?", answer=answer, state="done", status="answered", **values)
    turn_figures_store(message_id=message.pk)
    return Vote.objects.create(message=message, user=user, vote=vote, rating=rating, features=answer_features(message))


@pytest.fixture
def user(db):
    return make_user("asker")


def test_what_the_text_is_like_is_kept_without_its_words(user):
    answer = "## Steps\n\n1. Open SNR-4, for example [1].\n2. 等待 3 秒 [2] [1].\n"
    found = judged(user, answer, "up").features

    assert (found["citations"], found["numbers"], found["examples"], found["structure"]) == (2, 4, 1, 1)
    assert found["words"] == len(tokenizer().words("## Steps\n\n1. Open SNR-4, for example .\n2. 等待 3 秒  .\n"))
    assert "Open" not in str(found)


def test_short_answers_go_with_poor_votes(user):
    for number in range(15):
        judged(user, f"Yes, {number}.", "down")
        judged(user, f"{'It is done in steps. ' * 20} {number} [1]", "up", rating=4)

    found = rating_patterns(Vote.objects.all())

    length = next(one for one in found.correlations if one.feature == "words")
    assert length.value > 0.9
    assert length.is_clear
    assert length.low < length.value < length.high
    first = found.shortcomings[0]
    assert (first.poor, first.share_poor, first.share_others) == (15, 1.0, 0.0)
    assert {one.name for one in found.shortcomings} >= {"short", "uncited"}
    assert [(one.name, one.judgements, one.mean) for one in found.types] == [("process", 30, 2.5)]


def test_comments_of_poor_answers_name_shortcomings(user):
    long = f"{'It is done in steps, for example so. ' * 20} [1]"
    for comment in ("缺少例子", "缺少例子，不好", "没有示例", "no examples at all", "请举个例子"):
        vote = judged(user, long, "down", rating=1)
        Vote.objects.filter(pk=vote.pk).update(comment=comment)
    vote = judged(user, long, "down", rating=2)
    Vote.objects.filter(pk=vote.pk).update(comment="数据不对")
    vote = judged(user, long, "up", rating=5)
    Vote.objects.filter(pk=vote.pk).update(comment="缺少例子")  # of a good answer: no shortcoming

    found = rating_patterns(Vote.objects.all())

    by_name = {one.name: one for one in found.shortcomings}
    assert (by_name["without_examples"].poor, by_name["without_examples"].share_others) == (5, 0.0)
    assert by_name["inaccurate"].poor == 1


def test_scores_are_counted_and_shown_by_day(user):
    for vote, rating in (("up", None), ("up", 4), ("down", 2), ("down", None), ("down", 1)):
        judged(user, "Yes.", vote, rating=rating)
    first = Vote.objects.order_by("pk").first()
    Vote.objects.filter(pk=first.pk).update(created=timezone.now() - timedelta(days=2))

    found = rating_patterns(Vote.objects.all())

    assert found.distribution == (2, 1, 0, 1, 1)  # a vote without a rating counts as 5 or 1
    assert [(one.judgements, one.mean) for one in found.series] == [(1, 5.0), (4, 2.0)]
    assert found.series[0].day == timezone.localdate() - timedelta(days=2)


def test_aspects_asked_and_answered_are_kept_and_the_cosine_follows(user):
    vote = judged(user, "The fan of the cabinet is cleaned in steps.", "up")
    message = vote.message
    message.question = "How is the fan of the cabinet replaced?"
    message.save()

    features = answer_features(message)
    judged_answer_measure(message_id=message.pk)
    vote.refresh_from_db()

    assert (features["aspects_asked"], features["aspects_answered"]) == (3, 2)
    assert vote.features["cosine"] == answer_cosine(message)
    assert 0 < vote.features["cosine"] <= 1
    assert vote.features["words"] > 0  # the other figures stay


def test_of_few_judgements_nothing_is_said(user):
    judged(user, "Yes.", "down")

    found = rating_patterns(Vote.objects.all())

    assert (found.judgements, found.correlations, found.shortcomings) == (1, (), ())
    assert rating_patterns(Vote.objects.none()).types == ()


def test_judgements_of_earlier_versions_have_fewer_figures(user):
    for number in range(40):
        vote = judged(user, f"Yes, {number}.", "down" if number % 2 else "up")
        kept = {name: vote.features[name] for name in ("query_type", "confidence", "support", "seconds", "length")}
        Vote.objects.filter(pk=vote.pk).update(features={**kept, "confidence": number / 40})

    found = rating_patterns(Vote.objects.all())

    names = {one.feature for one in found.correlations}
    assert "confidence" in names
    assert "words" not in names


def test_the_page_shows_them_to_who_may_count_these_questions(user):
    owner = make_user("owner", is_staff=True)
    own = make_set("own", owners=[owner])
    for number in range(12):
        judged(user, f"Yes, {number}.", "down", request={"sets": [own.pk]})
        judged(user, f"{'It is done in steps. ' * 20} {number} [1]", "up", request={"sets": [own.pk]})
    stranger = make_user("stranger", is_staff=True)
    make_set("other", owners=[stranger])
    address = reverse("admin:evaluation_usage")

    page = signed_in(owner).get(address).content.decode()
    assert "shorter than 50 words" in page
    assert "Correlation with the score" in page
    assert "24 judgements" in page
    assert "Judgements by score" in page
    assert "Mean score a day" in page
    assert "0 judgements" in signed_in(stranger).get(address).content.decode()
    rows = signed_in(make_admin("root")).get(f"{address}csv/?of=figures").content.decode()
    assert "correlation_with_score,words," in rows
    assert "share_of_poor_answers,short,1.0" in rows
    assert "judgements_with_score,1,12" in rows
    assert "mean_score_of_day," in rows
