"""Requests to the system of a REST source: signed in, checked like every address, patient within limits."""

from __future__ import annotations

import json
import time
import xmlrpc.client
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlencode, urljoin
from xml.parsers.expat import ExpatError

import httpx
from django.conf import settings

from knowledge.connectors.base import Access
from knowledge.connectors.rest.description import Description
from knowledge.connectors.rest.sign_in import SignIn
from knowledge.connectors.rest.templates import text_of, value_of
from knowledge.rest_errors import RestAnswerError, RestBusyError
from ragcore.errors import UrlRefusedError
from ragcore.fetching import FetchLimits, system_resolve
from ragcore.fetching.addresses import check_url
from ragcore.fetching.connection import REDIRECTS, Deadline, HttpConnections, HttpReply

AGENT = "Ragsite"
LIMITS = FetchLimits(total_seconds=120.0, step_seconds=30.0)
MAX_ANSWER_BYTES = 64 * 1024 * 1024  # of one page of a list
TRIES = 4
LONGEST_WAIT_SECONDS = 20.0  # for one request, as the system asks or doubling from FIRST_WAIT_SECONDS
FIRST_WAIT_SECONDS = 1.0
WAITS_SECONDS = 300.0  # of all requests of a run together
sleep = time.sleep


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The content of a reply, where it came from, and the header Link by relation."""

    url: str
    content: bytes = field(repr=False)
    headers: Mapping[str, str]

    @property
    def next_link(self) -> str:
        """The address that the header Link calls next; empty where there is none."""
        for link in httpx.Response(200, headers={"link": self.headers.get("link", "")}).links.values():
            if link.get("rel") == "next":
                return urljoin(self.url, str(link["url"]))
        return ""


class RestClient:
    """Asks one system. `base`: its address, without a slash at the end. Not for use by several threads."""

    def __init__(self, *, base: str, description: Description, access: Access, values: Mapping[str, str]) -> None:
        self._base, self._description, self._access = base, description, access
        self._connections = HttpConnections(
            allow=access.policy, resolve=system_resolve, step_seconds=LIMITS.step_seconds
        )
        self._sign_in = SignIn(description=description, secrets=access.secrets, values=values, post=self._token_post)
        self._waits_left = WAITS_SECONDS

    def data(
        self, address: str, *, query: Mapping[str, str] | None = None, body: Mapping[str, Any] | None = None
    ) -> tuple[Any, Answer]:
        """The JSON of an answer. Raises RestAnswerError, RestBusyError, UrlNotAllowedError, UrlUnreachableError."""
        headers = {"Accept": "application/json"}
        if body:
            headers["Content-Type"] = "application/json"
        answer = self._answer(
            self.address(address, query), headers=headers, body=json.dumps(body).encode() if body else b""
        )
        try:
            values = json.loads(answer.content)
        except (ValueError, RecursionError):
            raise RestAnswerError("not_json", url=answer.url[:200]) from None
        self._check(values)
        return values, answer

    def call(self, address: str, *, name: str, arguments: tuple[Any, ...]) -> tuple[Any, Answer]:
        """The value that a procedure of XML-RPC gives, times as text. Raises as `data`."""
        body = xmlrpc.client.dumps(arguments, name, encoding="utf-8", allow_none=True).encode()
        answer = self._answer(self.address(address, None), headers={"Content-Type": "text/xml"}, body=body)
        if b"<!DOCTYPE" in answer.content[:4096] or b"<!ENTITY" in answer.content:
            raise RestAnswerError("not_json", url=answer.url[:200])
        try:
            (value,), _method = xmlrpc.client.loads(answer.content)
        except xmlrpc.client.Fault as fault:
            raise RestAnswerError("failed", problem=f"{fault.faultString} ({fault.faultCode})"[:200]) from None
        except (ExpatError, xmlrpc.client.Error, ValueError, TypeError, KeyError):
            raise RestAnswerError("not_json", url=answer.url[:200]) from None
        return _plain(value), answer

    def file(self, address: str) -> Answer:
        """The bytes at an address, as large as an upload may be. Raises as `data`, and UrlTooLargeError."""
        return self._answer(self.address(address, None), headers={"Accept": "*/*"}, max_bytes=settings.MAX_UPLOAD_BYTES)

    def address(self, address: str, query: Mapping[str, str] | None) -> str:
        """A whole address: below the base, unless it is one already."""
        whole = address if address.startswith(("http://", "https://")) else self._base + address
        if not query:
            return whole
        return whole + ("&" if "?" in whole else "?") + urlencode(query)

    # ── one request ─────────────────────────────────────────────────────────────────────────────

    def _answer(
        self, url: str, *, headers: Mapping[str, str], body: bytes = b"", max_bytes: int = MAX_ANSWER_BYTES
    ) -> Answer:
        for attempt in range(TRIES):
            target, reply = self._followed(url, headers=headers, body=body, max_bytes=max_bytes)
            if 200 <= reply.status < 300:
                return Answer(url=target, content=reply.content, headers=reply.headers)
            if reply.status == 401 and attempt == 0 and self._sign_in.forget():
                continue  # a token may end within a long run
            if reply.status not in (408, 425, 429, 502, 503, 504):
                raise _refusal(reply.status, target)
            if attempt + 1 < TRIES:
                self._wait(reply, attempt)
        raise RestBusyError("status", status=reply.status)

    def _wait(self, reply: HttpReply, attempt: int) -> None:
        """Raises RestBusyError where it would be too long."""
        asked_seconds = retry_after_seconds(reply.headers.get("retry-after", ""))
        seconds = FIRST_WAIT_SECONDS * 2**attempt if asked_seconds is None else asked_seconds
        if seconds > min(LONGEST_WAIT_SECONDS, self._waits_left):
            raise RestBusyError("wait", retry_after_seconds=round(seconds))
        self._waits_left -= seconds
        sleep(seconds)

    def _followed(self, url: str, *, headers: Mapping[str, str], body: bytes, max_bytes: int) -> tuple[str, HttpReply]:
        """The first reply that is no redirect. Credentials go to the host of the source alone."""
        target, deadline = check_url(url), Deadline(LIMITS.total_seconds)
        for _ in range(LIMITS.redirects + 1):
            is_home = _origin(target) == _origin(httpx.URL(self._base))
            signed = self._sign_in.headers() if is_home else {}
            described = self._description.headers if is_home else {}
            reply = self._connections.send(
                target,
                method="POST" if body else "GET",
                headers={"User-Agent": AGENT, **headers, **described, **signed},
                body=body,
                deadline=deadline,
                max_bytes=max_bytes,
            )
            place = reply.headers.get("location", "")
            if reply.status not in REDIRECTS or not place:
                return str(target), reply
            target = check_url(urljoin(str(target), place))
            if reply.status in (301, 302, 303):
                body = b""
        raise UrlRefusedError("redirect_loop", url=str(target))

    def _token_post(self, address: str, body: bytes, content_type: str) -> Any:
        """The JSON of a sign-in. Raises RestAnswerError, UrlNotAllowedError, UrlUnreachableError."""
        reply = self._connections.send(
            check_url(self.address(address, None)),
            method="POST",
            headers={"User-Agent": AGENT, "Accept": "application/json", "Content-Type": content_type},
            body=body,
            deadline=Deadline(LIMITS.total_seconds),
            max_bytes=MAX_ANSWER_BYTES,
        )
        if reply.status >= 500 or reply.status == 429:
            raise RestBusyError("status", status=reply.status)
        if reply.status != 200:
            raise RestAnswerError("credentials")
        try:
            return json.loads(reply.content)
        except (ValueError, RecursionError):
            raise RestAnswerError("credentials") from None

    def _check(self, values: Any) -> None:
        """Raises RestAnswerError where an answer with a good status says that it is none."""
        if problem := value_of(self._description.failed, values):
            raise RestAnswerError("failed", problem=text_of(problem)[:200] or "?")


def retry_after_seconds(text: str) -> float | None:
    """What the header Retry-After says: seconds, or a moment; None for anything else."""
    text = text.strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    return max(0.0, moment.timestamp() - time.time())


def _refusal(status: int, url: str) -> RestAnswerError | RestBusyError:
    if status >= 500:
        return RestBusyError("status", status=status)
    reasons = {401: "credentials", 403: "forbidden", 404: "not_there", 410: "not_there"}
    return RestAnswerError(reasons.get(status, "status"), url=url[:200], status=status)


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _plain(value: Any) -> Any:
    """A value of XML-RPC as JSON has it."""
    if isinstance(value, xmlrpc.client.DateTime):
        return str(value)  # in whatever form it came: with dashes and a zone, too, which the specification lacks
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return "" if isinstance(value, xmlrpc.client.Binary) else value
