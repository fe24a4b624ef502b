"""Fitting the reranker for a tenant: started, judged, refused, taken up again, switched on, seen and used."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.errors import NotAllowedError, NotFoundError
from accounts.models import AuditEvent
from accounts.selectors import scope_for
from chat.answering.answer_config import resolve_answer_config
from chat.types import AnswerRequest
from evaluation.errors import RerankerFitError
from evaluation.models import GatedChange, GoldenSet
from evaluation.services import reranker_fitting, reranker_lists, trainings, useful_sources
from evaluation.services.gates import change_publish
from evaluation.services.golden import golden_import
from evaluation.services.golden_files import GoldenRow
from evaluation.services.reranker_fitting import fit_advance, fit_cancel, fit_start, fits_resume
from evaluation.services.runs import run_advance
from evaluation.services.training_publishing import fit_publish
from evaluation.tasks import fit_reranker
from feedback.models import Vote
from knowledge.errors import MeasuredFirstError
from knowledge.model_errors import RerankerFitSwitchError
from knowledge.model_setup import setup_forget, setup_refresh
from knowledge.models import Document, KnowledgeSet, RerankerFit
from knowledge.services import retrieve
from knowledge.services.reranker_fits import fit_switch_on, fits_switch_off
from knowledge.types import RetrievalRequest
from ragcore.errors import WeightsRefusedError
from ragcore.reranking.linear import FEATURES
from ragcore.training.reranker_fitting import STRENGTHS
from tests.admin.conftest import signed_in
from tests.evaluation import topics
from tests.factories import ingest, make_admin, make_set, make_tenant, make_user
from tests.feedback.used_sources import answer

pytestmark = pytest.mark.django_db

WORDS = topics.WORDS[:24]
BACKWARDS = [-8.0] * len(FEATURES) + [0.0] * len(FEATURES)


@pytest.fixture(autouse=True)
def _forgotten():
    setup_forget()
    yield
    setup_forget()


@pytest.fixture
def admin(db):
    return make_admin("admin")


@pytest.fixture
def radio(admin) -> KnowledgeSet:
    """For every topic a page that repeats the question, and one line that answers it: by words the page is nearer."""
    home = make_set("radio", owners=[admin])
    asked = {f"asked-{word}": f"{question(word)} Many people ask: {question(word)} {question(word)}" for word in WORDS}
    told = {f"told-{word}": f"The {word} is in the care of the night shift." for word in WORDS}
    ingest(admin, home, **asked, **told)
    return home


@pytest.fixture
def golden(admin, radio) -> GoldenSet:
    return golden_of(admin, radio, [GoldenRow(question=question(word), relevant=(f"told-{word}",)) for word in WORDS])


@pytest.fixture
def few(admin) -> GoldenSet:
    """One topic of these, for what needs no fit."""
    home = make_set("few", owners=[admin])
    ingest(admin, home, asked=question("antenna"), told="The antenna is in the care of the night shift.")
    return golden_of(admin, home, [GoldenRow(question=question("antenna"), relevant=("told",))], "few")


def golden_of(admin, home, rows, name="radio") -> GoldenSet:
    found = golden_import(tenant=admin.tenant, name=name, rows=rows).golden_set
    found.sets.add(home)
    GoldenSet.objects.filter(pk=found.pk).update(guards=False)
    return found


def question(word: str) -> str:
    return f"Who repairs the {word} unit?"


def start(admin, *golden_sets) -> RerankerFit:
    return fit_start(scope=scope_for(admin), actor=admin, golden_sets=[one.pk for one in golden_sets])


def fitted(admin, *golden_sets) -> RerankerFit:
    row = start(admin, *golden_sets)
    assert fit_advance(fit_id=row.pk)
    row.refresh_from_db()
    return row


def made(tenant, *, number=1, state="ready", weights=BACKWARDS, features=FEATURES) -> RerankerFit:
    return RerankerFit.objects.create(
        tenant=tenant, number=number, state=state, weights=list(weights), features=list(features)
    )


def searched(person, **options) -> tuple[list[str], str]:
    """External ids in order, and the reranker that the trace names."""
    request = RetrievalRequest(query=question("antenna"), options=options)
    state = retrieve(scope=scope_for(person), request=request).state
    (record,) = [one for one in state.records if one.stage == "rerank"]
    return [one.passage.external_id for one in state.candidates], record.note["reranker"]


def test_weights_that_order_held_out_lists_better_are_ready_and_change_a_search_when_they_are_published(
    admin, radio, golden
):
    who = {"scope": scope_for(admin), "actor": admin}
    row = fitted(admin, golden)

    assert row.state == "ready", (row.error_message, row.figures)
    figure = row.figures["overall"]["ndcg@10"]
    assert figure["after"] > figure["before"] + 0.1
    assert figure["low"] > 0
    assert (row.figures["lists"], row.round, row.rounds) == (len(WORDS), len(WORDS), len(WORDS))
    assert row.curve[0]["ndcg"] == pytest.approx(figure["before"], abs=1e-3)
    assert (row.leased_until, row.starts) == (None, 1)
    before = searched(admin)
    assert before[0][0] == "asked-antenna"
    assert before[1] == "linear"

    fit_publish(**who, fit_id=row.pk)
    setup_refresh(now=True)

    found, name = searched(admin)
    assert (found[0], name) == ("told-antenna", "linear, fitted 1")
    assert searched(admin, reranker_weights=0) == before

    fits_switch_off(**who)
    setup_refresh(now=True)

    assert searched(admin) == before
    assert searched(admin, reranker_weights=1)[0][0] == "told-antenna"  # a former version, for comparing
    acts = AuditEvent.objects.filter(action__startswith="reranker_fit.").order_by("pk")
    assert list(acts.values_list("action", flat=True)) == [
        "reranker_fit.train",
        "reranker_fit.switch_on",
        "reranker_fit.switch_off",
    ]


def test_where_the_packaged_weights_are_right_nothing_is_changed_and_the_page_says_so(admin):
    home = make_set("plain", owners=[admin])
    ingest(admin, home, **{word: f"The {word} stands in hall {word}." for word in WORDS})
    rows = [GoldenRow(question=f"The {word} stands in which hall?", relevant=(word,)) for word in WORDS]

    row = fitted(admin, golden_of(admin, home, rows))

    assert (row.state, row.weights) == ("no_gain", None)
    assert row.figures["overall"]["ndcg@10"]["difference"] == 0
    page = signed_in(admin).get(reverse("admin:evaluation_reranker")).content.decode()
    assert "Nothing was changed" in page
    assert "Switch on" not in page
    with pytest.raises(RerankerFitSwitchError, match="nothing that can be"):
        fit_publish(scope=scope_for(admin), actor=admin, fit_id=row.pk)


def test_what_people_found_helpful_teaches_where_it_is_asked_for(admin, radio, monkeypatch):
    documents = {one.external_id: one for one in Document.objects.all()}
    people = [make_user(f"reader-{at}", tenant=admin.tenant) for at in range(3)]
    for at, word in enumerate(WORDS):
        told = (people[at % 3], documents[f"asked-{word}"], documents[f"told-{word}"])
        message = answer(*told, question=question(word), opened=[2] if at % 2 else (), request={"sets": [radio.pk]})
        if at % 2 == 0:
            message.citations.filter(number=1).update(cited=False)
            Vote.objects.create(message=message, user=people[0], vote="up")

    row = learnt_from_use(admin)

    assert row.state == "ready", (row.error_data, row.figures)
    assert row.figures["lists"] == len(WORDS)
    assert row.figures["overall"]["ndcg@10"]["low"] > 0
    assert AuditEvent.objects.get(action="reranker_fit.train").data["use"] is True
    monkeypatch.setattr(useful_sources, "MOST_OF_PERSON", 2)
    assert learnt_from_use(admin).figures["lists"] == 2 * len(people) * 2  # of votes and of openings
    other = make_admin("other", tenant=make_tenant("other"))
    make_set("theirs", owners=[other], tenant=other.tenant)
    assert learnt_from_use(other).error_data == {"reason": "few", "found": 0, "least": 20}
    radio.delete()
    monkeypatch.undo()
    assert learnt_from_use(admin).figures.get("lists", 0) == 0


def test_a_question_of_a_golden_case_is_not_taught_by_use_as_well(admin, radio, golden):
    asked = Document.objects.get(external_id="asked-antenna")
    answer(make_user("reader", tenant=admin.tenant), asked, question=question("antenna"), opened=[1])

    row = fit_start(scope=scope_for(admin), actor=admin, golden_sets=[golden.pk], learns_from_use=True)
    assert fit_advance(fit_id=row.pk)

    row.refresh_from_db()
    assert row.figures["lists"] == len(WORDS)


def learnt_from_use(person) -> RerankerFit:
    row = fit_start(scope=scope_for(person), actor=person, golden_sets=[], learns_from_use=True)
    assert fit_advance(fit_id=row.pk)
    row.refresh_from_db()
    return row


def test_too_little_to_learn_from_is_said(admin):
    home = make_set("small", owners=[admin])
    documents = ingest(
        admin, home, **{f"{word}-page": f"The {word} stands in hall {word}." for word in (*WORDS, "only")}
    )
    rows = [GoldenRow(question=f"Which hall has the {word}?", relevant=(f"{word}-page",)) for word in WORDS]
    one = golden_of(admin, home, rows[:1], "one")
    alike = [GoldenRow(question=f"Where is the only thing, {word}?", relevant=("only-page",)) for word in WORDS]
    single = golden_of(admin, home, alike, "single document")
    gone = golden_of(admin, home, rows, "gone")
    rows = {name: fitted(admin, asked) for name, asked in (("one", one), ("single", single))}
    Document.objects.filter(pk__in=[documents[f"{word}-page"].pk for word in WORDS]).update(deleted=timezone.now())
    rows["gone"] = fitted(admin, gone)

    told = {name: (row.state, row.error_data["reason"]) for name, row in rows.items()}
    assert told == {"one": ("failed", "few"), "single": ("failed", "documents"), "gone": ("failed", "few")}
    assert rows["gone"].figures["dropped"] == {"no_document": len(WORDS)}
    with pytest.raises(RerankerFitError, match="at least one golden set"):
        start(admin)


def test_another_reranker_than_the_linear_one_is_not_fitted(admin, few, settings):
    settings.RERANKER = "none"
    with pytest.raises(RerankerFitError, match="Another reranker"):
        start(admin, few)


def test_only_administrators_fit_and_other_tenants_see_nothing(admin, few):
    row = start(admin, few)
    owner = make_user("owner", tenant=admin.tenant, is_staff=True)
    few.sets.get().owners.add(owner)
    with pytest.raises(NotAllowedError):
        start(owner, few)
    other = make_admin("other", tenant=make_tenant("other"))
    with pytest.raises(NotFoundError):
        fit_cancel(scope=scope_for(other), actor=other, fit_id=row.pk)
    with pytest.raises(RerankerFitError, match="at least one golden set"):
        start(other, few)
    with pytest.raises(RerankerFitError, match="already being fitted"):
        start(admin, few)
    type(admin).objects.filter(pk=admin.pk).update(is_superuser=False, is_staff=False)

    fit_advance(fit_id=row.pk)

    row.refresh_from_db()
    assert (row.state, row.error_code) == ("failed", "not_allowed")


def test_a_killed_fit_is_taken_up_again_and_ends_or_fails_after_many_times(admin, radio, golden, monkeypatch):
    def kill(self, question, sets, wanted):
        raise KilledError

    row = start(admin, golden)
    with monkeypatch.context() as patched:
        patched.setattr("evaluation.services.reranker_fitting._Work._list", kill)
        with pytest.raises(KilledError):
            fit_advance(fit_id=row.pk)
    assert not fit_advance(fit_id=row.pk)  # its lease holds
    assert fits_resume() == 0
    mine = RerankerFit.objects.filter(pk=row.pk)
    mine.update(leased_until=timezone.now() - timedelta(seconds=1))
    assert fits_resume() == 1
    mine.update(starts=trainings.MOST_STARTS)

    assert fit_advance(fit_id=row.pk)

    row.refresh_from_db()
    assert (row.state, row.error_data["reason"]) == ("failed", "lost")
    again = fitted(admin, golden)
    assert (again.state, again.number) == ("ready", 2)


class KilledError(BaseException):
    """The process is gone."""


@pytest.fixture
def whole(admin, radio, golden) -> RerankerFit:
    """A fit that nobody has interrupted."""
    return fitted(admin, golden)


def ends_like(row, whole) -> None:
    row.refresh_from_db()
    assert (row.state, row.checkpoint, row.leased_until) == ("ready", None, None)
    same = ("weights", "curve", "best_round", "figures", "round", "rounds", "features")
    assert {name: getattr(row, name) for name in same} == {name: getattr(whole, name) for name in same}


LONG = [pytest.param(steps, marks=pytest.mark.full) for steps in (1, len(WORDS), len(WORDS) + 13)]


@pytest.mark.parametrize("steps", [9, len(WORDS) + 1, *LONG])
def test_a_fit_that_is_killed_goes_on_and_ends_with_the_same_weights(admin, golden, whole, steps, monkeypatch):
    """In the middle of the questions, between questions and fits, and in the middle of the fits."""

    def kill(done):
        if done == steps:
            raise KilledError

    row = start(admin, golden)
    with pytest.raises(KilledError):
        fit_advance(fit_id=row.pk, on_step=kill)
    row.refresh_from_db()
    assert (row.state, row.round) == ("training", min(steps, len(WORDS)))
    golden.cases.all().delete()  # it goes on with the questions of its beginning
    RerankerFit.objects.filter(pk=row.pk).update(leased_until=timezone.now() - timedelta(seconds=1))
    assert fits_resume() == 1
    searches = []
    real = reranker_fitting._Work._list
    monkeypatch.setattr(
        reranker_fitting._Work, "_list", lambda self, *asked: searches.append(asked) or real(self, *asked)
    )

    assert fit_advance(fit_id=row.pk)

    assert len(searches) == max(len(WORDS) - steps, 0)  # no question is searched twice
    ends_like(row, whole)
    assert row.starts == 2


@pytest.mark.full
def test_a_fit_ends_at_a_checkpoint_for_what_else_waits_and_goes_on_with_the_same_weights(
    admin, golden, whole, monkeypatch
):
    calls = []
    monkeypatch.setattr(trainings, "enqueue_on_commit", lambda task, *, queue, **ids: calls.append((task, ids)))
    monkeypatch.setattr(trainings, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(trainings, "STORED_SECONDS", 0.0)
    monkeypatch.setattr(trainings, "MOST_STARTS", 1)
    row = start(admin, golden)

    fit_reranker(**calls[0][1])
    row.refresh_from_db()
    between = (row.state, row.leased_until, row.starts, row.slices, row.round)
    page = signed_in(admin).get(reverse("admin:evaluation_reranker")).content.decode()
    assert fits_resume() == 1  # it waits for a worker
    for call in calls:  # grows with each slice
        assert call[0] == "evaluation.fit_reranker"
        fit_reranker(**call[1])

    assert between == ("training", None, 1, 1, 2)
    assert f"2 of {len(WORDS)} questions searched" in page
    ends_like(row, whole)
    assert [one["starts"] for _task, one in calls] == [0, 1, 1, *range(2, row.starts)]  # the second call began nothing
    assert row.starts == row.slices + 1 > len(WORDS) // 2


def test_a_fit_is_cancelled_between_slices_and_nothing_of_it_is_kept(admin, golden, radio, monkeypatch):
    monkeypatch.setattr(trainings, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(trainings, "STORED_SECONDS", 0.0)
    row = start(admin, golden)
    fit_advance(fit_id=row.pk)
    assert RerankerFit.objects.get(pk=row.pk).checkpoint is not None

    fit_cancel(scope=scope_for(admin), actor=admin, fit_id=row.pk)

    assert not fit_advance(fit_id=row.pk)
    row.refresh_from_db()
    assert (row.state, row.checkpoint, row.weights) == ("cancelled", None, None)


def test_the_page_says_how_many_fits_are_done(admin, golden, radio):
    def kill(done):
        if done == len(WORDS) + 3:
            raise KilledError

    row = start(admin, golden)
    with pytest.raises(KilledError):
        fit_advance(fit_id=row.pk, on_step=kill)

    page = signed_in(admin).get(reverse("admin:evaluation_reranker")).content.decode()

    total = reranker_fitting.FOLDS * len(STRENGTHS)
    assert f"The weights are being fitted: 3 of {total} fits" in page


def test_a_checkpoint_of_other_features_is_begun_anew(admin, golden, whole, monkeypatch):
    def kill(done):
        if done == 5:
            raise KilledError

    row = start(admin, golden)
    with monkeypatch.context() as patched:
        patched.setattr(reranker_lists, "STRENGTHS", (1.0,))
        with pytest.raises(KilledError):
            fit_advance(fit_id=row.pk, on_step=kill)
    RerankerFit.objects.filter(pk=row.pk).update(leased_until=None)

    assert fit_advance(fit_id=row.pk)

    ends_like(row, whole)


def test_weights_are_switched_to_and_fro_and_never_used_for_other_features(admin, few):
    who = {"scope": scope_for(admin), "actor": admin}
    first, second = made(admin.tenant), made(admin.tenant, number=2)
    foreign = made(admin.tenant, number=3, features=("other", *FEATURES[1:]))
    config = lambda: resolve_answer_config(scope=who["scope"], request=AnswerRequest(query="?")).sha256()  # noqa: E731
    keys = [config()]
    for row in (first, second, first):  # back to an earlier fit
        fit_switch_on(**who, fit_id=row.pk)
        setup_refresh(now=True)
        keys.append(config())
    assert len(set(keys)) == 4  # cached answers are left behind each time
    assert searched(admin)[1] == "linear, fitted 1"
    assert list(RerankerFit.objects.filter(state="live")) == [first]
    with pytest.raises(RerankerFitSwitchError, match="already in use"):
        fit_switch_on(**who, fit_id=first.pk)
    with pytest.raises(WeightsRefusedError, match="Fit them again"):
        fit_switch_on(**who, fit_id=foreign.pk)
    RerankerFit.objects.filter(pk=first.pk).update(features=["other"])
    setup_forget()
    setup_refresh(now=True)
    assert searched(admin)[1] == "linear"
    assert searched(admin, reranker_weights=3)[1] == "linear"
    outsider = make_admin("outsider", tenant=make_tenant("outside"))
    mine = make_set("mine", owners=[outsider], tenant=outsider.tenant)
    ingest(outsider, mine, one="The antenna unit.")
    assert searched(outsider, reranker_weights=2)[1] == "linear"  # of their own tenant there is none


@pytest.mark.django_db(transaction=True)  # answers use the database from several threads
def test_golden_sets_that_guard_are_asked_first(admin, radio, golden):
    who = {"scope": scope_for(admin), "actor": admin}
    row = made(admin.tenant)
    GoldenSet.objects.filter(pk=golden.pk).update(guards=True)
    golden.cases.filter(pk__gt=golden.cases.order_by("pk")[1].pk).delete()
    with pytest.raises(MeasuredFirstError):
        fit_publish(**who, fit_id=row.pk)
    change = GatedChange.objects.get()
    for run in change.runs.all():
        while run_advance(run_id=run.pk):
            pass
    page = signed_in(admin).get(reverse("admin:evaluation_gatedchange_change", args=[change.pk])).content.decode()
    assert "Fitted reranker weights" in page
    assert "worse than" in page  # weights that turn every order round

    change_publish(**who, change=change, reason="a test")

    row.refresh_from_db()
    assert row.state == "live"
    assert AuditEvent.objects.filter(action="reranker_fit.switch_on").count() == 1


def test_the_page_starts_follows_and_switches(admin, radio, golden, settings):
    client, page = signed_in(admin), reverse("admin:evaluation_reranker")
    act, start_at = reverse("admin:evaluation_reranker_act"), reverse("admin:evaluation_reranker_start")
    shown = lambda: client.get(page).content.decode()  # noqa: E731
    assert "No training yet" in shown()
    assert f"({len(WORDS)})" in shown()  # cases that name documents
    assert client.post(start_at, {"golden_sets": [golden.pk], "use": "1"}).status_code == 302
    row = RerankerFit.objects.get()
    assert row.learns_from_use
    assert "Waiting for a worker" in shown()
    fit_advance(fit_id=row.pk)

    told = shown()
    assert "<polyline" in told
    assert "Switch on" in told
    client.post(act, {"id": row.pk, "act": "publish"})
    assert "Restore the built-in weights" in shown()
    settings.RERANKER = "none"
    assert "Fitted weights have no effect on it" in shown()
    client.post(act, {"act": "off"})
    assert "Switch on again" in shown()
    RerankerFit.objects.update(features=["other"])
    assert "fitted for other features" in shown()
    assert "Switch on again" not in shown()

    assert client.get(act).status_code == client.get(start_at).status_code == 405
    assert client.post(act, {"id": 10**9, "act": "cancel"}).status_code == 404
    assert client.post(act, {"act": "publish"}).status_code == 404
    other = signed_in(make_admin("other", tenant=make_tenant("other")))
    assert "No training yet" in other.get(page).content.decode()
    assert other.post(act, {"id": row.pk, "act": "publish"}).status_code == 404
    owner = make_user("owner", tenant=admin.tenant, is_staff=True)
    make_set("theirs", owners=[owner])
    assert {signed_in(owner).get(page).status_code, signed_in(owner).post(act, {"act": "off"}).status_code} == {403}
