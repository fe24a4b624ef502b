"""Sources, handlers and attributes in the admin: typed forms, runs, rights."""

from __future__ import annotations

from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from django.utils import timezone

from knowledge.models import Attribute, Document, IngestJob, Source, SourceHandler, SourcePlace
from knowledge.models.sources import source_kinds
from knowledge.selectors import sets_managed
from knowledge.services.handlers import attributes_seed, handlers_seed
from knowledge.services.places import place_save, place_take
from knowledge.services.sources.sync_runs import run_open
from tests.admin.conftest import signed_in
from tests.factories import make_admin, make_user, scope_of
from tests.knowledge.sources.building import sync_run
from work.models import Job
from work.runner import slice_run

FORM = {
    "name": "shelf",
    "kind": "folder",
    "schedule": "daily",
    "enabled": "on",
    "include": "*.md\n",
    "exclude": "",
    "tags": "shelf",
    "metadata": "lang = en",
    "max_documents": "100",
    "clearance": "1",
    "delete_at_most_percent": "30",
}


@pytest.fixture
def shelf(tmp_path, settings):
    settings.SOURCE_FOLDERS = (str(tmp_path),)
    (tmp_path / "a.md").write_text("alpha")
    return str(tmp_path)


def add(person, **values):
    sets = list(sets_managed(scope=scope_of(person)).values_list("pk", flat=True))
    form = {**FORM, "owner": str(person.pk), "sets": sets, **values}
    return signed_in(person).post("/admin/knowledge/source/add/", form)


def test_a_source_is_made_by_a_form(owner, own_set, shelf):
    response = add(owner, location=shelf)

    assert response.status_code == 302, response.context["adminform"].form.errors
    source = Source.objects.get(name="shelf")
    assert (source.owner, source.location, source.schedule) == (owner, shelf, "daily")
    assert source.options == {
        "include": ["*.md"],
        "tags": ["shelf"],
        "metadata": {"lang": "en"},
        "max_documents": 100,
        "clearance": 1,
    }


def test_a_new_source_goes_into_the_chosen_sets_beside_what_they_have(owner, own_set, shelf):
    other = Source.objects.create(tenant=owner.tenant, name="other", kind="folder", owner=owner)
    own_set.set_sources.create(source=other, filter={"paths": ["a/*"]})

    response = add(owner, location=shelf)

    source = Source.objects.get(name="shelf")
    assert response.url == f"/admin/knowledge/source/{source.pk}/change/"
    assert {row.source.name: row.filter for row in own_set.set_sources.all()} == {
        "other": {"paths": ["a/*"]},
        "shelf": {},
    }


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"location": ""}, "location", "Enter the location."),
        ({"kind": "crawl", "location": ""}, "location", "Enter the location."),
        ({"kind": "nowhere"}, "kind", "Select a valid choice"),
        ({"sets": []}, "sets", "Choose a knowledge set, or share the source"),
        ({"kind": "database", "location": "sqlite:////srv/a.db"}, "database_query", "This field is required"),
        ({"kind": "sharepoint", "location": "https://graph.microsoft.com/v1.0"}, "sharepoint_tenant", "is required"),
        ({"kind": "webhook", "schedule": "daily", "location": ""}, "schedule", "have no schedule"),
        ({"kind": "folder", "secret": "a secret of enough length"}, "secret", "need no credentials"),
    ],
)
def test_what_is_missing_is_said_at_its_own_field(owner, own_set, shelf, change, field, words):
    response = add(owner, **{"location": shelf, **change})

    errors = response.context["adminform"].form.errors
    assert list(errors) == [field]
    assert words in str(errors[field])
    assert not Source.objects.filter(name="shelf").exists()


def test_what_is_required_is_marked_and_the_system_comes_first(owner, own_set):
    page = BeautifulSoup(signed_in(owner).get("/admin/knowledge/source/add/").content, "html.parser")

    names = list(dict.fromkeys(field["name"] for field in page.select("#source_form [name]")))
    names = [name for name in names if not name.startswith(("csrf", "_"))]
    marked = [label.text.strip() for label in page.select("#source_form label") if "*" in label.text]
    assert names[:3] == ["kind", "name", "location"]
    assert names.index("sets") < names.index("clearance") < names.index("schedule") < names.index("include")
    assert {"System*", "Name*", "Location*", "Knowledge sets*"} <= set(marked)
    options = page.select("select[name=kind] optgroup option")
    assert {option["value"] for option in options} == {value for value, _label in source_kinds()}
    assert all(option["data-summary"] for option in options)


