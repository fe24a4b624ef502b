"""Fitting the reranker for a tenant: started, judged, refused, taken up again, switched on, seen and used."""

from __future__ import annotations

from typing import ClassVar

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.errors import NotAllowedError, NotFoundError
from accounts.models import AuditEvent, User
from accounts.selectors import scope_for
from chat.answering.answer_config import resolve_answer_config
from chat.types import AnswerRequest
from evaluation.errors import RerankerFitError
from evaluation.jobs import fit_reranker
from evaluation.models import GatedChange, GoldenSet
from evaluation.services import reranker_lists, trainings, useful_sources
from evaluation.services.gates import change_publish
from evaluation.services.golden import golden_import
from evaluation.services.golden_files import GoldenRow
from evaluation.services.reranker_fitting import fit_cancel, fit_start
from feedback.models import Vote
from knowledge.errors import MeasuredFirstError
from knowledge.model_errors import RerankerFitSwitchError
from knowledge.model_setup import setup_forget, setup_refresh
from knowledge.models import Document, KnowledgeSet, RerankerFit
from knowledge.services import retrieve
from knowledge.types import RetrievalRequest
from ragcore.errors import WeightsRefusedError
from ragcore.reranking.linear import FEATURES
from ragcore.training.reranker_fitting import STRENGTHS
from tests.admin.conftest import signed_in
from tests.evaluation import topics
from tests.evaluation.runs import run_work_off
from tests.evaluation.trained import died, ended, job_of
from tests.factories import ingest, make_admin, make_set, make_tenant, make_user
from tests.feedback.used_sources import answer
from tests.work.contract import KindContract
from work.runner import slice_run
from work.versions import version_activate, version_roll_back

WORDS = topics.WORDS[:24]
BACKWARDS = [-8.0] * len(FEATURES) + [0.0] * len(FEATURES)


def pages_make() -> tuple[User, KnowledgeSet]:
    """For every topic a page that repeats the question, and one line that answers it: by words the page is nearer."""
    admin = make_admin("admin")
    home = make_set("radio", owners=[admin])
    asked = {f"asked-{word}": f"{question(word)} Many people ask: {question(word)} {question(word)}" for word in WORDS}
    told = {f"told-{word}": f"The {word} is in the care of the night shift." for word in WORDS}
    ingest(admin, home, **asked, **told)
    return admin, home


pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=pages_make)]


@pytest.fixture(autouse=True)
def _forgotten():
    setup_forget()
    yield
    setup_forget()


@pytest.fixture
def admin(request, db):
    return request.getfixturevalue("kept_rows")[0] if "radio" in request.fixturenames else make_admin("admin")


@pytest.fixture
def radio(kept_rows) -> KnowledgeSet:
    return kept_rows[1]


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
    return ended(start(admin, *golden_sets))


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

    assert row.state == "ready", (job_of(row).error_data, row.figures)
    figure = row.figures["overall"]["ndcg@10"]
    assert figure["after"] > figure["before"] + 0.1
    assert figure["low"] > 0
    assert (row.figures["lists"], job_of(row).done, job_of(row).total) == (len(WORDS), len(WORDS), len(WORDS))
    assert row.curve[0]["ndcg"] == pytest.approx(figure["before"], abs=1e-3)
    before = searched(admin)
    assert before[0][0] == "asked-antenna"
    assert before[1] == "linear"

    version_activate(**who, kind="reranker_fit", version_id=row.pk)
    setup_refresh(now=True)

    found, name = searched(admin)
    assert (found[0], name) == ("told-antenna", "linear, fitted 1")
    assert searched(admin, reranker_weights=0) == before

    version_roll_back(**who, kind="reranker_fit", subject={"tenant_id": admin.tenant_id})
    setup_refresh(now=True)

    assert searched(admin) == before
    assert searched(admin, reranker_weights=1)[0][0] == "told-antenna"  # a former version, for comparing
    acts = AuditEvent.objects.filter(action__startswith="reranker_fit.").order_by("pk")
    assert list(acts.values_list("action", flat=True)) == [
        "reranker_fit.train",
        "reranker_fit.switch_on",
        "reranker_fit.switch_off",
    ]


@pytest.mark.full
def test_where_the_packaged_weights_are_right_nothing_is_changed_and_the_page_says_so(admin):
    home = make_set("plain", owners=[admin])
    ingest(admin, home, **{word: f"The {word} stands in hall {word}." for word in WORDS})
    rows = [GoldenRow(question=f"The {word} stands in which hall?", relevant=(word,)) for word in WORDS]

    row = fitted(admin, golden_of(admin, home, rows))

    assert (row.state, row.weights) == ("dropped", None)
    assert row.reason == "no_gain"
    assert row.figures["overall"]["ndcg@10"]["difference"] == 0
    page = signed_in(admin).get(reverse("admin:evaluation_reranker")).content.decode()
    assert "Nothing was changed" in page
    assert "Switch on" not in page
    with pytest.raises(RerankerFitSwitchError, match="nothing that can be"):
        version_activate(kind="reranker_fit", scope=scope_for(admin), actor=admin, version_id=row.pk)


