"""Gives people ownership and membership of sets in the setup of people."""

from __future__ import annotations

from collections.abc import Collection

from django.db import transaction

from accounts.errors import UnknownSetError
from accounts.models import User, UserGroup
from accounts.people.rights import set_rights_register
from accounts.selectors import scope_for
from knowledge.models import KnowledgeSet
from knowledge.services.sets import set_members_put


class SetsOfPeople:
    """See accounts.people.rights.SetRights."""

    def choices(self, *, tenant_id: int) -> list[tuple[str, str]]:
        rows = KnowledgeSet.objects.filter(tenant=tenant_id).order_by("name", "pk")
        return [(row.code, row.shown_name) for row in rows]

    @transaction.atomic
    def give(self, *, actor: User, person: User, owns: Collection[str], reads: Collection[str]) -> None:
        """Adds to the lists of each set; each changed set is one event of the audit log."""
        codes = {*owns, *reads}
        rows = KnowledgeSet.objects.select_for_update().filter(tenant=person.tenant_id, code__in=codes).order_by("pk")
        by_code = {row.code: row for row in rows}
        if unknown := sorted(codes - by_code.keys()):
            raise UnknownSetError("codes", codes=", ".join(unknown))
        scope = scope_for(actor)
        for code, row in by_code.items():
            owners = [*row.owners.values_list("pk", flat=True), person.pk] if code in owns else None
            members = [*row.members.values_list("pk", flat=True), person.pk] if code in reads else None
            set_members_put(scope=scope, actor=actor, set_id=row.pk, owners=owners, users=members)

    def held(self, *, person: User) -> tuple[list[str], list[str]]:
        rows = KnowledgeSet.objects.filter(tenant=person.tenant_id).order_by("name", "pk")
        owned, read = (rows.filter(**{people: person}) for people in ("owners", "members"))
        return list(owned.values_list("code", flat=True)), list(read.values_list("code", flat=True))

    @transaction.atomic
    def put(self, *, actor: User, person: User, owns: Collection[str], reads: Collection[str]) -> None:
        """Sets whose lists stay as they are get no event."""
        owned, read = (set(codes) for codes in self.held(person=person))
        self.give(actor=actor, person=person, owns=set(owns) - owned, reads=set(reads) - read)
        leaving = {"owners": owned - set(owns), "members": read - set(reads)}
        rows = KnowledgeSet.objects.select_for_update().filter(tenant=person.tenant_id).order_by("pk")
        scope = scope_for(actor)
        for row in rows.filter(code__in=set().union(*leaving.values())):
            owners, members = (
                [pk for pk in getattr(row, name).values_list("pk", flat=True) if pk != person.pk]
                if row.code in leaving[name]
                else None
                for name in ("owners", "members")
            )
            set_members_put(scope=scope, actor=actor, set_id=row.pk, owners=owners, users=members)

    def read_by_group(self, *, group: UserGroup) -> list[tuple[str, int]]:
        rows = KnowledgeSet.objects.filter(member_groups=group).order_by("name", "pk")
        return [(row.shown_name, row.pk) for row in rows]


set_rights_register(SetsOfPeople())
