"""Sessions of browsers in the database, each with its person, so that they can be listed and ended."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any

from django.apps import apps
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.utils import timezone

CLIENT = "_client"  # in the data of a session: address and browser at the sign-in
SEEN_EVERY = timedelta(minutes=5)


def session_reference(session_key: str | None) -> str:
    """What a session is called in addresses and messages: not the key, which is a secret."""
    return hashlib.sha256(session_key.encode()).hexdigest()[:32] if session_key else ""


class SessionStore(DatabaseStore):
    """Django's, with columns for the person and the browser."""

    @classmethod
    def get_model_class(cls) -> Any:
        return apps.get_model("accounts", "BrowserSession")  # whose module imports this one

    def _validate_session_key(self, key: str | None) -> bool:
        """A key that this site never made is not looked for: the database cannot even hold some of them."""
        return super()._validate_session_key(key) and bool(key and key.isascii() and key.isalnum())  # type: ignore[misc]

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        return self._with_person(super().create_model_instance(data), data)

    async def acreate_model_instance(self, data: dict[str, Any]) -> Any:
        return self._with_person(await super().acreate_model_instance(data), data)

    def _get_session_from_db(self) -> Any:
        row = super()._get_session_from_db()  # type: ignore[misc]
        if row is not None and row.last_seen < timezone.now() - SEEN_EVERY:
            self.get_model_class().objects.filter(pk=row.pk).update(last_seen=timezone.now())
        return row

    async def _aget_session_from_db(self) -> Any:
        row = await super()._aget_session_from_db()  # type: ignore[misc]
        if row is not None and row.last_seen < timezone.now() - SEEN_EVERY:
            await self.get_model_class().objects.filter(pk=row.pk).aupdate(last_seen=timezone.now())
        return row

    @staticmethod
    def _with_person(row: Any, data: dict[str, Any]) -> Any:
        client = data.get(CLIENT, {})
        row.user_id = int(data[SESSION_KEY]) if SESSION_KEY in data else None
        row.reference = session_reference(row.session_key)
        row.address, row.agent = client.get("address", ""), client.get("agent", "")
        row.last_seen = timezone.now()
        return row