def test_a_described_system_has_the_fields_of_its_parameters(owner, own_set):
    page = signed_in(owner).get("/admin/knowledge/source/add/").content.decode()
    wiki = {"kind": "redmine", "location": "https://issues.example.com", "secret": "key", "schedule": "manual"}

    response = add(owner, **wiki, redmine_projects="radio\ncore\n", redmine_markup="textile", redmine_comments="on")

    assert response.status_code == 302, response.context["adminform"].form.errors
    source = Source.objects.get(name="shelf")
    assert source.get_kind_display() == "Redmine"
    assert source.settings == {"projects": ["radio", "core"], "markup": "textile", "attachments": False}
    assert 'name="confluence_spaces"' in page
    assert "API access key" in page


def test_faults_of_a_description_stand_beside_it(owner, own_set):
    values = {"kind": "rest", "location": "https://courses.example.com", "schedule": "manual"}

    response = add(owner, **values, rest_description='label = "x"\nsign_in = ["none"]\nlists = []')

    assert response.status_code == 200
    assert "Line 3, lists: A description needs at least one list" in str(
        response.context["adminform"].form.errors["rest_description"]
    )


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"location": "/etc"}, "location"),
        ({"kind": "url", "location": "http://127.0.0.1/"}, "location"),
        ({"metadata": "no sign"}, "metadata"),
        ({"clearance": "9"}, "clearance"),
        ({"name": "taken"}, "name"),
    ],
)
def test_what_services_refuse_stands_beside_its_field(owner, own_set, shelf, change, field):
    Source.objects.create(tenant=owner.tenant, name="taken")

    response = add(owner, **{"location": shelf, **change})

    assert response.status_code == 200
    assert field in response.context["adminform"].form.errors
    assert not Source.objects.filter(name="shelf").exists()


def test_credentials_go_in_and_are_not_shown(owner, own_set):
    secret = "a secret of enough length"
    add(owner, kind="webhook", schedule="manual", secret=secret)
    source = Source.objects.get(name="shelf")
    stored = source.credentials
    assert stored
    page = signed_in(owner).get(f"/admin/knowledge/source/{source.pk}/change/").content.decode()
    assert secret not in page
    assert stored not in page

    form = {**FORM, "owner": str(owner.pk), "schedule": "manual", "name": "renamed", "secret": ""}
    assert signed_in(owner).post(f"/admin/knowledge/source/{source.pk}/change/", form).status_code == 302
    source.refresh_from_db()
    assert (source.name, source.credentials) == ("renamed", stored)


def test_a_source_is_run_and_its_page_says_how_it_went(owner, own_set, shelf):
    add(owner, location=shelf, include="")
    source = Source.objects.get(name="shelf")
    client = signed_in(owner)

    assert client.post(f"/admin/knowledge/source/{source.pk}/run/").status_code == 302
    sync_run(job_id=IngestJob.objects.get(source=source).pk)

    assert Document.objects.filter(source=source).count() == 1
    page = client.get(f"/admin/knowledge/source/{source.pk}/change/")
    assert dict(page.context["runs"][0]["figures"]) == {"found": 1, "new": 1}
    assert "shelf" in client.get("/admin/knowledge/source/").content.decode()


def test_the_page_of_a_source_tests_it_and_shows_what_waits(owner, own_set, shelf):
    folder = Path(shelf)
    for number in range(20):
        (folder / f"{number:02}.txt").write_text(f"page {number}")
    (folder / "empty.txt").write_text("")
    add(owner, location=shelf, include="", delete_missing="on")
    source = Source.objects.get(name="shelf")
    client, own = signed_in(owner), f"/admin/knowledge/source/{source.pk}"
    page = client.post(f"{own}/test/", follow=True).content.decode()
    assert "The source can be read." in page
    assert "Address allowed: works" in page
    assert page.index(f"{own}/test/") < page.index("The source can be read.")
    for _ in range(2):
        client.post(f"{own}/run/")
        sync_run(job_id=IngestJob.objects.filter(source=source).latest("pk").pk)
        for number in range(11):
            (folder / f"{number:02}.txt").unlink(missing_ok=True)

    page = client.get(f"{own}/change/").content.decode()

    assert "Deletions that wait" in page
    assert "Items that could not be taken" in page
    assert Document.objects.filter(source=source, deleted=None).count() >= 20
    client.post(f"{own}/deletions/", {"keep": "1"})
    page = client.get(f"{own}/change/").content.decode()
    assert "Deletions that wait" not in page
    client.post(f"{own}/run/", {"mode": "everything"})
    assert IngestJob.objects.filter(source=source).latest("pk").run.work.arguments["mode"] == "everything"