@pytest.mark.full
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

    assert row.state == "ready", (job_of(row).error_data, row.figures)
    assert row.figures["lists"] == len(WORDS)
    assert row.figures["overall"]["ndcg@10"]["low"] > 0
    assert AuditEvent.objects.get(action="reranker_fit.train").data["use"] is True
    monkeypatch.setattr(useful_sources, "MOST_OF_PERSON", 2)
    assert learnt_from_use(admin).figures["lists"] == 2 * len(people) * 2  # of votes and of openings
    other = make_admin("other", tenant=make_tenant("other"))
    make_set("theirs", owners=[other], tenant=other.tenant)
    assert job_of(learnt_from_use(other)).error_data == {"reason": "few", "found": 0, "least": 20}
    radio.delete()
    monkeypatch.undo()
    assert learnt_from_use(admin).figures.get("lists", 0) == 0


def test_a_question_of_a_golden_case_is_not_taught_by_use_as_well(admin, radio, golden):
    asked = Document.objects.get(external_id="asked-antenna")
    answer(make_user("reader", tenant=admin.tenant), asked, question=question("antenna"), opened=[1])

    row = fit_start(scope=scope_for(admin), actor=admin, golden_sets=[golden.pk], learns_from_use=True)

    assert ended(row).figures["lists"] == len(WORDS)


def learnt_from_use(person) -> RerankerFit:
    return ended(fit_start(scope=scope_for(person), actor=person, golden_sets=[], learns_from_use=True))


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

    told = {name: (row.reason, job_of(row).error_data["reason"]) for name, row in rows.items()}
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

    ended(row)

    assert (row.reason, job_of(row).error_code) == ("failed", "not_allowed")


@pytest.mark.full
class TestFitReranker(KindContract):
    numbers: ClassVar[list] = []

    @pytest.fixture(autouse=True)
    def _lists(self, admin, radio, golden, monkeypatch):
        self.admin, self.golden = admin, golden
        monkeypatch.setattr(trainings, "STORED_SECONDS", 0.0)

    def start(self):
        return job_of(start(self.admin, self.golden))

    def outcome(self, job):
        row = RerankerFit.objects.get(pk=job.arguments["version_id"])
        return row.weights, row.curve, row.best_round

    def whole(self):
        if not self.numbers:  # the pages are the same rows in each test
            row = fitted(self.admin, self.golden)
            assert row.weights is not None
            self.numbers.append(self.outcome(job_of(row)))
        return self.numbers[0]


@pytest.fixture
def whole(admin, radio, golden) -> RerankerFit:
    """A fit that nobody has interrupted."""
    return fitted(admin, golden)


def ends_like(row, whole) -> None:
    ended(row)
    assert (row.state, row.checkpoint) == ("ready", None)
    same = ("weights", "curve", "best_round", "figures", "features")
    assert {name: getattr(row, name) for name in same} == {name: getattr(whole, name) for name in same}
    assert (job_of(row).done, job_of(row).total) == (len(WORDS), len(WORDS))


def after(steps):
    """So many questions and fits are done and stored."""
    return lambda data: data.get("questions", 0) + data.get("fits", 0) == steps


LONG = [pytest.param(steps, marks=pytest.mark.full) for steps in (1, 9, len(WORDS), len(WORDS) + 13)]


@pytest.mark.parametrize("steps", [len(WORDS) + 1, *LONG])
def test_a_fit_that_is_killed_goes_on_and_ends_with_the_same_weights(admin, golden, whole, steps, monkeypatch):
    """In the middle of the questions, between questions and fits, and in the middle of the fits."""
    monkeypatch.setattr(trainings, "STORED_SECONDS", 0.0)
    row = start(admin, golden)
    job = died(row, monkeypatch, after(steps))
    assert (row.state, job.done) == ("building", min(steps, len(WORDS)))
    golden.cases.all().delete()  # it goes on with the questions of its beginning
    searches = []
    real = fit_reranker.FitWork._list
    monkeypatch.setattr(
        fit_reranker.FitWork, "_list", lambda self, question: searches.append(question) or real(self, question)
    )

    ends_like(row, whole)

    assert len(searches) == max(len(WORDS) - steps, 0)  # no question is searched twice


