"""Which packaged model a site begins with, and that it keeps it when a release has another one (decision 049)."""

from __future__ import annotations

import pytest

from accounts.models import Tenant
from knowledge import model_registry, packaged_models
from knowledge.indexes.embedder_fill import is_complete
from knowledge.model_errors import SearchModelInvalidError
from knowledge.model_setup import setup_forget, setup_now, setup_refresh
from knowledge.models import EmbedderSwitch, SearchModel, WholeVector
from knowledge.packaged_models import ENGLISH, MULTILINGUAL
from knowledge.selectors.set_embedders import set_targets
from knowledge.services import retrieve
from knowledge.services.embedder_switch import switch_back, switch_finish, switch_start
from knowledge.services.packaged_embedders import packaged_embedders_register
from knowledge.services.search_models import search_model_save
from knowledge.types import RetrievalRequest
from ragcore.embedding import e5_weights
from tests.factories import ingest, make_admin, make_set, scope_of
from tests.knowledge.fills import vectors_tend
from tests.migrating import long_released, migrations_apply, migrations_unapply

pytestmark = pytest.mark.django_db(transaction=True)
State = EmbedderSwitch.State
NOTED = ("knowledge", "0065", "0076")
MINILM, E5 = "embedded-minilm-ngrams-1", "embedded-e5-ngrams-1"


@pytest.fixture(autouse=True)
def new_process(settings):
    settings.EMBEDDER = ""
    restart()
    yield
    restart()


def restart():
    """As a new process."""
    setup_forget()
    packaged_models._fault.cache_clear()


@pytest.fixture
def no_package(monkeypatch, settings, tmp_path):
    """A machine that cannot have the model of both languages."""
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(e5_weights, "PACKAGE", "no_such_package")
    yield monkeypatch
    model_registry.embedder_of.cache_clear()


@pytest.fixture
def who():
    user = make_admin()
    Tenant.objects.filter(pk=user.tenant_id).update(is_default=True)
    return {"scope": scope_of(user), "actor": user}


@pytest.fixture
def older_site(who, settings):
    """A site of an earlier release, which answers with MiniLM and says so nowhere."""
    settings.EMBEDDER = ENGLISH
    user = who["actor"]
    made = make_set("masts", owners=[user], tenant=user.tenant)
    ingest(user, made, tilt="The tilt of an antenna is set by a motor.", lunch="食堂中午十一点半开门。")
    settings.EMBEDDER = ""
    yield migrations_unapply(*NOTED)
    migrations_apply(*NOTED)


def begun():
    """The model in use after a start."""
    packaged_embedders_register()
    restart()
    setup_refresh(now=True)
    return model_registry.live_model()


def best(who, question):
    state = retrieve(scope=who["scope"], request=RetrievalRequest(query=question, mode="vector")).state
    return [one.passage.text for one in state.candidates if one.passage is not None][0]


def test_a_new_site_begins_with_the_model_of_both_languages_and_is_offered_the_english_one():
    assert begun() == E5
    assert setup_now().embedder.client == MULTILINGUAL
    assert not setup_now().embedder.is_locked
    assert {row.name: row.vectors for row in SearchModel.objects.all()} == {MULTILINGUAL: E5, ENGLISH: MINILM}
    live = EmbedderSwitch.objects.get()
    assert (live.state, live.model, live.target.name) == (State.LIVE, E5, MULTILINGUAL)


def test_later_starts_change_nothing():
    begun()
    version, rows = setup_now().version, list(SearchModel.objects.values())

    assert begun() == E5

    assert (setup_now().version, list(SearchModel.objects.values())) == (version, rows)
    assert EmbedderSwitch.objects.count() == 1


@pytest.mark.usefixtures("no_package")
def test_a_machine_that_cannot_have_it_begins_with_the_english_one():
    assert begun() == MINILM
    assert [row.name for row in SearchModel.objects.all()] == [ENGLISH]