def test_a_run_that_imports_nothing_has_failed_and_says_why(owner, own_set, settings):
    client = signed_in(owner)
    gone = "http://nowhere.invalid/page"
    add(owner, kind="url", location=gone, include="")
    source = Source.objects.get(name="shelf")
    client.post(f"/admin/knowledge/source/{source.pk}/run/")
    waiting = client.get(f"/admin/knowledge/source/{source.pk}/change/").content.decode()

    sync_run(job_id=IngestJob.objects.get(source=source).pk)

    source.refresh_from_db()
    assert source.outcome == "failed"
    assert "no changes" not in waiting
    pages = [client.get(f"/admin/knowledge/source/{end}").content.decode() for end in ("", f"{source.pk}/change/")]
    assert all("The host of this address was not found." in page for page in pages)


def test_the_reason_of_a_failed_run_is_told_in_the_language_of_the_reader(owner, own_set):
    source = Source.objects.create(
        tenant=owner.tenant,
        name="shelf",
        kind="url",
        owner=owner,
        outcome="failed",
        message="The host of this address was not found.",
        message_data={"code": "url_unreachable", "reason": "unknown_host"},
        last_run=timezone.now(),
    )

    page = signed_in(owner).get("/admin/knowledge/source/", headers={"accept-language": "zh-Hans"}).content.decode()

    assert str(source) in page
    assert "找不到该地址的主机。" in page


def test_an_empty_list_offers_to_reset_filters_only_where_some_are_set(owner, own_set):
    client = signed_in(owner)

    bare, searched = (client.get(f"/admin/knowledge/source/{query}").content.decode() for query in ("", "?q=nothing"))

    assert "Reset filters" not in bare
    assert "No entries yet" in bare
    assert "Reset filters" in searched


def test_a_set_is_composed_on_its_page(owner, own_set, shelf):
    add(owner, location=shelf)
    source = Source.objects.get(name="shelf")
    url = f"/admin/knowledge/source/compose/{own_set.pk}/"
    assert signed_in(owner).get(url).status_code == 200

    chosen = {f"source{source.pk}-is_chosen": "on", f"source{source.pk}-paths": "*.md", "ingest": "1"}
    assert signed_in(owner).post(url, chosen).status_code == 302
    assert own_set.set_sources.get().filter == {"paths": ["*.md"]}
    sync_run(job_id=IngestJob.objects.get().pk)
    assert own_set.documents.count() == 1
    signed_in(owner).post(url, {})
    assert own_set.documents.count() == 0


def test_others_see_and_change_nothing(owner, own_set, other_set, shelf, stranger):
    add(owner, location=shelf)
    source = Source.objects.get(name="shelf")
    second = make_user("second", is_staff=True)
    other_set.owners.add(second)

    for person in (second, stranger):
        client = signed_in(person)
        assert "shelf" not in client.get("/admin/knowledge/source/").context["cl"].queryset.values_list(
            "name", flat=True
        )
        assert client.post(f"/admin/knowledge/source/{source.pk}/run/").status_code == 404
        assert client.get(f"/admin/knowledge/source/compose/{own_set.pk}/").status_code == 404


def test_a_shared_source_is_seen_but_not_changed(owner, own_set, other_set, shelf):
    add(owner, location=shelf, shared="on")
    source = Source.objects.get(name="shelf")
    second = make_user("second", is_staff=True)
    other_set.owners.add(second)
    client = signed_in(second)

    assert client.get(f"/admin/knowledge/source/{source.pk}/change/").status_code == 200
    client.post(f"/admin/knowledge/source/{source.pk}/run/")
    assert not IngestJob.objects.exists()
    assert client.post(f"/admin/knowledge/source/{source.pk}/delete/", {"post": "yes"}).status_code == 403


def test_a_source_is_deleted_with_its_documents(owner, own_set, shelf):
    add(owner, location=shelf)
    source = Source.objects.get(name="shelf")
    signed_in(owner).post(f"/admin/knowledge/source/{source.pk}/run/")
    sync_run(job_id=IngestJob.objects.get().pk)

    assert signed_in(owner).post(f"/admin/knowledge/source/{source.pk}/delete/", {"post": "yes"}).status_code == 302

    assert not Source.objects.filter(pk=source.pk).exists()
    assert Document.objects.get().state == "deleted"


