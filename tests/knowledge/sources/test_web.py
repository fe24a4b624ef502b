"""Pages and site maps as sources, and single pages, against a real web server."""

from __future__ import annotations

import pytest

from accounts.errors import NotAllowedError
from knowledge.errors import SourceSettingsError
from knowledge.models import Document, IngestJob
from knowledge.selectors import job_get
from knowledge.services.sources import document_from_url, source_create
from ragcore.errors import UrlNotAllowedError
from tests.factories import make_set, make_user, run_job, scope_of
from tests.knowledge.sources.building import counts, here, run, site, sync_run

pytestmark = pytest.mark.django_db

PAGE = b"<html><head><title>Beams</title></head><body><h1>Beams</h1><p>Narrow beams reach far.</p></body></html>"
MAP = '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</urlset>'
ENTRY = "<url><loc>{}</loc><lastmod>{}</lastmod></url>"


@pytest.fixture
def allowed(settings):
    settings.FETCH_ALLOWED_HOSTS = ("127.0.0.1",)


def web_source(owner, kind, *lines, **values):
    given = {"name": kind, "kind": kind, "location": "\n".join(lines), **values}
    return source_create(scope=scope_of(owner), actor=owner, values=given)


def test_pages_become_documents_named_by_their_address(owner, allowed):
    with site({"/a": PAGE, "/b": PAGE + b"<p>b</p>"}) as url:
        source = web_source(owner, "url", f"{url}/a", f"{url}/b", f"{url}/a", f"{url}/missing")
        job = run(owner, source)

    assert here(source) == [f"{url}/a", f"{url}/b"]
    assert [(one["path"], one["code"]) for one in job.report["refused"]] == [(f"{url}/missing", "url_refused")]


def test_a_page_that_has_not_changed_is_not_sent_again(owner, allowed):
    pages = {"/a": (200, {"Content-Type": "text/html", "ETag": '"1"'}, PAGE)}
    with site(pages) as url:
        source = web_source(owner, "url", f"{url}/a")
        run(owner, source)
        unchanged = counts(run(owner, source))
        pages["/a"] = (200, {"Content-Type": "text/html", "ETag": '"2"'}, PAGE + b"<p>more</p>")
        changed = counts(run(owner, source))

    assert unchanged == {"found": 1, "unchanged": 1}
    assert changed == {"found": 1, "changed": 1}


def test_pages_of_a_site_map_come_and_go(owner, allowed):
    pages = {"/a": PAGE, "/b": PAGE + b"<p>b</p>"}
    with site(pages) as url:
        pages["/map.xml"] = MAP.format(
            ENTRY.format(f"{url}/a", "2026-01-01") + ENTRY.format(f"{url}/b", "2026-01-01")
        ).encode()
        source = web_source(owner, "sitemap", f"{url}/map.xml", options={"delete_missing": True})
        first = counts(run(owner, source))
        pages["/map.xml"] = MAP.format(ENTRY.format(f"{url}/a", "2026-01-01")).encode()
        del pages["/a"]  # its date is the same, so nobody asks for it
        second = counts(run(owner, source))

    assert first == {"found": 2, "new": 2}
    assert second == {"found": 1, "unchanged": 1, "deleted": 1}
    assert here(source) == [f"{url}/a"]


def test_a_site_map_that_cannot_be_had_deletes_nothing(owner, allowed):
    pages = {"/a": PAGE}
    with site(pages) as url:
        pages["/map.xml"] = MAP.format(ENTRY.format(f"{url}/a", "")).encode()
        source = web_source(owner, "sitemap", f"{url}/map.xml", options={"delete_missing": True})
        run(owner, source)
        pages["/map.xml"] = (500, {}, b"")
        job = run(owner, source)

    assert here(source) == [f"{url}/a"]
    assert [fault["code"] for fault in job.report["faults"]] == ["url_unreachable"]


@pytest.mark.every_row
@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/x",
        "http://localhost:8000/x",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://[::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://169.254.169.254/latest/meta-data",
        "http://10.0.0.1/",
        "http://user:word@example.org/",
        "ftp://example.org/",
        "file:///etc/passwd",
        "nothing",
    ],
)
def test_private_places_are_refused_at_the_door(owner, common, url):
    with pytest.raises(UrlNotAllowedError):
        document_from_url(scope=scope_of(owner), actor=owner, url=url, sets=[common.pk])
    with pytest.raises(UrlNotAllowedError):
        web_source(owner, "url", url)
    assert not IngestJob.objects.exists()