def test_a_site_that_began_with_the_english_model_keeps_it_when_the_other_one_can_be_had(no_package):
    begun()
    no_package.undo()

    assert begun() == MINILM
    assert {row.name for row in SearchModel.objects.all()} == {MULTILINGUAL, ENGLISH}


def test_the_environment_names_the_model_to_begin_with(settings):
    settings.EMBEDDER = ENGLISH
    assert begun() == MINILM

    settings.EMBEDDER = ""
    assert begun() == MINILM


@pytest.mark.parametrize("client", [MULTILINGUAL, "openai:bge-m3"])
def test_nothing_is_registered_while_the_environment_decides(settings, client):
    settings.EMBEDDER, settings.EMBEDDING_BASE_URL = client, "http://models.example.com"

    packaged_embedders_register()

    assert not SearchModel.objects.exists()
    assert not EmbedderSwitch.objects.exists()


@long_released
def test_an_older_site_keeps_its_model_goes_to_the_new_one_and_back(older_site, who):
    vectors = set(WholeVector.objects.values_list("entry_id", "embedding_model"))
    migrations_apply(*NOTED)
    restart()
    setup_refresh(now=True)

    assert model_registry.live_model() == MINILM  # the registry says so before anything else is started
    assert begun() == MINILM
    assert vectors_tend() == 0
    assert set(WholeVector.objects.values_list("entry_id", "embedding_model")) == vectors
    assert best(who, "the motor of an antenna").startswith("The tilt")

    target = SearchModel.objects.get(name=MULTILINGUAL)
    assert target in set_targets(scope=who["scope"])
    row = switch_start(**who, target=target)
    vectors_tend()
    assert model_registry.live_model() == MINILM
    switch_finish(**who, switch_id=row.pk)
    assert model_registry.live_model() == E5
    assert best(who, "When does the canteen open at noon?").startswith("食堂")
    assert begun() == E5  # a later start leaves it

    switch_back(**who)
    assert model_registry.live_model() == MINILM
    assert is_complete(model=MINILM)
    assert best(who, "the motor of an antenna").startswith("The tilt")


@long_released
def test_a_former_model_that_no_row_named_is_still_the_way_back(older_site, who):
    server = SearchModel.objects.create(task="embed", provider="server", name="bge-m3", vectors="openai:bge-m3")
    former = older_site.get_model("knowledge", "EmbedderSwitch").objects
    former.create(state=State.LIVE, target_id=server.pk, model=server.vectors)
    former.create(state=State.KEPT, model=MINILM)
    packaged = SearchModel.objects.create(task="embed", provider="packaged", vectors=MINILM)

    migrations_apply(*NOTED)

    packaged.refresh_from_db()
    assert packaged.name == ENGLISH
    assert EmbedderSwitch.objects.get(state=State.KEPT).target == packaged
    assert EmbedderSwitch.objects.get(state=State.LIVE).target == server
    restart()
    switch_back(**who)
    assert model_registry.live_model() == MINILM


@long_released
@pytest.mark.usefixtures("older_site")
def test_what_the_environment_names_is_used_and_gets_its_vectors(settings):
    migrations_apply(*NOTED)
    settings.EMBEDDER = MULTILINGUAL

    assert begun() == E5
    assert vectors_tend() == 2
    assert is_complete(model=E5)


@long_released
def test_a_database_without_vectors_is_a_new_site(who):
    migrations_unapply(*NOTED)
    migrations_apply(*NOTED)

    assert not SearchModel.objects.exists()
    assert begun() == E5


def test_a_built_in_model_is_registered_by_its_name_or_as_the_first_one(who):
    made = search_model_save(**who, model=SearchModel(), values={"provider": "packaged"})
    other = search_model_save(**who, model=SearchModel(), values={"provider": "packaged", "name": ENGLISH})

    assert (made.name, made.vectors, other.vectors) == (MULTILINGUAL, E5, MINILM)
    assert str(made) == "built-in: Chinese and English (multilingual-e5-small)"
    with pytest.raises(SearchModelInvalidError, match="embedded_e5, embedded"):
        search_model_save(**who, model=SearchModel(), values={"provider": "packaged", "name": "word2vec"})