# ── handlers and attributes ─────────────────────────────────────────────────────────────────────


@pytest.fixture
def handler(administrator):
    handlers_seed(administrator.tenant)
    return SourceHandler.objects.get(code="3gpp")


def rules(**values):
    rule = {"position": 0, "looks": "name", "match": "regex", "pattern": "a", "action": "tag", "value": "x", **values}
    management = {"rules-TOTAL_FORMS": 1, "rules-INITIAL_FORMS": 0}
    return {**management, **{f"rules-0-{name}": value for name, value in rule.items()}}


def make(person, **values):
    form = {"name": "New", "code": "new", "field_map": "", **rules(), **values}
    return signed_in(person).post("/admin/knowledge/sourcehandler/add/", form)


def test_a_handler_is_made_with_its_rules(administrator):
    response = make(administrator, field_map="creator = author")

    assert response.status_code == 302, response.context["errors"]
    made = SourceHandler.objects.get(code="new")
    assert (made.field_map, made.tenant) == ({"creator": "author"}, administrator.tenant)
    assert made.rules.get().value == "x"


@pytest.mark.parametrize(
    "values",
    [
        rules(pattern="(a|aa)+$"),
        rules(pattern="("),
        rules(value="{1|base37}"),
        rules(value=""),
        rules(action="attribute", attribute=""),
        rules(looks="line", action="indentation", value=""),
        rules(looks="text", action="indentation", value="{1}"),
        rules(looks="style", action="tag", value="x"),
        {"title_template": "{title"},
    ],
)
def test_rules_that_cannot_work_are_refused(administrator, values):
    assert make(administrator, **values).status_code == 200
    assert not SourceHandler.objects.filter(code="new").exists()


def test_a_handler_is_tried_on_a_file(administrator, handler):
    url = f"/admin/knowledge/sourcehandler/{handler.pk}/try/"

    page = signed_in(administrator).post(url, {"path": "rel/23501-g50.docx"})

    assert "TS 23.501 Rel-16 V16.5.0" in page.content.decode()
    change = signed_in(administrator).get(f"/admin/knowledge/sourcehandler/{handler.pk}/change/")
    assert url in change.content.decode()


def test_a_rule_for_indentation_is_made_and_tried(administrator):
    made = make(administrator, **rules(looks="line", pattern=r"^\s*(\d)>", action="indentation", value="{1}"))
    assert made.status_code == 302, made.context["errors"]
    new = SourceHandler.objects.get(code="new")
    url = f"/admin/knowledge/sourcehandler/{new.pk}/try/"

    page = signed_in(administrator).post(url, {"path": "a.txt", "text": "1>\tif a:\n\t2>\tset b."}).content.decode()
    other = signed_in(administrator).post(url, {"path": "a.txt", "text": "plain"}).content.decode()

    assert "- 1&gt; if a:\n  - 2&gt; set b." in page
    assert "nested lists" not in other


def test_a_style_is_tried_with_the_text(administrator, handler):
    url = f"/admin/knowledge/sourcehandler/{handler.pk}/try/"

    page = signed_in(administrator).post(url, {"path": "a.txt", "text": "a)\tone", "style": "B2"}).content.decode()

    assert "- a) one" in page


def test_handlers_and_attributes_are_for_administrators(owner, own_set, handler, stranger):
    attributes_seed(handler.tenant)
    for address in ("sourcehandler/", "attribute/", f"sourcehandler/{handler.pk}/try/"):
        assert signed_in(owner).get(f"/admin/knowledge/{address}").status_code in (403, 404)
    assert signed_in(stranger).get(f"/admin/knowledge/sourcehandler/{handler.pk}/try/").status_code == 404


def test_an_attribute_is_changed_with_lines_for_choices(administrator):
    attributes_seed(administrator.tenant)
    attribute = Attribute.objects.get(code="difficulty")
    client = signed_in(administrator)
    assert client.get("/admin/knowledge/attribute/").status_code == 200
    form = {"name": "Difficulty", "name_zh": "难度", "code": "difficulty", "group": "knowledge", "position": "0"}

    response = client.post(f"/admin/knowledge/attribute/{attribute.pk}/change/", {**form, "choices": "easy\nhard\n"})

    assert response.status_code == 302, response.context["errors"]
    attribute.refresh_from_db()
    assert attribute.choices == ["easy", "hard"]


