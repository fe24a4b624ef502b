"""PostgreSQL and Redis are stopped and started under a running web process whose connections were in use."""

import asyncio
import json
import shutil
import subprocess
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import websockets
from django.test import Client

from accounts.services import api_key_create
from ragcore.client_registry import tls_context
from ragsite.embedded.postgres import binaries
from ragsite.embedded.processes import free_port, wait_until
from ragsite.embedded.services import EmbeddedServices, Services
from tests.factories import ingest, make_admin, make_set
from tests.forms_plugin import is_full
from tests.live_site import await_answer, child_environment, running

REQUESTS = 60 if is_full() else 24
AT_ONCE = 12
PLACES = ("/", "/api/v1/documents", "/admin/", "/shared", "/conversations", "/admin/knowledge/document/")


@dataclass
class Site:
    """A web process, whose services nobody else uses, and somebody who is signed in."""

    url: str
    services: Services
    cookie: str
    key: str

    def get(self, place: str) -> httpx.Response:
        return self._client().get(f"{self.url}{place}")

    def ask(self, question: str) -> int:
        """The status of the answer to a question by the API."""
        headers = {"Authorization": f"Bearer {self.key}"}
        body = {"query": question}
        return self._client().post(f"{self.url}/api/v1/rag/generate", json=body, headers=headers).status_code

    def statuses(self) -> Counter[int]:
        """Of many requests at a time, to pages and to the API."""
        places = [PLACES[number % len(PLACES)] for number in range(REQUESTS)]
        with ThreadPoolExecutor(AT_ONCE) as threads:
            return Counter(answer.status_code for answer in threads.map(self.get, places))

    def _client(self) -> httpx.Client:
        cookies = {"sessionid": self.cookie}
        return httpx.Client(cookies=cookies, timeout=60, trust_env=False, verify=tls_context())


@pytest.fixture
def site(transactional_db, redis_client, tmp_path):
    admin = make_admin()
    ingest(admin, make_set("radio", owners=[admin]), ra="The preamble is sent on PRACH.")
    browser = Client()
    browser.force_login(admin)
    _, key = api_key_create(user=admin, name="restarts")
    folder, port = Path(tempfile.mkdtemp(prefix="ragsite-restarts-")), free_port()
    with EmbeddedServices(folder, durable=False) as services:
        copy_tables(child_environment()["DATABASE_URL"], services.database_url)
        addresses = {"DATABASE_URL": services.database_url, "REDIS_URL": services.redis_url}
        variables = {"PORT": str(port), "WEB_PROCESSES": "1", **addresses}
        with running("-m", "ragsite.web_server", folder=tmp_path, **variables) as process:
            made = Site(f"http://127.0.0.1:{port}", services, browser.cookies["sessionid"].value, key)
            await_answer(f"{made.url}/health", process)
            assert wait_until(lambda: made.get("/health").status_code == 200, seconds=60)
            yield made
    shutil.rmtree(folder)


def copy_tables(source: str, target: str) -> None:
    """All tables and rows of one database in another one."""
    dump = subprocess.run([binaries() / "pg_dump", "-Fc", source], capture_output=True, check=True).stdout
    restore = [binaries() / "pg_restore", "--no-owner", "--clean", "--if-exists", "-d", target]
    subprocess.run(restore, input=dump, capture_output=True, check=True)


async def listen(site, question):
    """The first message about a question over the page's WebSocket; the status where the handshake is refused."""
    address = site.url.replace("http", "ws") + "/ws/chat"
    headers = {"Cookie": f"sessionid={site.cookie}", "Origin": site.url}
    try:
        async with websockets.connect(address, additional_headers=headers, open_timeout=30, proxy=None) as socket:
            await socket.send(json.dumps({"type": "ask", "question": question}))
            return json.loads(await asyncio.wait_for(socket.recv(), 30))["type"]
    except websockets.exceptions.InvalidStatus as error:
        return error.response.status_code


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_restart_of_a_service_costs_no_request_an_internal_error(site):
    warm = site.statuses()
    postgres, redis = site.services.postgres, site.services.redis

    postgres.stop()
    page, data = site.get("/"), site.get("/api/v1/documents")
    handshake, away = asyncio.run(listen(site, "preamble?")), site.statuses()
    postgres.start()
    postgres.wait_ready()
    back = site.statuses()
    print(f"\nPostgreSQL restarted: {dict(away)} while it was away, {dict(back)} once it was ready")

    assert warm == back == {200: REQUESTS}
    assert set(away) == {503}
    assert (page.status_code, data.status_code, handshake) == (503, 503, 503)
    assert "Retry-After" in page.headers
    assert "Retry-After" in data.headers
    assert "does not respond" in page.text
    assert data.json()["error"]["code"] == "unavailable"
    assert site.ask("preamble?") == 200
    assert asyncio.run(listen(site, "preamble?")) == "turn"

    redis.stop()
    away = site.statuses()
    asked = site.ask("preamble?")
    with suppress(websockets.exceptions.WebSocketException, OSError):
        asyncio.run(listen(site, "preamble?"))
    redis.start()
    redis.wait_ready()
    back = site.statuses()
    print(f"Redis restarted: {dict(away)} while it was away, {dict(back)} once it was ready")

    assert set(away) <= {200, 503}
    assert asked in (200, 503)
    assert back == {200: REQUESTS}
    assert site.ask("preamble?") == 200
    assert asyncio.run(listen(site, "preamble?")) == "turn"
