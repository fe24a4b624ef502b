"""Production settings: what Django's own checks say of them, and the shipped nginx in front of a web process."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import websockets
from django.contrib.auth.hashers import make_password
from websockets.typing import Origin

from ragsite.body_limits import BODY_LIMITS
from ragsite.embedded.processes import Process, free_port
from ragsite.env import PROJECT_ROOT
from tests.factories import make_user
from tests.live_site import await_answer, child_environment, running

KEY = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
PROXY = "127.0.0.3"  # from which nginx asks the web process, which believes nobody else
DOCKER = PROJECT_ROOT / "docker"
CHECK = """
import django
from django.conf import settings
from django.core.management import call_command

django.setup()
call_command("check", deploy=True, fail_level="WARNING")
settings.SILENCED_SYSTEM_CHECKS = ["security.W021"]  # now with Django's names of the middleware
bases = [base for name in settings.MIDDLEWARE for base in __import__("django.utils.module_loading", fromlist=["x"])
    .import_string(name).__mro__]
settings.MIDDLEWARE = [f"{base.__module__}.{base.__qualname__}" for base in bases]
call_command("check", deploy=True, fail_level="WARNING")
"""


def test_the_checks_for_deployment_find_nothing() -> None:
    names = {"TLS": "1", "SECRET_KEY": KEY, "ALLOWED_HOSTS": "kb.example.com"}
    done = subprocess.run(
        [sys.executable, "-c", CHECK],
        cwd=PROJECT_ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "ragsite.settings", **names},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("no issues") == 2


@pytest.fixture
def proxy(transactional_db: None, redis_client: Any, tmp_path: Path) -> Iterator[tuple[str, str, str]]:
    """Addresses of nginx with and without TLS, and of the web process behind it; `kim` may sign in."""
    program = shutil.which("nginx")
    if program is None or shutil.which("openssl") is None:
        pytest.skip("nginx is not installed: scripts/ensure_nginx.sh")
    kim = make_user("kim")
    kim.password = make_password("a long one", hasher="pbkdf2_sha256")  # the only one that the site itself knows
    kim.save(update_fields=["password"])
    web, plain, secure = free_port(), free_port(), free_port()
    variables = {"PORT": str(web), "WEB_PROCESSES": "1", "TLS": "1", "SECRET_KEY": KEY, "TRUSTED_PROXIES": PROXY}
    configuration = _nginx_configuration(tmp_path, web=web, plain=plain, secure=secure)
    nginx = Process(
        name="nginx",
        command=[program, "-c", str(configuration), "-p", str(tmp_path)],
        log=tmp_path / "nginx.log",
        environment=child_environment(),
        folder=tmp_path,
    )
    with running("-m", "ragsite.web_server", folder=tmp_path, **variables) as site:
        await_answer(f"http://127.0.0.1:{web}/health", site)
        nginx.start()
        try:
            await_answer(f"http://127.0.0.1:{plain}/", nginx)
            yield f"http://127.0.0.1:{plain}", f"https://127.0.0.1:{secure}", f"http://127.0.0.1:{web}"
        finally:
            nginx.stop(seconds=10)


def _nginx_configuration(folder: Path, *, web: int, plain: int, secure: int) -> Path:
    """The shipped files with addresses, ports and folders of this test."""
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    files = ["-keyout", str(folder / "privkey.pem"), "-out", str(folder / "fullchain.pem")]
    subprocess.run([*command, *files, "-subj", "/CN=localhost", "-days", "1"], check=True, capture_output=True)
    text = (DOCKER / "nginx.conf").read_text(encoding="utf-8")
    for ours, theirs in {
        "listen 80;": f"listen 127.0.0.1:{plain};",
        "listen 443 ssl;": f"listen 127.0.0.1:{secure} ssl; proxy_bind {PROXY};",
        "server web:8000;": f"server 127.0.0.1:{web};",
        "/etc/nginx/certificates/": f"{folder}/",
        "/etc/nginx/ragsite/nginx-site.conf": str(DOCKER / "nginx-site.conf"),
    }.items():
        assert ours in text
        text = text.replace(ours, theirs)
    (folder / "site.conf").write_text(text, encoding="utf-8")
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    main = folder / "main.conf"
    main.write_text(
        f"daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;"
        f"events {{ worker_connections 256; }} http {{ access_log off; {temporary} include {folder}/site.conf; }}",
        encoding="utf-8",
    )
    return main


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(240)
def test_the_shipped_proxy_serves_the_site_over_tls_only(proxy: tuple[str, str, str]) -> None:
    plain, secure, web = proxy
    with httpx.Client(verify=False, trust_env=False, timeout=30) as client:
        moved = client.get(f"{plain}/sign-in?next=/")
        page = client.get(f"{secure}/sign-in")
        forged = client.get(f"{web}/sign-in", headers={"X-Forwarded-Proto": "https", "X-Forwarded-For": "10.0.0.1"})
        token = client.cookies["csrftoken"]
        form = {"username": "kim", "password": "a long one", "csrfmiddlewaretoken": token}
        signed_in = client.post(f"{secure}/sign-in", data=form, headers={"Referer": f"{secure}/sign-in"})
        large = client.post(f"{secure}/sign-in", content=b"x" * 2_000_000)
        refused = client.post(f"{secure}/nowhere", content=b"x" * 20_000_000)
        session = client.cookies["sessionid"]
        bulk = client.post(f"{secure}/api/v1/documents/bulk", content=iter([b"x\n" * 100_000] * 8))

    assert (moved.status_code, moved.headers["location"]) == (301, "https://127.0.0.1/sign-in?next=/")
    assert page.status_code == 200
    assert page.headers["strict-transport-security"] == "max-age=31536000; includeSubDomains"
    assert all("Secure" in cookie for cookie in page.headers.get_list("set-cookie"))
    assert forged.status_code == 301  # its sender is not the proxy
    assert (signed_in.status_code, signed_in.headers["location"]) == (302, "/")
    cookies = [cookie for cookie in signed_in.headers.get_list("set-cookie") if cookie.startswith("sessionid")]
    assert "Secure" in cookies[0]
    assert "HttpOnly" in cookies[0]
    assert (large.status_code, refused.status_code) == (413, 413)
    assert "Ragsite" in large.text  # below the limit of nginx the product explains itself
    assert bulk.status_code == 403  # streamed through; only the token of the page was missing
    assert asyncio.run(_problem_over_socket(secure, session)) == "problem"
    for foreign in (secure.replace("https", "http"), "https://127.0.0.1", plain):
        with pytest.raises(websockets.InvalidStatus):
            asyncio.run(_problem_over_socket(secure, session, origin=foreign))


async def _problem_over_socket(secure: str, session: str, *, origin: str = "") -> str:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    address = f"{secure.replace('https', 'wss', 1)}/ws/chat"
    cookie = {"Cookie": f"sessionid={session}"}
    page = Origin(origin or secure)
    async with websockets.connect(address, origin=page, additional_headers=cookie, ssl=context, proxy=None) as socket:
        await socket.send("{}")
        return str(json.loads(await socket.recv())["type"])


def _megabytes(block: str) -> int:
    """The largest body of a location of nginx."""
    return int(block.partition("client_max_body_size ")[2].partition("m;")[0])


def test_nginx_lets_pass_what_the_product_takes() -> None:
    """Each limit of nginx stands above the one of the product at the same address, by default."""
    text = (DOCKER / "nginx-site.conf").read_text(encoding="utf-8")
    limits = {"/": 11}
    for block in text.split("location = ")[1:]:
        limits[block.split()[0]] = _megabytes(block)
    for block in text.split("location ~ ")[1:]:
        pattern = re.compile(block.split()[0])
        limits |= {
            one.path: _megabytes(block) for one in BODY_LIMITS if pattern.search(one.path.replace("*", "c/attachments"))
        }
    for one in BODY_LIMITS:
        assert limits.get(one.path, limits["/"]) * 2**20 > one.limit_bytes, one.path
