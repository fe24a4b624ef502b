"""Pages and site maps as sources, fetched with the protection of ragcore.fetching; one page by its address.

Addresses of private networks are refused, also after redirects and whatever a name resolves to, unless the operator
has given the host to the tenant or a platform administrator has allowed the hosts of one source. A single page
(POST /api/v1/documents/url) is checked at once and fetched in the background.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.db import transaction

from accounts.errors import NotAllowedError
from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from accounts.services import audit_record
from knowledge.connectors import FetchedItem, Item, Stamp, UnreadableItem
from knowledge.errors import LimitReachedError, SourceSettingsError, UrlTooLongError
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.models import IngestJob, Source, SyncRun
from knowledge.queue import FETCH_PAGE, ingest_subject
from knowledge.services.documents import items_add, job_work, upload_check
from knowledge.services.places import hosts_allowed
from knowledge.services.registration import Arrival, clearance_check, document_register, sets_owned, source_ensure
from knowledge.services.sources.item_readers import item_readers_write
from knowledge.services.sources.ownership import owner_check
from knowledge.services.sources.sync_items import source_scope
from knowledge.services.sources.sync_runs import RunReport
from knowledge.types import SourceOptions, strictly
from ragcore.errors import UrlUnreachableError
from work.services import work_start

if TYPE_CHECKING:
    from ragcore.fetching import AddressPolicy, Fetcher

logger = logging.getLogger(__name__)

AGENT = "Ragsite"
MAX_EXTERNAL_ID = 512  # characters
MAX_MAP_ENTRIES = 50_000  # of all site maps of a source

WEB_SOURCE = "web"  # the source of pages that people add by their address


def locations_of(source: Source) -> list[str]:
    """One address a line, in order, each once."""
    return list(dict.fromkeys(line.strip() for line in source.location.splitlines() if line.strip()))


def location_check(source: Source) -> None:
    """Raises UrlNotAllowedError for addresses that can be seen to be forbidden, SourceSettingsError for long ones."""
    policy = policy_of(source)
    for url in locations_of(source):
        address_check(url, policy=policy)


def address_check(url: str, *, policy: AddressPolicy) -> None:
    """What can be said about an address without fetching it; fetching checks again.

    Raises UrlNotAllowedError, SourceSettingsError.
    """
    from ragcore.fetching import system_resolve
    from ragcore.fetching.addresses import check_url, permitted_addresses

    if len(url) > MAX_EXTERNAL_ID:
        raise SourceSettingsError("address_length", limit=MAX_EXTERNAL_ID)
    checked = check_url(url)
    port = checked.port or (443 if checked.scheme == "https" else 80)
    try:
        permitted_addresses(checked.host, port, allow=policy, resolve=system_resolve)
    except UrlUnreachableError:  # the name may be known by the time it is fetched; then it is checked again
        logger.info("the host of %s is not known at the moment", checked.host)


def tenant_policy(tenant_id: int, *hosts: str) -> AddressPolicy:
    """Private addresses only of the hosts that the tenant has, and of `hosts`."""
    from ragcore.fetching import AddressPolicy

    return AddressPolicy.of([*hosts_allowed(tenant_id=tenant_id), *hosts])


def policy_of(source: Source) -> AddressPolicy:
    """The policy of its tenant, and where the source may, the hosts of its own addresses."""
    private = strictly(SourceOptions, source.options).allow_private
    return tenant_policy(source.tenant_id, *(hosts_of(source) if private else ()))


def hosts_of(source: Source) -> frozenset[str]:
    """The hosts of the addresses of a source."""
    return frozenset(host for url in locations_of(source) if (host := urlsplit(url).hostname))


def fetcher_make(*, policy: AddressPolicy) -> Fetcher:
    """A fetcher for one run; it asks each host for its robots.txt once."""
    from ragcore.fetching import Fetcher, FetchLimits

    limits = FetchLimits(max_bytes=settings.MAX_UPLOAD_BYTES)
    return Fetcher(agent=AGENT, allow=policy, limits=limits)


def page_items(source: Source) -> Iterator[Item]:
    """The addresses of the source; whether they have changed is asked when they are read."""
    fetcher = fetcher_make(policy=policy_of(source))
    for url in locations_of(source):
        yield Item(external_id=url, name=name_of(url), read=partial(page_fetch, fetcher, url))


def sitemap_items(source: Source) -> Iterator[Item | UnreadableItem]:
    """The pages of all site maps of the source.

    Raises UrlNotAllowedError, UrlUnreachableError, UrlRefusedError, CorruptDocumentError.
    """
    from ragcore.fetching import sitemap_urls

    fetcher = fetcher_make(policy=policy_of(source))
    for location in locations_of(source):
        sitemap = sitemap_urls(location, fetcher=fetcher, max_entries=MAX_MAP_ENTRIES)
        for entry in sitemap.entries:
            if len(entry.url) > MAX_EXTERNAL_ID:
                yield UnreadableItem(path=entry.url, error=UrlTooLongError())
                continue
            read = partial(page_fetch, fetcher, entry.url, listed=_text(entry.last_modified))
            yield Item(external_id=entry.url, name=name_of(entry.url), read=read)
        if not sitemap.is_complete:
            yield UnreadableItem(path=location, error=LimitReachedError(), hides=True)


def page_fetch(fetcher: Fetcher, url: str, last: Stamp, *, listed: str = "") -> FetchedItem | None:
    """The page, or None if it has not changed since the stamp `last`, as its server says or the date in its site map.

    Raises UrlNotAllowedError, UrlUnreachableError, UrlRefusedError, UrlTooLargeError.
    """
    if listed and last.get("listed") == listed:
        return None
    page = fetcher.fetch(url, etag=last.get("etag", ""), last_modified=last.get("last_modified", ""))
    if page.not_modified:
        return None
    stamp = {"etag": page.etag, "last_modified": page.last_modified, "listed": listed}
    filled = {key: value for key, value in stamp.items() if value}
    return FetchedItem(name=page.name, content=page.content, stamp=filled)


def name_of(url: str) -> str:
    """The last part of an address' path, as rules about file names see it."""
    parts = urlsplit(url)
    return unquote(parts.path.rstrip("/").rpartition("/")[2]) or parts.hostname or url