def test_a_long_address_is_refused(owner, common):
    with pytest.raises(SourceSettingsError):
        document_from_url(scope=scope_of(owner), actor=owner, url="http://example.org/" + "a" * 600, sets=[common.pk])


def test_private_addresses_of_one_source_are_for_platform_administrators(owner):
    keeper = make_user("keeper")
    make_set("own", owners=[keeper])
    with site({"/a": PAGE}) as url:
        source = web_source(owner, "url", f"{url}/a", options={"allow_private": True})
        job = run(owner, source)
        with pytest.raises(NotAllowedError, match="platform administrators"):
            web_source(keeper, "url", f"{url}/a", options={"allow_private": True})

    assert counts(job) == {"found": 1, "new": 1}


# ── one page ────────────────────────────────────────────────────────────────────────────────────


def page(owner, common, url, **values):
    return document_from_url(scope=scope_of(owner), actor=owner, url=url, sets=[common.pk], **values)


def test_a_page_is_fetched_in_the_background_and_goes_live(owner, common, allowed):
    with site({"/a": PAGE}) as url:
        job = page(owner, common, f"{url}/a", title="My page", clearance=2)
        assert job_get(scope=scope_of(owner), job_id=job.pk).state == "queued"
        sync_run(job_id=job.pk)
        assert job_get(scope=scope_of(owner), job_id=job.pk).state == "queued"  # to be read
    run_job(job.pk)

    document = Document.objects.get(external_id=f"{url}/a")
    assert (document.title, document.clearance, document.state) == ("My page", 2, "live")
    assert list(document.sets.all()) == [common]
    assert job_get(scope=scope_of(owner), job_id=job.pk).state == "succeeded"
    job.refresh_from_db()
    assert job.run.request["document"] == document.pk


@pytest.mark.parametrize("target", ["http://169.254.169.254/", "http://10.1.2.3/", "file:///etc/passwd"])
def test_a_redirect_to_a_private_place_fails_the_job_with_its_code(owner, common, allowed, target):
    with site({"/a": (302, {"Location": target}, b"")}) as url:
        job = page(owner, common, f"{url}/a")
        sync_run(job_id=job.pk)

    status = job_get(scope=scope_of(owner), job_id=job.pk)
    assert status.state == "failed"
    assert [error["code"] for error in status.errors] == ["url_not_allowed"]
    assert not Document.objects.exists()


def test_rights_that_were_lost_meanwhile_count(common, allowed):
    keeper = make_user("keeper")
    common.owners.add(keeper)
    with site({"/a": PAGE}) as url:
        job = page(keeper, common, f"{url}/a")
        common.owners.remove(keeper)
        sync_run(job_id=job.pk)

    assert [e["code"] for e in job_get(scope=scope_of(keeper), job_id=job.pk).errors] == ["not_allowed"]
    assert not Document.objects.exists()


def test_pages_of_site_maps_that_are_not_read_any_more_are_not_missing(owner, allowed, monkeypatch):
    pages = {"/a": PAGE, "/b": PAGE + b"<p>b</p>"}
    with site(pages) as url:
        for name in ("a", "b"):
            pages[f"/{name}.xml"] = MAP.format(ENTRY.format(f"{url}/{name}", "2026-01-01")).encode()
        parts = "".join(f"<sitemap><loc>{url}/{name}.xml</loc></sitemap>" for name in ("a", "b"))
        pages["/map.xml"] = f"<sitemapindex>{parts}</sitemapindex>".encode()
        source = web_source(owner, "sitemap", f"{url}/map.xml", options={"delete_missing": True})
        run(owner, source)
        monkeypatch.setattr("ragcore.fetching.sitemaps.MAX_SITEMAPS", 2)

        job = run(owner, source)

    assert here(source) == [f"{url}/a", f"{url}/b"]
    assert [note["code"] for note in job.report["notes"]] == ["not_deleted"]
