"""Every shipped description against a server that answers as the published description of its system says."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from knowledge.connectors import Access, connector_kinds
from knowledge.connectors.items import Item, ItemRelation
from knowledge.connectors.rest import listing
from knowledge.connectors.rest.connector import DESCRIPTIONS, shipped_names
from knowledge.models import Document
from knowledge.services.sources import credentials_set
from ragcore.fetching import AddressPolicy
from tests.contracts.connector import ConnectorContract
from tests.factories import scope_of
from tests.knowledge.sources.building import counts, here, run
from tests.knowledge.sources.rest.serving import serving
from tests.knowledge.sources.rest.systems import FILE, SYSTEMS, Confluence, Jira, System

OVER_THE_DATABASE = pytest.mark.django_db(transaction=False)
WITH_COMMENTS = ("confluence", "jira_cloud", "jira", "redmine", "gitlab", "github")


@pytest.fixture(params=SYSTEMS, ids=lambda made: made.kind)
def system(request) -> System:
    return request.param()


def settings_of(system: System, address: str) -> dict[str, Any]:
    return {**system.settings, **({"sign_in_host": address} if system.kind == "sharepoint" else {})}


@pytest.fixture
def made(system, tmp_path):
    """A function that makes the connector of a system anew."""
    access = Access(
        policy=AddressPolicy.of(["127.0.0.1", "localhost"]),
        folder_allowed=Path,
        workspace=tmp_path,
        secrets=system.credentials,
    )
    with serving(system) as address:
        settings = settings_of(system, address)
        yield lambda: connector_kinds()[system.kind](location=address, settings=settings, access=access)


@pytest.fixture
def source(system, connected):
    with serving(system) as address:
        yield connected(
            system.kind,
            address,
            settings=settings_of(system, address),
            credentials=system.credentials,
            options={"delete_missing": True},
        )


def items_of(connector) -> dict[str, Item]:
    return {item.external_id: item for item in connector.changes({}) if isinstance(item, Item)}


class TestShippedDescriptions(ConnectorContract):
    """Each of them."""


def test_every_shipped_description_is_tested_and_short():
    assert sorted(system.kind for system in SYSTEMS) == shipped_names()
    for path in DESCRIPTIONS.glob("*.toml"):
        assert len(path.read_text().splitlines()) <= 60, path.name


@OVER_THE_DATABASE
def test_what_is_there_becomes_documents(system, source, owner):
    job = run(owner, source)

    assert job.report["faults"] == []
    assert job.report["refused"] == []
    assert here(source) == sorted(system.ids)


def test_texts_have_their_words_titles_and_comments(system, made):
    items = items_of(made())

    text = next(item for own_id, item in items.items() if own_id.endswith("101")).read({}).content.decode()
    assert "Narrow beams reach far." in text
    assert "Hidden." not in text
    assert ("Well said." in text) == (system.kind in WITH_COMMENTS)
    if system.kind in WITH_COMMENTS:
        assert text.index("Narrow") < text.index("2026-01-0") < text.index("Well said.")
        assert "Beams &lt;narrow&gt;" in text


def test_attached_files_belong_to_what_they_are_attached_to(system, made):
    files = {own_id: item for own_id, item in items_of(made()).items() if item.name.lower() == "plan.txt"}

    for item in files.values():
        assert item.read({}).content == FILE
    assert len(files) == (system.kind in ("confluence", "jira_cloud", "jira", "mediawiki", "dokuwiki", "redmine"))
    if system.kind in ("confluence", "jira_cloud", "jira", "redmine"):
        parent = next(own_id for own_id in system.ids if own_id.endswith("101"))
        assert [item.relations for item in files.values()] == [(ItemRelation(kind="belongs_to", external_id=parent),)]


@OVER_THE_DATABASE
def test_later_runs_take_what_has_changed_and_a_whole_list_what_is_gone(system, source, owner, monkeypatch):
    run(owner, source)
    system.change()
    system.log.clear()
    source.refresh_from_db()

    job = run(owner, source)

    assert (job.report["new"], job.report["changed"], job.report["refused"]) == (1, 1, [])
    assert any(system.since in asked for asked in system.log)
    knows_now = not system.since or system.kind == "sharepoint"  # whole lists, or one that names what is gone
    assert job.report["deleted"] == knows_now
    if knows_now:
        return
    later = listing.now() + timedelta(hours=25)
    monkeypatch.setattr(listing, "now", lambda: later)
    source.refresh_from_db()
    assert counts(run(owner, source))["deleted"] == 1
    assert not any(own_id.endswith("102") for own_id in here(source))


@OVER_THE_DATABASE
def test_hierarchy_links_and_days_are_attributes(system, source, owner):
    run(owner, source)

    document = Document.objects.filter(source=source, external_id__endswith="102").get()
    if system.kind == "confluence":
        assert document.metadata["path"] == "Radio/Beams <narrow>"
    if system.kind == "dokuwiki":
        assert document.metadata["path"] == "radio"
    assert document.metadata["changed"] == "2026-02-05"
    assert document.metadata["link"].startswith("http")


@OVER_THE_DATABASE
def test_wrong_credentials_are_said(system, source, owner):
    wrong = dict.fromkeys(system.credentials, "wrong")
    credentials_set(scope=scope_of(owner), actor=owner, source_id=source.pk, credentials=wrong)
    source.refresh_from_db()

    job = run(owner, source)

    assert job.report["faults"][0]["code"] == "rest_answer"
    assert "credentials" in job.report["faults"][0]["message"]
    assert here(source) == []


@pytest.mark.parametrize("system", [Confluence()], ids=["confluence"])
def test_readers_are_those_of_the_page_and_of_those_above_it(made):
    items = items_of(made())

    assert items["pages/101"].readers == ("user:mei",)
    assert items["pages/102"].readers == ("user:mei", "group:radio")
    assert items["files/900"].readers is None


@pytest.mark.parametrize("system", [Jira()], ids=["jira"])
def test_an_issue_with_a_security_level_is_for_the_group_of_that_name(made):
    items = items_of(made())

    assert items["issues/101"].readers == ("group:staff",)
    assert items["issues/101/900"].readers == ("group:staff",)
    assert items["issues/102"].readers is None
