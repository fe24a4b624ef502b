"""A real Chromium in front of the real product: web process, worker, PostgreSQL, Redis, a scripted model server."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.db import connection
from django.test import Client
from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from accounts.models import User
from accounts.selectors import scope_for
from accounts.sessions import CLIENT as SIGNED_IN_FROM
from knowledge.models import Attribute, Document
from knowledge.services import document_upload
from ragcore.client_registry import tls_context
from ragsite.embedded.processes import Process, free_port, wait_until
from tests.accounts.openid_provider import CLIENT, SECRET, Provider, openid_provider
from tests.browser.acts import is_writing, record_acts, write_table
from tests.browser.content import DOCUMENTS, LABELS, English
from tests.database import database
from tests.factories import make_admin, make_set, make_user
from tests.scripted_llm import Reply, ScriptedLLM, serving

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"
PASSWORD = "correct horse battery"
START_SECONDS = 240  # the first start on a machine compiles every module and exports the embedding model
INGEST_SECONDS = 120
WAIT_MS = 30_000  # the first question loads the models
REPORT_VIOLATIONS = """addEventListener("securitypolicyviolation", (event) => {
  console.error(`policy violated: ${event.effectiveDirective} ${event.blockedURI} ${event.sample}`);
});"""
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


SHORT_FORM = frozenset((Path(__file__).parent / "short_form.txt").read_text(encoding="utf-8").splitlines())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A walk that `short_form.txt` does not name is left to the full form."""
    for item in items:
        if isinstance(item, pytest.Function) and item.path.parent == Path(__file__).parent:
            name = f"{item.path.name}::{item.name}"
            if SHORT_FORM.isdisjoint({name, name.partition("[")[0]}):
                item.add_marker(pytest.mark.full)


@dataclass(frozen=True)
class LiveSite:
    """Where the running site is, who may sign in, and the model server behind it."""

    url: str
    llm: ScriptedLLM
    sessions: dict[str, str]  # user → key of a session
    admin: str = "lin"
    reader: str = "chen"
    author: str = "maya"  # of the pictures of the README: nobody else's questions stand in their side bars
    chinese: str = "wang"


@pytest.fixture(autouse=True)
def _django_db_helper() -> None:
    """In place of pytest-django's: the mark only asks for the test database, no test is wrapped in a transaction.

    The site must see the rows, and Playwright's event loop in this thread would get a connection of its own.
    """


@dataclass(frozen=True)
class Product:
    """The processes behind all files of this folder."""

    url: str
    llm: ScriptedLLM
    worker: Process
    filling: Filling


@dataclass
class Filling:
    """People and documents that each file begins with: they come in once, and are put back before the next file."""

    is_at_work: Callable[[], bool]
    log_tail: Callable[[int], str]
    files: dict[Path, bytes] = field(default_factory=dict)  # originals and pictures, which a walk may take away

    def sessions(self) -> dict[str, str]:
        """A session of each of the people, by user name."""
        return database.share(self.fill)

    def fill(self) -> dict[str, str]:
        """Make everything, as owners do, and wait until all documents can be found."""
        sessions = _fill()
        assert wait_until(_all_live, seconds=INGEST_SECONDS, unless=lambda: not self.is_at_work()), self.log_tail(60)
        root = Path(settings.MEDIA_ROOT)
        self.files = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
        return sessions

    def put_back(self) -> None:
        """What a file changed, in rows and in files."""
        database.restore()
        for path, content in self.files.items():
            if not path.exists() or path.read_bytes() != content:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)


@pytest.fixture(scope="package")
def product(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: Any) -> Iterator[Product]:
    """Web process and worker on the test database, started once; they end before tests of other folders begin."""
    folder = tmp_path_factory.mktemp("site")
    with django_db_blocker.unblock(), ExitStack() as stack:
        stack.callback(connection.close)
        llm = stack.enter_context(serving())
        provider = stack.enter_context(openid_provider())
        environment = {**os.environ, **_environment(llm, folder), **_openid(provider)}
        port = free_port()
        web = ("-m", "uvicorn", "ragsite.asgi:application", "--port", str(port), "--no-access-log")
        queues = ",".join(queue.name for queue in settings.CELERY_TASK_QUEUES)
        worker = ("-m", "celery", "-A", "ragsite", "worker", "-Q", queues, "--concurrency", "1")
        site = stack.enter_context(_running("web", web, environment, folder))
        helper = stack.enter_context(_running("worker", (*worker, "--without-mingle"), environment, folder))
        url = f"http://127.0.0.1:{port}"
        assert wait_until(lambda: _is_ready(url), seconds=START_SECONDS, unless=lambda: not site.is_running()), (
            site.log_tail(60)
        )
        yield Product(url, llm, helper, Filling(helper.is_running, helper.log_tail))


