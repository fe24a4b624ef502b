"""Experiments online: who gets what, what is counted, and that they end."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.urls import reverse
from django.utils import translation

from accounts.errors import NotAllowedError, NotFoundError
from accounts.models import AuditEvent
from accounts.selectors import scope_for
from chat.answering.answer_config import resolve_answer_config
from chat.answering.experiments import arm_of, candidate_options
from chat.models import Conversation, Experiment, Message
from chat.turns.turn_figures import turn_figures_store
from chat.types import AnswerRequest
from evaluation.errors import ExperimentError
from evaluation.models import GatedChange
from evaluation.services.experiment_watch import experiments_watch
from evaluation.services.experiments import (
    experiment_outcomes,
    experiment_publish,
    experiment_roll_back,
    experiment_start,
    experiment_stop,
)
from evaluation.services.gates import change_publish
from evaluation.services.golden import golden_import
from evaluation.services.golden_files import GoldenRow
from feedback.features import answer_features
from feedback.models import Signal, Vote
from knowledge.errors import MeasuredFirstError
from knowledge.models import KnowledgeSet
from notifications.kinds import sentence_of
from notifications.models import Notification
from ragcore.errors import InvalidOptionsError
from tests.admin.conftest import signed_in
from tests.factories import make_set, make_user

pytestmark = pytest.mark.django_db
CANDIDATE = {"answer": {"style": "simple"}, "retrieval": {"top_k": 5}}


@pytest.fixture
def owner():
    return make_user("owner", is_staff=True)


@pytest.fixture
def own(owner):
    return make_set("own", owners=[owner], options={"answer": {"style": "report", "max_chunks": 7}})


def start(owner, own, *, options=None, share=50):
    return experiment_start(
        actor=owner, set_id=own.pk, name="shorter", options=CANDIDATE if options is None else options, share=share
    )


def config_of(user, *sets, **given):
    request = AnswerRequest(query="x", sets=tuple(one.pk for one in sets), **given)
    return resolve_answer_config(scope=scope_for(user), request=request)


def person_in(experiment, arm):
    return next(user for _ in range(99) if arm_of(experiment, user_id=(user := make_user()).pk) == arm)


def test_people_are_shared_out_once_and_for_all(owner, own):
    experiment = start(owner, own, share=30)
    arms = [arm_of(experiment, user_id=number) for number in range(2000)]

    assert arms == [arm_of(experiment, user_id=number) for number in range(2000)]
    assert 0.26 < arms.count("candidate") / 2000 < 0.34
    other = Experiment(salt="00000000-0000-0000-0000-000000000001", share=30)
    both = sum(arm == arm_of(other, user_id=n) == "candidate" for n, arm in enumerate(arms))
    assert both / 2000 < 0.13  # independent of another experiment


def test_the_candidate_changes_settings_and_cache_keys_of_its_people_only(owner, own):
    other = make_set("other", owners=[owner])
    before = config_of(owner, own).sha256()
    experiment = start(owner, own)
    live, candidate = (config_of(person_in(experiment, arm), own) for arm in ("live", "candidate"))

    assert (live.options.style, live.candidate_retrieval, live.sha256()) == ("report", {}, before)
    assert (candidate.options.style, candidate.options.max_chunks) == ("simple", 7)
    assert candidate.candidate_retrieval == {"top_k": 5}
    assert candidate.sha256() != before
    assert live.experiment == f"{experiment.pk}:live"
    assert candidate.experiment == f"{experiment.pk}:candidate"
    assert config_of(person_in(experiment, "candidate"), own, other).experiment == ""  # several sets at once
    measured = config_of(person_in(experiment, "candidate"), own, personal=False)
    assert (measured.experiment, measured.sha256()) == ("", before)
    experiment_stop(actor=owner, experiment_id=experiment.pk)
    assert config_of(person_in(experiment, "candidate"), own).sha256() == before


def test_a_candidate_never_gives_rights_or_raises_limits(owner, own):
    own.options = {"answer": {"own_prompts": False, "max_cost": 0.1}}
    own.save()
    refused = ({"answer": {"own_prompts": True}}, {"answer": {"max_cost": 5.0}}, {"chunking": {"size": 100}})
    for options in (*refused, {"retrieval": {"query_adapter": 0}}):  # versions pass the gate
        with pytest.raises(ExperimentError):
            start(owner, own, options=options)
    merged = candidate_options(own.options, {"answer": {"own_prompts": True, "max_cost": 9}, "readers": {"all": True}})
    assert merged == own.options

    experiment = start(owner, own)
    Experiment.objects.filter(pk=experiment.pk).update(options={"answer": {"own_prompts": True, "max_cost": 9.0}})
    config = config_of(person_in(experiment, "candidate"), own)
    assert (config.options.max_cost, config.options.own_prompts) == (0.1, False)


@pytest.mark.parametrize(
    ("options", "error"), [({}, ExperimentError), ({"answer": {"style": "report"}}, ExperimentError)]
)
def test_a_candidate_must_differ(owner, own, options, error):
    with pytest.raises(error):
        start(owner, own, options=options)


def test_settings_that_do_not_exist_are_refused(owner, own):
    with pytest.raises(InvalidOptionsError):
        start(owner, own, options={"answer": {"speed": 9}})
    with pytest.raises(ExperimentError):
        start(owner, own, share=100)


def test_one_experiment_runs_on_a_set_at_a_time(owner, own):
    first = start(owner, own)
    with pytest.raises(ExperimentError):
        start(owner, own)
    experiment_stop(actor=owner, experiment_id=first.pk)
    start(owner, own)

    assert Experiment.objects.filter(state="running").count() == 1


def test_a_published_candidate_is_rolled_back_without_losing_later_changes(owner, own):
    experiment = start(owner, own)
    experiment_publish(actor=owner, experiment_id=experiment.pk)
    own.refresh_from_db()
    assert own.options["answer"]["style"] == "simple"
    own.options["answer"]["max_chunks"] = 9
    own.save()

    experiment_roll_back(actor=owner, experiment_id=experiment.pk)
    experiment_roll_back(actor=owner, experiment_id=experiment.pk)

    assert KnowledgeSet.objects.get().options == {"answer": {"style": "report", "max_chunks": 9}}
    assert Experiment.objects.get().state == "rolled_back"
    actions = (
        AuditEvent.objects.filter(action__startswith="experiment.").order_by("pk").values_list("action", flat=True)
    )
    assert list(actions) == ["experiment.start", "experiment.publish", "experiment.roll_back"]
    with pytest.raises(ExperimentError):
        experiment_publish(actor=owner, experiment_id=experiment.pk)


def test_rolling_back_leaves_what_somebody_has_set_since(owner, own):
    experiment = start(owner, own)
    experiment_publish(actor=owner, experiment_id=experiment.pk)
    own.refresh_from_db()
    own.options["answer"]["style"] = "precise"
    own.save()

    experiment_roll_back(actor=owner, experiment_id=experiment.pk)

    assert KnowledgeSet.objects.get().options["answer"]["style"] == "precise"


def test_a_candidate_that_was_measured_is_published_as_an_experiment_and_rolled_back(owner, own):
    golden = golden_import(tenant=owner.tenant, name="own", rows=[GoldenRow(question="?", answers=("x",))]).golden_set
    golden.sets.add(own)
    experiment = start(owner, own)
    with pytest.raises(MeasuredFirstError):
        experiment_publish(actor=owner, experiment_id=experiment.pk)
    assert Experiment.objects.get().state == "running"
    GatedChange.objects.update(state="failed")

    change_publish(scope=scope_for(owner), actor=owner, change=GatedChange.objects.get(), reason="nobody knows better")

    own.refresh_from_db()
    assert (Experiment.objects.get().state, own.options["answer"]["style"]) == ("published", "simple")
    experiment_roll_back(actor=owner, experiment_id=experiment.pk)
    assert KnowledgeSet.objects.get(pk=own.pk).options == {"answer": {"style": "report", "max_chunks": 7}}


def test_others_neither_start_nor_stop_it(owner, own):
    experiment, stranger = start(owner, own), make_user("stranger", is_staff=True)
    with pytest.raises((NotAllowedError, NotFoundError)):
        start(stranger, own)
    for act in (experiment_stop, experiment_publish, experiment_roll_back):
        with pytest.raises(NotFoundError):
            act(actor=stranger, experiment_id=experiment.pk)


def asked_in(experiment, arm, *, vote="", signal="", supported=1):
    user = make_user()
    conversation = Conversation.objects.create(user=user, tenant=user.tenant)
    message = Message.objects.create(
        conversation=conversation,
        question="x",
        state="done",
        status="answered",
        sentences=[{"support": "supported" if supported else "unsupported"}],
        metadata={"experiment": f"{experiment.pk}:{arm}"},
    )
    turn_figures_store(message_id=message.pk)
    if vote:
        Vote.objects.create(message=message, user=user, vote=vote)
    if signal:
        Signal.objects.create(message=message, user=user, kind=signal)
    return message


def test_votes_signals_and_support_are_compared_by_person(owner, own):
    experiment = start(owner, own)
    for _ in range(12):
        asked_in(experiment, "live", vote="down", signal="reword", supported=0)
        message = asked_in(experiment, "candidate", vote="up", signal="copy")
    votes, calm, support, answered = (one.comparison for one in experiment_outcomes(experiment))

    assert (votes.live.mean, votes.candidate.mean, votes.difference) == (0, 1, 1)
    assert (calm.live.mean, calm.candidate.mean) == (0, 1)
    assert (support.live.mean, support.candidate.mean) == (0, 1)
    assert answered.difference == 0
    assert answered.verdict == "open"
    assert votes.verdict == "better"
    assert answer_features(message)["experiment"] == f"{experiment.pk}:candidate"


# ── the end at the bound ────────────────────────────────────────────────────────────────────────


def asked_by_many(experiment, *, live: str, candidate: str) -> None:
    """A dozen people in each arm vote."""
    for _ in range(12):
        asked_in(experiment, "live", vote=live)
        asked_in(experiment, "candidate", vote=candidate)


def test_a_candidate_that_is_worse_is_rolled_back_and_the_owners_are_told(owner, own):
    own.name_zh = "自有"
    own.save()
    starter, experiment = make_user("starter", is_staff=True), start(owner, own)
    Experiment.objects.filter(pk=experiment.pk).update(created_by=starter)
    asked_by_many(experiment, live="up", candidate="down")

    assert experiments_watch() == 1
    assert experiments_watch() == 0

    experiment.refresh_from_db()
    assert experiment.state == "rolled_back"
    assert config_of(make_user(), own).experiment == ""
    event = AuditEvent.objects.get(action="experiment.worse")
    assert (event.actor, event.tenant, event.data["outcomes"]) == (None, own.tenant, ["votes"])
    told = Notification.objects.filter(kind="experiment_worse")
    assert {one.recipient for one in told} == {owner, starter}
    said = {"data": told[0].data, "kind": told[0].kind}
    assert "on “own” was stopped: its candidate is worse (Votes “helpful”)" in sentence_of(**said)
    with translation.override("zh-hans"):
        assert "自有" in sentence_of(**said)
        assert "Votes" not in sentence_of(**said)


def test_a_candidate_that_is_better_goes_on_and_is_told_once(owner, own):
    experiment = start(owner, own)
    asked_by_many(experiment, live="down", candidate="up")

    assert [experiments_watch(), experiments_watch()] == [1, 0]

    experiment.refresh_from_db()
    assert experiment.state == "running"
    assert Notification.objects.get().kind == "experiment_better"
    assert AuditEvent.objects.filter(action="experiment.better").count() == 1


def test_worse_in_one_outcome_counts_more_than_better_in_another(owner, own):
    experiment = start(owner, own)
    for _ in range(12):
        asked_in(experiment, "live", vote="down")
        asked_in(experiment, "candidate", vote="up", supported=0)

    experiments_watch()

    experiment.refresh_from_db()
    assert experiment.state == "rolled_back"


def test_an_experiment_without_a_difference_goes_on_in_silence(owner, own):
    experiment = start(owner, own)
    asked_by_many(experiment, live="up", candidate="up")

    assert experiments_watch() == 0
    experiment.refresh_from_db()
    assert (experiment.state, Notification.objects.count()) == ("running", 0)


def test_the_page_starts_stops_and_rolls_back(owner, own):
    client = signed_in(owner)
    page = reverse("admin:evaluation_experiments")
    address = f"{reverse('admin:evaluation_experiments_start')}?set={own.pk}"
    assert "No experiment has run" in client.get(page).content.decode()
    form = client.get(address).content.decode()
    assert 'name="retrieval.top_k"' in form
    assert "own_prompts" not in form
    assert "Start experiment" in client.post(address, {"share": 50}).content.decode()  # nothing differs
    assert client.post(address, {"name": "shorter", "share": 20, "retrieval.top_k": 4}).status_code == 302
    experiment = Experiment.objects.get()
    assert (experiment.options, experiment.share) == ({"retrieval": {"top_k": 4}}, 20)

    shown = client.get(page).content.decode()
    assert "too few people yet" in shown
    assert "candidate for 20 % of people" in shown
    act = reverse("admin:evaluation_experiments_act")
    assert client.get(act).status_code == 405
    client.post(act, {"id": experiment.pk, "act": "publish"})
    assert KnowledgeSet.objects.get().options["retrieval"] == {"top_k": 4}
    client.post(act, {"id": experiment.pk, "act": "roll_back"})
    assert "retrieval" not in KnowledgeSet.objects.get().options
    assert client.post(act, {"id": experiment.pk, "act": "erase"}).status_code == 404
    assert client.post(act, {"id": 10**9, "act": "stop"}).status_code == 404


def test_pages_are_for_those_who_keep_the_set(own):
    stranger = make_user("stranger", is_staff=True)
    assert signed_in(stranger).get(reverse("admin:evaluation_experiments")).status_code == 403
    make_set("theirs", owners=[stranger])
    address = f"{reverse('admin:evaluation_experiments_start')}?set={own.pk}"
    assert signed_in(stranger).get(address).status_code == 404
    assert signed_in(stranger).get(reverse("admin:evaluation_experiments_start") + "?set=x").status_code == 404


def test_a_search_gets_the_candidate_s_settings_unless_the_client_says_otherwise(owner, own):
    from chat.answering.retrieval import build_search_request

    experiment = start(owner, own)
    user = person_in(experiment, "candidate")

    def search(**given):
        request = AnswerRequest(query="x", sets=(own.pk,), given=frozenset(given), **given)
        config = resolve_answer_config(scope=scope_for(user), request=request)
        return build_search_request(SimpleNamespace(request=request, config=config), "x")

    assert search().options == {"top_k": 5}
    assert search(top_k=3).options == {}
    assert search(top_k=3).top_k == 3
