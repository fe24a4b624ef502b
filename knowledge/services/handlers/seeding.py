"""Giving a tenant the handlers and attributes that it begins with. A tenant that has any is left alone."""

from __future__ import annotations

from django.db import transaction

from accounts.models import Tenant
from knowledge.models import Attribute, HandlerRule, SourceHandler
from knowledge.seeds import seed_attributes, seed_handlers


@transaction.atomic
def handlers_seed(tenant: Tenant) -> int:
    """Support documents, wiki, cases, design documents, 3GPP, questions and answers (D10); returns how many are new."""
    if SourceHandler.objects.filter(tenant=tenant).exists():
        return 0
    rows = seed_handlers()
    for row in rows:
        values = {name: value for name, value in row.items() if name != "rules"}
        made = SourceHandler.objects.create(tenant=tenant, **values)
        HandlerRule.objects.bulk_create(
            [HandlerRule(handler=made, position=number, **rule) for number, rule in enumerate(row["rules"])]
        )
    return len(rows)


def attributes_seed(tenant: Tenant) -> int:
    """The four groups of attributes (D13); returns how many are new."""
    if Attribute.objects.filter(tenant=tenant).exists():
        return 0
    return len(Attribute.objects.bulk_create([Attribute(tenant=tenant, **row) for row in seed_attributes()]))
