"""The page of ranking from use, its switch with the gate before it, and what the lab shows of it."""

from __future__ import annotations

import pytest
from django.urls import reverse

from evaluation.errors import NotEnoughUseError
from evaluation.models import GatedChange, GoldenCase, GoldenSet
from evaluation.services.lab.export import lab_json
from evaluation.services.lab.searches import lab_run
from evaluation.services.lab.types import LabConfiguration
from evaluation.services.ranking_from_use import STANDARD_SHIFT, use_ranking_switch
from feedback import ranking_from_use
from feedback.ranking_from_use import set_use_learn
from knowledge.errors import MeasuredFirstError
from tests.admin.conftest import signed_in
from tests.factories import ingest, make_admin, make_set, make_user, scope_of
from tests.feedback.used_sources import ASKED, TEXTS, people, used

pytestmark = pytest.mark.django_db
LIST, SET_PAGE, ACT = ("admin:evaluation_use", "admin:evaluation_use_set", "admin:evaluation_use_act")


@pytest.fixture
def owner():
    return make_user("owner", is_staff=True)


@pytest.fixture
def home(owner):
    return make_set("radio", owners=[owner])


@pytest.fixture
def learnt(owner, home, monkeypatch):
    """A set of which enough was learnt."""
    monkeypatch.setattr(ranking_from_use, "ENOUGH_ANSWERS", 3)
    monkeypatch.setattr(ranking_from_use, "ENOUGH_PEOPLE", 3)
    corpus = ingest(make_admin(), home, **TEXTS)
    used(corpus, people(9))
    set_use_learn(set_id=home.pk)
    return corpus


def page_of(person, home):
    return signed_in(person).get(f"{reverse(SET_PAGE)}?set={home.pk}").content.decode()


def test_an_owner_sees_what_was_learnt_and_switches_it_on_and_off(owner, home, learnt):
    client = signed_in(owner)
    assert "Off, ready to switch on" in client.get(reverse(LIST)).content.decode()
    page = page_of(owner, home)
    assert page.index(">export<") < page.index("Lowered for similar questions") < page.index(">alarm<")
    assert "Rank 2" in page
    assert ASKED not in page

    answer = client.post(reverse(ACT), {"set": home.pk, "act": "on"}, follow=True).content.decode()

    home.refresh_from_db()
    assert home.options == {"retrieval": {"use_shift": STANDARD_SHIFT}}
    assert "Ranking from use is on." in answer
    assert "Maximum shift: 0.30" in answer
    client.post(reverse(ACT), {"set": home.pk, "act": "off"})
    home.refresh_from_db()
    assert home.options == {"retrieval": {"use_shift": 0.0}}


def test_a_set_without_enough_use_says_how_much_is_missing(owner, home):
    corpus = ingest(make_admin(), home, **TEXTS)
    used(corpus, people(2))
    assert "nobody has opened, copied or rated" in page_of(owner, home)
    set_use_learn(set_id=home.pk)

    page = page_of(owner, home)

    assert "2 (at least 30)" in page
    assert "2 (at least 5)" in page
    assert 'value="on"' not in page
    with pytest.raises(NotEnoughUseError):
        use_ranking_switch(scope=scope_of(owner), actor=owner, set_id=home.pk, is_on=True)


def test_only_who_keeps_the_set_opens_its_page(owner, home, learnt):
    stranger = make_user("stranger", is_staff=True)
    make_set("own", owners=[stranger])
    client = signed_in(stranger)

    assert client.get(f"{reverse(SET_PAGE)}?set={home.pk}").status_code == 404
    assert client.post(reverse(ACT), {"set": home.pk, "act": "on"}).status_code == 404
    assert client.get(reverse(SET_PAGE)).status_code == 404
    assert client.get(reverse(ACT)).status_code == 405
    assert client.post(reverse(ACT), {"set": home.pk, "act": "burn"}).status_code == 404
    assert "radio" not in client.get(reverse(LIST)).content.decode()


def test_passages_of_documents_that_the_owner_may_not_open_are_counted_only(home, learnt):
    low = make_user("low", is_staff=True, clearance=0)
    home.owners.add(low)
    home.visibility = "members"
    home.save()
    learnt["export"].clearance = 3
    learnt["export"].save()

    page = page_of(low, home)

    assert ">export<" not in page
    assert "1 passage of a document that you may not open is left out." in page


def test_switching_it_on_is_measured_where_golden_sets_guard_the_set(owner, home, learnt):
    golden = GoldenSet.objects.create(tenant=home.tenant, name="guard", guards=True)
    golden.sets.add(home)
    GoldenCase.objects.create(golden_set=golden, question=ASKED, relevant=["export"])

    with pytest.raises(MeasuredFirstError):
        use_ranking_switch(scope=scope_of(owner), actor=owner, set_id=home.pk, is_on=True)

    home.refresh_from_db()
    assert home.options == {}
    change = GatedChange.objects.get(knowledge_set=home)
    assert change.payload["options"] == {"retrieval": {"use_shift": STANDARD_SHIFT}}
    use_ranking_switch(scope=scope_of(owner), actor=owner, set_id=home.pk, is_on=False)  # off at once


def test_the_lab_shows_for_each_row_what_use_changed(owner, home, learnt):
    on = LabConfiguration(options={"use_shift": 0.5})

    result = lab_run(
        scope=scope_of(owner),
        viewer=owner,
        question=ASKED,
        sets=[home.pk],
        configurations=[LabConfiguration(), on],
    )

    before, after = ({row.passage.external_id: row for row in run.found} for run in result.runs)
    assert all(not row.use for row in before.values())
    assert (after["export"].use["place"], after["export"].use["now"], after["export"].use["opened"]) == (2, 1, 9)
    assert after["alarm"].use["shift"] < 0 < after["export"].use["shift"]
    assert not after["cake"].use
    assert "use" in after["cake"].rankings  # everybody has a score there
    assert result.moves[after["export"].chunk].kind == "up"
    assert lab_json(result)["runs"][1]["found"][0]["use"]["now"] == 1
    asked = {"q": ASKED, "set": home.pk}
    assert signed_in(owner).get(reverse("admin:evaluation_lab"), asked).status_code == 200


def test_the_page_of_the_lab_tells_it_in_words(owner, home, learnt):
    home.options = {"retrieval": {"use_shift": 0.5}}
    home.save()

    page = signed_in(owner).get(reverse("admin:evaluation_lab"), {"q": ASKED, "set": home.pk}).content.decode()

    assert "rank 2 → 1" in page
    assert "9 of 9 times opened" in page