def _text(moment: datetime | None) -> str:
    return "" if moment is None else moment.isoformat()


def document_from_url(
    *, scope: Scope, actor: User, url: str, sets: Sequence[int], title: str = "", clearance: int = 0
) -> IngestJob:
    """Create a job that fetches a page and adds it to sets; its external id is the address.

    The address is checked before anything is stored; a slow server delays no request.
    Raises UrlNotAllowedError, NotFoundError, NotAllowedError, ClearanceTooHighError, MixedTenantsError.
    """
    clearance_check(scope=scope, clearance=clearance)
    owned = sets_owned(scope=scope, set_ids=sets)
    tenant_id = owned[0].tenant_id if owned else scope.tenant_id
    address_check(url, policy=tenant_policy(tenant_id))
    request = {"url": url, "sets": [s.pk for s in owned], "title": title, "clearance": clearance}
    job = fetch_open(tenant_id=tenant_id, actor=actor, request=request)
    audit_record(actor=actor, action="documents.fetch", target=url, job=job.pk)
    return job


@transaction.atomic
def fetch_open(
    *, tenant_id: int, actor: User | None, request: dict[str, object], source: Source | None = None
) -> IngestJob:
    """Create a job that fetches one address for a person, or for a source whose webhook named it."""
    job = IngestJob.objects.create(tenant_id=tenant_id, created_by=actor, source=source, report=RunReport().json())
    started = work_start(
        kind=FETCH_PAGE,
        tenant_id=tenant_id,
        author=actor,
        subject=ingest_subject(job.pk),
        arguments={"job_id": job.pk},
    )
    trigger = "person" if source is None else "webhook"
    SyncRun.objects.create(job=job, work=started.job, trigger=trigger, request=request)
    return job


def address_fetch(*, run: SyncRun) -> FetchedItem | None:
    """The page that the request of a run names: for a source, or with the rights its person has now.

    Raises what fetching raises, SourceUnownedError; NotAllowedError where the person does not exist any more.
    """
    job = run.job
    if job.source is not None:
        owner_check(job.source)
    elif job.created_by is None or not job.created_by.is_active:
        raise NotAllowedError
    return page_fetch(fetcher_make(policy=tenant_policy(job.tenant_id)), run.request["url"], {})


@transaction.atomic
def page_register(*, run: SyncRun, page: FetchedItem) -> bool:
    """Register a fetched page, and note its document with the run; whether it is a new version.

    Call it in a checkpoint. Raises what registering raises.
    """
    job, request, person = run.job, run.request, run.job.created_by
    scope = source_scope(job.source) if job.source else scope_for(cast(User, person))
    upload_check(name=page.name, size_bytes=len(page.content))
    clearance_check(scope=scope, clearance=request["clearance"])
    arrival = Arrival(
        name=page.name,
        content=page.content,
        sets=sets_owned(scope=scope, set_ids=request.get("sets", [])),
        title=request["title"],
        external_id=request.get("external_id") or request["url"],
        clearance=request["clearance"],
        floor=request.get("floor"),
        metadata=request.get("metadata", {}),
        tags=request.get("tags", []),
        sent_as=request["url"],
    )
    source = job.source or source_ensure(tenant_id=job.tenant_id, name=WEB_SOURCE)
    registration = document_register(scope=scope, actor=person, arrival=arrival, source=source)
    is_moved = registration.merged
    if (readers := request.get("readers")) is not None:
        is_moved |= item_readers_write(document_id=registration.document.pk, readers=readers)
    if registration.version is not None:
        items_add(job, [registration.version])
        job_work(job, workers=1)
    document_id = registration.document.pk
    SyncRun.objects.filter(pk=run.pk).update(request={**request, "document": document_id})
    if is_moved:
        epoch_advance(tenant_id=job.tenant_id, documents=[document_id])
    return registration.version is not None