def test_the_page_of_a_source_keeps_its_place(owner, own_set, shelf):
    add(owner, location=shelf)
    source = Source.objects.get(name="shelf")
    address = f"/admin/knowledge/source/{source.pk}/change/"

    form = signed_in(owner).get(address).context["adminform"].form

    assert form["location"].value() == shelf
    sent = {**FORM, "owner": str(owner.pk), "location": form["location"].value(), "name": "renamed"}
    signed_in(owner).post(address, sent)
    source.refresh_from_db()
    assert (source.name, source.location) == ("renamed", shelf)


def test_a_source_that_no_set_takes_says_that_nobody_finds_it(owner, own_set, shelf):
    add(owner, location=shelf, sets=[], shared="on")
    source = Source.objects.get(name="shelf")
    address = f"/admin/knowledge/source/{source.pk}/change/"

    assert "cannot be found" in signed_in(owner).get(address).content.decode()
    own_set.set_sources.create(source=source)
    page = signed_in(owner).get(address)

    assert (page.context["composed"], "cannot be found" in page.content.decode()) == ([own_set], False)


def test_labels_that_a_form_declares_begin_with_a_capital(owner, own_set, shelf):
    form = signed_in(owner).get("/admin/knowledge/source/add/").context["adminform"].form

    assert all(field.label[:1].isupper() for field in form.fields.values())


def test_people_are_told_which_folders_they_may_use(administrator, owner, stranger, own_set, shelf):
    def help_for(person):
        form = signed_in(person).get("/admin/knowledge/source/add/").context["adminform"].form
        return BeautifulSoup(form.fields["location"].help_text, "html.parser").select_one("[data-kind=folder]").text

    kept = f"{shelf}-for-administrators"
    SourcePlace.objects.create(tenant=owner.tenant, location=kept, for_owners=False)

    assert help_for(administrator).endswith(f"Folders allowed here: {shelf}, {kept}")
    assert help_for(owner).endswith(f"Folders allowed here: {shelf}")
    assert "Folders allowed" not in help_for(stranger)


def test_a_source_whose_folder_was_withdrawn_says_so_and_can_be_changed(owner, own_set, tmp_path, settings):
    settings.GRANTABLE_FOLDERS = (str(tmp_path),)
    root = make_admin("root", tenant=owner.tenant)
    given = {"tenant": owner.tenant, "kind": "folder", "location": str(tmp_path)}
    place = place_save(scope=scope_of(root), actor=root, place=SourcePlace(), values=given)
    add(owner, location=str(tmp_path))
    source = Source.objects.get(name="shelf")
    change = f"/admin/knowledge/source/{source.pk}/change/"
    assert "Paused" not in signed_in(owner).get(change).content.decode()
    place_take(scope=scope_of(root), actor=root, place=place)

    page = signed_in(owner).get(change).content.decode()
    form = {**FORM, "owner": str(owner.pk), "location": str(tmp_path), "schedule": "weekly", "max_documents": "7"}
    saved = signed_in(owner).post(change, form)
    run = signed_in(owner).post(f"/admin/knowledge/source/{source.pk}/run/", follow=True)

    assert f"root withdrew {tmp_path}" in page
    assert "This folder is not released for sources. Ask an administrator" in page
    assert "SOURCE_FOLDERS" not in page
    assert saved.status_code == 302, saved.context["adminform"].form.errors
    source.refresh_from_db()
    assert (source.schedule, source.options["max_documents"]) == ("weekly", 7)
    assert run.status_code == 200
    assert "This source is paused. This folder is not released for sources." in run.content.decode()
    assert not IngestJob.objects.filter(source=source).exists()
    refused = signed_in(owner).post(change, {**form, "location": str(tmp_path / "other")})
    assert "not released" in refused.content.decode()


def test_a_source_whose_host_was_withdrawn_says_so_and_can_be_changed(owner, own_set):
    root = make_admin("root", tenant=owner.tenant)
    given = {"tenant": owner.tenant, "kind": "host", "location": "127.0.0.0/8"}
    place = place_save(scope=scope_of(root), actor=root, place=SourcePlace(), values=given)
    add(owner, kind="url", location="http://127.0.0.1/wiki")
    source = Source.objects.get(name="shelf")
    change = f"/admin/knowledge/source/{source.pk}/change/"
    place_take(scope=scope_of(root), actor=root, place=place)

    page = signed_in(owner).get(change).content.decode()
    form = {**FORM, "owner": str(owner.pk), "location": source.location, "schedule": "weekly"}
    saved = signed_in(owner).post(change, form)

    assert "root withdrew 127.0.0.0/8" in page
    assert "Private address. Ask an administrator to allow it under “Folders and hosts”." in page
    assert saved.status_code == 302, saved.context["adminform"].form.errors
    source.refresh_from_db()
    assert source.schedule == "weekly"


