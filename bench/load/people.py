"""`python -m bench.load.people NUMBER`: accounts for the people of a load, as JSON, in the database of DATA_DIR."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass
from typing import Any

SET_CODE = "load"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """How one person is known to the product."""

    name: str
    key: str
    session: str  # cookie of a signed-in browser
    set_id: int  # where the person may upload


def make_people(number: int) -> list[Account]:
    """Signed in, with a key each, and owners of one common set. Needs Django."""
    from django.test import Client

    from accounts.models import User
    from accounts.services import api_key_create, tenant_ensure_default
    from knowledge.models import KnowledgeSet

    tenant = tenant_ensure_default()
    common, _ = KnowledgeSet.objects.get_or_create(
        tenant=tenant, code=SET_CODE, defaults={"name": "Load", "axis": "1", "visibility": "everyone"}
    )
    people = []
    for count in range(1, number + 1):
        name = f"load-{count}"
        user: Any = User.objects.filter(username=name).first()
        if user is None:
            user = User.objects.create_user(username=name, tenant=tenant, clearance=4, is_staff=True)
        common.owners.add(user)
        _, key = api_key_create(user=user, name="load")
        browser = Client()
        browser.force_login(user)
        people.append(Account(name=name, key=key, session=browser.cookies["sessionid"].value, set_id=common.pk))
    return people


def main() -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
    django.setup()
    sys.stdout.write(json.dumps([asdict(person) for person in make_people(int(sys.argv[1]))]))


if __name__ == "__main__":
    main()