@pytest.fixture(scope="package")
def beside(django_db_setup: None, django_db_blocker: Any) -> Callable[[Callable[[], Any]], Any]:
    """`beside(work)`: what `work` returns, in a thread with a connection of its own.

    The event loop of the browser, which stays to the end of the folder, keeps this thread from the database.
    """

    def connected(work: Callable[[], Any]) -> Any:
        try:
            return work()
        finally:
            connection.close()

    def done(work: Callable[[], Any]) -> Any:
        with django_db_blocker.unblock(), ThreadPoolExecutor(1) as thread:
            return thread.submit(connected, work).result()

    return done


@pytest.fixture(scope="package")
def filling(product: Product, beside: Any) -> Iterator[Filling]:
    """Its rows leave before tests of other folders begin."""
    database.is_lent = True
    yield product.filling
    database.is_lent = False
    beside(database.drop_shared)


@pytest.fixture(scope="module")
def live_site(product: Product, filling: Filling, beside: Any) -> Iterator[LiveSite]:
    """The product with people and documents, as they came in. What a file changes is undone at its end."""
    product.llm.default = Reply(texts=English.pieces)
    try:
        yield LiveSite(product.url, product.llm, beside(filling.sessions))
    finally:
        beside(filling.put_back)


def _environment(llm: ScriptedLLM, folder: Path) -> dict[str, str]:
    """The children work on the test database, which has another name than the one of DATABASE_URL."""
    values = connection.settings_dict
    address = f"{values['USER']}:{values['PASSWORD']}@{values['HOST']}:{values['PORT'] or 5432}"
    database = f"postgresql://{address}/{values['NAME']}"
    if values["HOST"].startswith("/"):
        database = f"postgresql://{values['USER']}@/{values['NAME']}?host={values['HOST']}"
    model = {"LLM_BASE_URL": llm.url, "LLM_MODEL": "scripted", "LLM_API_KEY": "none"}
    return {"DATABASE_URL": database, "LOG_LEVEL": "INFO", "DJANGO_SETTINGS_MODULE": "ragsite.settings", **model}


def _openid(provider: Provider) -> dict[str, str]:
    return {"OIDC_ISSUER": provider.issuer, "OIDC_CLIENT_ID": CLIENT, "OIDC_CLIENT_SECRET": SECRET}


@contextmanager
def _running(name: str, arguments: tuple[str, ...], environment: dict[str, str], folder: Path) -> Iterator[Process]:
    process = Process(
        name=name,
        command=[sys.executable, *arguments],
        log=folder / f"{name}.log",
        environment=environment,
        folder=ROOT,
    )
    process.start()
    try:
        yield process
    finally:
        process.stop(seconds=10)


def _is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health", timeout=2, verify=tls_context()).status_code == 200
    except httpx.TransportError:
        return False


def _all_live() -> bool:
    states = set(Document.objects.values_list("state", flat=True))
    assert Document.State.FAILED not in states, list(Document.objects.values("title", "error_message"))
    return states == {Document.State.LIVE}


@cache
def _password() -> str:
    """Hashed once: that is slow on purpose. The site is another process and knows only the real hashers."""
    return make_password(PASSWORD, hasher="pbkdf2_sha256")


def _session(user: User) -> str:
    """The key of a session as signing in makes one, without the page and the slow check of the password."""
    client = Client()
    client.force_login(user)
    session = client.session
    session[SIGNED_IN_FROM] = {"address": "127.0.0.1", "agent": "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0.0.0"}
    session.save()
    return str(session.session_key)