def test_what_would_come_in_stands_below_its_button_with_its_time(owner, own_set, shelf):
    add(owner, location=shelf, include="")
    client, own = signed_in(owner), f"/admin/knowledge/source/{Source.objects.get(name='shelf').pk}"

    answer = client.post(f"{own}/preview/", follow=True)

    assert answer.redirect_chain[-1][0].endswith("#source-trial")
    trial = BeautifulSoup(answer.content, "html.parser").select_one("#source-trial")
    assert "1 document would come in." in trial.text
    assert [entry.text for entry in trial.select("li")] == ["a.md"]
    assert trial.select_one("time[data-ago]")
    other = client.get("/admin/knowledge/source/add/").content.decode()
    assert "1 document would come in." not in other


def test_a_count_that_goes_on_is_followed_on_the_page(owner, own_set, shelf, monkeypatch):
    monkeypatch.setattr("knowledge.services.sources.trials.PREVIEW_SECONDS", -1.0)
    add(owner, location=shelf, include="")
    client, own = signed_in(owner), f"/admin/knowledge/source/{Source.objects.get(name='shelf').pk}"

    page = client.post(f"{own}/preview/", follow=True).content.decode()

    assert "Counting: 0 documents so far" in page
    assert 'data-live data-open="1"' in page
    slice_run(job_id=Job.objects.get(kind="knowledge.count_source").pk)
    page = client.get(f"{own}/change/").content.decode()
    assert "1 document would come in." in page
    assert "data-live" not in page


def test_a_run_that_reached_nothing_says_that_it_failed_and_why(owner, own_set, shelf):
    add(owner, location=shelf, include="")
    source = Source.objects.get(name="shelf")
    (Path(shelf) / "a.md").unlink()
    Path(shelf).rmdir()
    job = run_open(sources=[source], actor=owner, trigger="schedule")
    sync_run(job_id=job.pk)

    page = signed_in(owner).get(f"/admin/knowledge/source/{source.pk}/change/")

    row = BeautifulSoup(page.content, "html.parser").select_one("[data-part=runs] tbody tr")
    assert "Failed" in row.text
    assert "no changes" not in row.text
    assert "There is no such folder" in row.text


def test_each_kind_says_what_its_location_is_like(owner, own_set, shelf):
    page = BeautifulSoup(signed_in(owner).get("/admin/knowledge/source/add/").content, "html.parser")
    texts = {help["data-kind"]: help.text for help in page.select(".rs-location")}

    assert set(texts) == {value for value, _label in source_kinds()}
    assert all(texts.values())
    assert [help["data-kind"] for help in page.select(".rs-location:not([hidden])")] == ["folder"]
    assert shelf.rsplit("/", 1)[0] in texts["folder"] or "/" in texts["folder"]
    assert "s3://" in texts["storage"]


def test_who_releases_folders_finds_the_page_from_the_refusal_and_others_do_not(owner, own_set, shelf):
    admin = make_admin()

    refused = str(add(admin, location="/etc").context["adminform"].form.errors["location"])
    of_owner = str(add(owner, location="/etc").context["adminform"].form.errors["location"])

    assert "/admin/knowledge/sourceplace/" in refused
    assert "/admin/knowledge/sourceplace/" not in of_owner


def test_a_run_with_other_sources_is_listed_without_what_belongs_to_them(owner, own_set, shelf):
    add(owner, location=shelf, include="")
    source = Source.objects.get(name="shelf")
    other = Source.objects.create(tenant=owner.tenant, name="other", kind="folder", location="/gone", owner=owner)
    sync_run(job_id=run_open(sources=[source, other], actor=owner, trigger="person").pk)

    rows = {}
    for one in (source, other):
        page = signed_in(owner).get(f"/admin/knowledge/source/{one.pk}/change/")
        rows[one.name] = BeautifulSoup(page.content, "html.parser").select_one("[data-part=runs] tbody tr").text

    assert "Together with other sources" in rows["shelf"]
    assert "Failed" not in rows["shelf"]
    assert "Failed" in rows["other"]
    assert "no changes" not in rows["other"]
