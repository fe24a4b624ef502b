"""The life of a person as Entra lives it, over real HTTP."""

from __future__ import annotations

from typing import Any

import httpx

from accounts.key_scopes import KeyScope
from accounts.models import User
from accounts.services import api_key_create
from tests.accounts.scim.conftest import MEI, PATCH
from tests.api.world import world_make


def test_somebody_is_hired_moves_and_leaves(transactional_db: None, live_server: Any) -> None:
    key = api_key_create(user=world_make().root, name="Entra", scopes=[KeyScope.DIRECTORY])[1]
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/scim+json"}
    rows = {"filter": 'userName eq "mei"'}
    with httpx.Client(base_url=f"{live_server.url}/scim/v2/", headers=headers, trust_env=False) as entra:
        assert entra.get("Users", params=rows).json()["totalResults"] == 0
        hired = entra.post("Users", json=MEI)
        assert (hired.status_code, hired.headers["Content-Type"]) == (201, "application/scim+json")
        place = hired.headers["Location"]
        assert place.startswith(live_server.url)
        group = entra.post("Groups", json={"displayName": "core"}).json()
        joined = {"op": "Add", "path": "members", "value": [{"value": hired.json()["id"]}]}
        entra.patch(f"Groups/{group['id']}", json={"schemas": [PATCH], "Operations": [joined]})
        moved = {"op": "Replace", "path": "title", "value": "Lead"}
        answer = entra.patch(place, json={"schemas": [PATCH], "Operations": [moved]})
        assert (answer.json()["title"], answer.json()["groups"][0]["display"]) == ("Lead", "core")
        stale = entra.patch(
            place, json={"schemas": [PATCH], "Operations": [moved]}, headers={"If-Match": hired.headers["ETag"]}
        )
        assert stale.status_code == 412
        left = {"op": "Replace", "path": "active", "value": "False"}
        assert entra.patch(place, json={"schemas": [PATCH], "Operations": [left]}).json()["active"] is False
        assert entra.delete(place).status_code == 204
        gone = entra.get(place)
        assert (gone.status_code, gone.json()["status"]) == (404, "404")
        assert entra.get("nothing/here").json()["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]
    assert not User.objects.get(username="mei").is_active