def _fill() -> dict[str, str]:
    """People, sets on all axes, and documents that go through the real pipeline; a session of each of the people."""
    admin = make_admin("lin", first_name="Lin", last_name="Wei")
    author = make_user("maya", first_name="Maya", last_name="Ito")
    chinese = make_user("wang", first_name="芳", last_name="王")
    people = (admin, make_user("chen"), author, chinese)
    for user in people:
        user.password = _password()
        user.save(update_fields=["password"])
    sets = {
        "3gpp": make_set("3gpp", name="3GPP specifications", owners=[admin], example_questions=[English.question]),
        "test": make_set("test", name="测试", axis="X", owners=[admin]),
        "bts": make_set("bts", name="基站产品", axis="Y", owners=[admin]),
        "mw": make_set("mw", name="微波产品内部资料", axis="Y", visibility="members", owners=[admin]),
    }
    for code, name, title, content in DOCUMENTS:
        document_upload(
            scope=scope_for(admin),
            actor=admin,
            sets=[sets[code].pk],
            name=name,
            content=content(),
            title=title,
            **LABELS[name],
        )
    Attribute.objects.create(tenant=admin.tenant, code="release", name="Release", name_zh="版本")
    return {user.username: _session(user) for user in people}


@pytest.fixture(scope="package")
def browser(product: Product) -> Iterator[Browser]:
    """One for all files; what a page keeps is in a context of its own. It ends before the product does."""
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    assert path, "the browser tests need Chromium: scripts/ensure_chromium.sh"
    expect.set_options(timeout=WAIT_MS)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def fresh_script(live_site: LiveSite) -> Iterator[None]:
    """A test begins with a server that answers at once, in English."""
    live_site.llm.default = Reply(texts=English.pieces)
    live_site.llm.release.clear()
    yield
    live_site.llm.release.set()


@pytest.fixture
def open_page(browser: Browser, live_site: LiveSite, request: pytest.FixtureRequest) -> Iterator[Any]:
    """`open_page(user=…, at=…, width=…, …)` → a page of someone who has signed in; errors of scripts fail the test.

    It is at the address `at` of the site. With `by_page` the person signs in with a password, and so does one whose
    session has ended. No user: a guest, who is nowhere yet.
    """
    test = f"{request.path.name}::{request.node.name}"
    with ExitStack() as stack:
        faults: list[str] = []

        def opened(
            user: str | None = live_site.admin,
            *,
            at: str = "/",
            width: int = 1440,
            height: int = 900,
            by_page: bool = False,
            **options: Any,
        ) -> Page:
            motion = {"reduced_motion": "reduce"} | options  # moving pictures are drawn by the processor here
            context = browser.new_context(viewport={"width": width, "height": height}, **motion)
            stack.callback(context.close)
            context.add_init_script(REPORT_VIOLATIONS)
            record_acts(context, test=test)
            page = context.new_page()
            page.set_default_timeout(WAIT_MS)
            page.on("pageerror", lambda error: faults.append(str(error)))
            page.on("console", lambda message: faults.append(message.text) if _is_fault(message) else None)
            if user is None:
                return page
            if not by_page:
                name, key = settings.SESSION_COOKIE_NAME, live_site.sessions[user]
                context.add_cookies([{"name": name, "value": key, "url": live_site.url, "httpOnly": True}])
                page.goto(f"{live_site.url}{at}")
                if not page.url.startswith(f"{live_site.url}/sign-in"):
                    return page  # otherwise the session has ended since
            page.goto(f"{live_site.url}/sign-in")
            page.locator("#id_username").fill(user)
            page.locator("#id_password").fill(PASSWORD)
            page.locator("#id_password").press("Enter")
            page.wait_for_url(f"{live_site.url}/")
            cookies = {cookie["name"]: cookie for cookie in context.cookies()}
            live_site.sessions[user] = cookies[settings.SESSION_COOKIE_NAME]["value"]
            if at != "/":
                page.goto(f"{live_site.url}{at}")
            return page

        yield opened
        if is_writing():
            write_table()
        assert not faults


def _is_fault(message: Any) -> bool:
    """Errors, also those that REPORT_VIOLATIONS tells; a refused request is told to the reader by the page."""
    told = ("Failed to load resource", "net::ERR_INTERNET_DISCONNECTED")
    return message.type == "error" and not any(text in message.text for text in told)


@pytest.fixture
def picture(tmp_path: Path) -> Any:
    """`picture(page, name)` saves a screenshot: into docs/images where SCREENSHOTS=1, else for this test only.

    With `colours` it is reduced to so many, for small files.
    """
    folder = IMAGES if os.environ.get("SCREENSHOTS") == "1" else tmp_path

    def taken(page: Page, name: str, *, colours: int | None = None) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / name
        page.screenshot(path=path, animations="disabled")
        if colours:
            Image.open(path).convert("RGB").quantize(colours).save(path, optimize=True)
        return path

    return taken