@pytest.mark.full
def test_others_come_between_two_checkpoints_of_a_fit_and_the_weights_are_the_same(admin, golden, whole, monkeypatch):
    monkeypatch.setattr(trainings, "STORED_SECONDS", 0.0)
    monkeypatch.setattr(fit_reranker.FitReranker, "slice_seconds", 0.0)
    row = start(admin, golden)

    slices = 0
    while slice_run(job_id=job_of(row).pk):
        slices += 1
        if slices == 3:
            page = signed_in(admin).get(reverse("admin:evaluation_reranker")).content.decode()

    assert f"2 of {len(WORDS)} questions searched" in page
    ends_like(row, whole)
    assert slices > len(WORDS)


def test_a_fit_is_cancelled_between_slices_and_nothing_of_it_is_kept(admin, golden, radio, monkeypatch):
    monkeypatch.setattr(fit_reranker.FitReranker, "slice_seconds", 0.0)
    row = start(admin, golden)
    slice_run(job_id=job_of(row).pk)
    assert RerankerFit.objects.get(pk=row.pk).checkpoint is not None

    fit_cancel(scope=scope_for(admin), actor=admin, fit_id=row.pk)

    assert not slice_run(job_id=job_of(row).pk)
    row.refresh_from_db()
    assert (row.reason, row.checkpoint, row.weights) == ("cancelled", None, None)


def test_the_page_says_how_many_fits_are_done(admin, golden, radio, monkeypatch):
    monkeypatch.setattr(trainings, "STORED_SECONDS", 0.0)
    row = start(admin, golden)
    died(row, monkeypatch, after(len(WORDS) + 3))

    page = signed_in(admin).get(reverse("admin:evaluation_reranker")).content.decode()

    total = fit_reranker.FOLDS * len(STRENGTHS)
    assert f"The weights are being fitted: 3 of {total} fits" in page


@pytest.mark.full
def test_a_checkpoint_of_other_features_is_begun_anew(admin, golden, whole, monkeypatch):
    monkeypatch.setattr(trainings, "STORED_SECONDS", 0.0)
    row = start(admin, golden)
    with monkeypatch.context() as patched:
        patched.setattr(reranker_lists, "STRENGTHS", (1.0,))
        died(row, patched, after(5))

    ends_like(row, whole)


def test_weights_are_switched_to_and_fro_and_never_used_for_other_features(admin, few):
    who = {"scope": scope_for(admin), "actor": admin}
    first, second = made(admin.tenant), made(admin.tenant, number=2)
    foreign = made(admin.tenant, number=3, features=("other", *FEATURES[1:]))
    config = lambda: resolve_answer_config(scope=who["scope"], request=AnswerRequest(query="?")).sha256()  # noqa: E731
    keys = [config()]
    for row in (first, second, first):  # back to an earlier fit
        version_activate(**who, kind="reranker_fit", version_id=row.pk)
        setup_refresh(now=True)
        keys.append(config())
    assert len(set(keys)) == 4  # cached answers are left behind each time
    assert searched(admin)[1] == "linear, fitted 1"
    assert list(RerankerFit.objects.filter(state="live")) == [first]
    with pytest.raises(RerankerFitSwitchError, match="already in use"):
        version_activate(**who, kind="reranker_fit", version_id=first.pk)
    with pytest.raises(WeightsRefusedError, match="Fit them again"):
        version_activate(**who, kind="reranker_fit", version_id=foreign.pk)
    RerankerFit.objects.filter(pk=first.pk).update(features=["other"])
    setup_forget()
    setup_refresh(now=True)
    assert searched(admin)[1] == "linear"
    assert searched(admin, reranker_weights=3)[1] == "linear"
    outsider = make_admin("outsider", tenant=make_tenant("outside"))
    mine = make_set("mine", owners=[outsider], tenant=outsider.tenant)
    ingest(outsider, mine, one="The antenna unit.")
    assert searched(outsider, reranker_weights=2)[1] == "linear"  # of their own tenant there is none


@pytest.mark.full
@pytest.mark.django_db(transaction=True)  # answers use the database from several threads
def test_golden_sets_that_guard_are_asked_first(admin, radio, golden):
    who = {"scope": scope_for(admin), "actor": admin}
    row = made(admin.tenant)
    GoldenSet.objects.filter(pk=golden.pk).update(guards=True)
    golden.cases.filter(pk__gt=golden.cases.order_by("pk")[1].pk).delete()
    with pytest.raises(MeasuredFirstError):
        version_activate(**who, kind="reranker_fit", version_id=row.pk)
    change = GatedChange.objects.get()
    for run in change.runs.all():
        run_work_off(run)
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
    ended(row)

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
