"""Who may see and change what, in plain words over the facts of a world.

Written from docs/roles.md and the documentation of the product, not from its selectors: what both get wrong in the same
way is all that this oracle cannot find.
"""

from __future__ import annotations

from tests.security.oracle.facts import Facts, Person
from tests.security.oracle.world import Secret

OPEN, ASK, CITE, DESK = "open", "ask", "cite", "desk"  # by which way something is looked at


class Rules:
    """Answers of the oracle."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    # ── sets, documents ─────────────────────────────────────────────────────────────────────────

    def of_tenant(self, who: Person, tenant: int) -> bool:
        """Somebody of the tenant, or an administrator of the site."""
        return who.is_platform or who.tenant == tenant

    def administers(self, who: Person, tenant: int) -> bool:
        return who.is_platform or (who.administers and who.tenant == tenant)

    def reads_set(self, who: Person, pk: int) -> bool:
        """May ask in it."""
        one = self.facts.sets[pk]
        named = who.pk in one.owners | one.editors | one.members or bool(who.groups & one.groups)
        return one.tenant == who.tenant and (one.is_open or named)

    def manages_set(self, who: Person, pk: int) -> bool:
        one = self.facts.sets[pk]
        return self.administers(who, one.tenant) or (one.tenant == who.tenant and who.pk in one.owners)

    def curates_set(self, who: Person, pk: int) -> bool:
        one = self.facts.sets[pk]
        return self.manages_set(who, pk) or (one.tenant == who.tenant and who.pk in one.editors)

    def knows_set(self, who: Person, pk: int) -> bool:
        """More than its name."""
        return self.reads_set(who, pk) or self.curates_set(who, pk)

    def manages_any(self, who: Person) -> bool:
        return who.administers or any(self.manages_set(who, pk) for pk in self.facts.sets)

    def curates_any(self, who: Person) -> bool:
        return who.administers or any(self.curates_set(who, pk) for pk in self.facts.sets)

    def asks(self, who: Person, pk: int) -> bool:
        """A search may touch the document."""
        one = self.facts.documents[pk]
        cleared = one.tenant == who.tenant and one.clearance <= who.clearance and not one.is_deleted
        named = self._named(who, one.by_keepers)
        return cleared and named and any(self.lets_in(who, pk, in_set) for in_set in one.sets)

    def lets_in(self, who: Person, pk: int, in_set: int) -> bool:
        """A set that holds the document lets them read it, by its own rights, those of the source, or both."""
        one, listed = self.facts.sets[in_set], self.facts.documents[pk].by_source
        if one.rights == "source" and listed is not None and one.tenant == who.tenant and self._named(who, listed):
            return True
        return self.reads_set(who, in_set) and (one.rights == "set" or self._named(who, listed))

    def is_named(self, who: Person, pk: int) -> bool:
        """Every list of readers of the document names them; most documents have none."""
        one = self.facts.documents[pk]
        return self._named(who, one.by_keepers) and self._named(who, one.by_source)

    def _named(self, who: Person, listed: tuple[frozenset[int], frozenset[int]] | None) -> bool:
        """Among the people and groups of a list; 0 is everybody, and without a list there is no restriction."""
        return listed is None or who.pk in listed[0] or bool({0, *who.groups} & listed[1])

    def sees(self, who: Person, pk: int) -> bool:
        """The document exists for them: its title."""
        one = self.facts.documents[pk]
        if one.is_deleted:
            return False
        if who.is_platform:
            return True
        if one.tenant != who.tenant or one.clearance > who.clearance:
            return False
        held = any(self.curates_set(who, in_set) for in_set in one.sets)
        held = held and (self.is_named(who, pk) or self._is_keeper(who, pk))
        return who.administers or held or self.asks(who, pk)

    def finds_deleted(self, who: Person, pk: int) -> bool:
        """Administrators find what was deleted on their pages, up to their clearance."""
        one = self.facts.documents[pk]
        cleared = who.is_platform or one.clearance <= who.clearance
        return one.is_deleted and self.administers(who, one.tenant) and cleared

    def restores(self, who: Person, pk: int) -> bool:
        """Undoes its deletion: who would keep it if it were there, up to their clearance."""
        one = self.facts.documents[pk]
        curates = who.administers or any(self.curates_set(who, s) for s in one.sets)
        cleared = who.is_platform or one.clearance <= who.clearance
        return one.is_deleted and cleared and curates and self._is_keeper(who, pk)

    def curates_document(self, who: Person, pk: int) -> bool:
        """It is in a set whose documents they change."""
        held = any(self.curates_set(who, in_set) for in_set in self.facts.documents[pk].sets)
        return self.sees(who, pk) and (who.administers or held)

    def opens(self, who: Person, pk: int) -> bool:
        """Pages through the live version."""
        if not self.sees(who, pk):
            return False
        one = self.facts.documents[pk]
        shown = any(self.reads_set(who, s) and self.facts.sets[s].shows_originals for s in one.sets)
        shown = shown or any(
            self.facts.sets[s].rights == "source"
            and self.facts.sets[s].shows_originals
            and one.by_source is not None
            and self._named(who, one.by_source)
            for s in one.sets
        )
        held = any(self.curates_set(who, s) for s in one.sets)
        return who.administers or shown or held or self.facts.row("source", one.source)["owner_id"] == who.pk

    def keeps(self, who: Person, pk: int) -> bool:
        """Changes the document, and sees its earlier versions."""
        return self.sees(who, pk) and self._is_keeper(who, pk)

    def _is_keeper(self, who: Person, pk: int) -> bool:
        one = self.facts.documents[pk]
        if self.administers(who, one.tenant):
            return True
        source = self.facts.row("source", one.source)
        all_sets = bool(one.sets) and all(self.curates_set(who, s) for s in one.sets)
        return source["owner_id"] == who.pk or all_sets

    def manages_source(self, who: Person, pk: int) -> bool:
        row = self.facts.row("source", pk)
        return self.administers(who, row["tenant_id"]) or (row["owner_id"] == who.pk and row["tenant_id"] == who.tenant)

    def sees_source(self, who: Person, pk: int) -> bool:
        """Owners of sets see what they may use, and of what their sets are composed."""
        row = self.facts.row("source", pk)
        if who.administers or row["tenant_id"] != who.tenant:
            return self.administers(who, row["tenant_id"])
        used = any(
            one["source_id"] == pk and self.manages_set(who, one["knowledge_set_id"])
            for one in self.facts.rows["set_source"].values()
        )
        return row["owner_id"] == who.pk or used or (self.manages_any(who) and bool(row["options"].get("shared")))

    # ── the rest ────────────────────────────────────────────────────────────────────────────────

    def sees_job(self, who: Person, pk: int) -> bool:
        row = self.facts.row("job", pk)
        return self.administers(who, row["tenant_id"]) or (
            row["created_by_id"] == who.pk and row["tenant_id"] == who.tenant
        )

    def sees_item(self, who: Person, pk: int) -> bool:
        """On the desk: of documents that they curate."""
        return self.curates_document(who, self.document_of_version(self.facts.row("item", pk)["version_id"]))

    def document_of_version(self, pk: int) -> int:
        return int(self.facts.row("version", pk)["document_id"])

    def reviews_message(self, who: Person, pk: str) -> bool:
        """Its question: administrators and reviewers of the tenant."""
        row = self.facts.row("conversation", str(self.facts.row("message", pk)["conversation_id"]))
        return who.is_staff and who.reviews and self.of_tenant(who, row["tenant_id"])

    def reviews_case(self, who: Person, pk: int) -> bool:
        """Nobody reviews an answer that rests on what is above them; owners those of their sets that they may open."""
        message = self.facts.cases[pk]
        talk = self.facts.row("conversation", str(self.facts.row("message", message)["conversation_id"]))
        if who.is_platform:
            return True
        if not who.is_staff or talk["tenant_id"] != who.tenant:
            return False
        cited = self.facts.cited.get(message, set())
        if who.reviews:
            named = who.administers or all(self.is_named(who, one) for one in cited)
            return named and all(self.facts.documents[one].clearance <= who.clearance for one in cited)
        about = any(self.manages_set(who, s) for one in cited for s in self.facts.documents[one].sets)
        return about and all(self.sees(who, one) for one in cited)

    def case_of(self, message: str) -> int | None:
        return next((pk for pk, of in self.facts.cases.items() if of == message), None)

    def judges(self, who: Person, tenant: int) -> bool:
        """Opens the pages of golden sets."""
        return who.is_staff and self.of_tenant(who, tenant) and (who.reviews or self.manages_any(who))

    def keeps_golden(self, who: Person, pk: int) -> bool:
        row = self.facts.row("golden", pk)
        if not self.judges(who, row["tenant_id"]):
            return False
        sets = self.facts.golden_sets.get(pk, set())
        owned = bool(sets) and all(self.manages_set(who, one) for one in sets)
        return who.reviews or row["created_by_id"] == who.pk or owned

    def sees_change(self, who: Person, pk: int) -> bool:
        row = self.facts.row("options_change", pk)
        if row["knowledge_set_id"] is not None:
            return self.manages_set(who, row["knowledge_set_id"])
        return self.administers(who, row["tenant_id"])

    def sees_request(self, who: Person, pk: int) -> bool:
        row = self.facts.row("request", pk)
        return row["user_id"] == who.pk or self.manages_set(who, row["knowledge_set_id"])

    def sees_pair(self, who: Person, pk: int) -> bool:
        row = self.facts.row("pair", pk)
        both = (row["first_id"], row["second_id"])
        held = any(self.curates_set(who, s) for one in both for s in self.facts.documents[one].sets)
        return held and all(self.opens(who, one) for one in both)

    # ── words ───────────────────────────────────────────────────────────────────────────────────

    def may_see(self, who: Person | None, secret: Secret, way: str) -> bool:
        """Whether a word may stand in an answer to this person at all."""
        if who is None:
            return False
        found: bool = getattr(self, f"_{secret.kind}")(who, secret.pk, secret.facet, way)
        return found

    def _tenant(self, who: Person, pk: int, facet: str, way: str) -> bool:
        return self.of_tenant(who, pk)

    def _user(self, who: Person, pk: int, facet: str, way: str) -> bool:
        row = self.facts.row("user", pk)
        if facet in ("username", "first_name"):  # of an administrator of the site also where they work for others
            return self.of_tenant(who, row["tenant_id"]) or (who.administers and self.facts.people[pk].is_platform)
        if facet == "department" and self._decides_about(who, pk):
            return True
        return who.pk == pk or self.administers(who, row["tenant_id"])

    def _decides_about(self, who: Person, pk: int) -> bool:
        """The person has asked them for access."""
        rows = self.facts.rows["request"].values()
        return any(row["user_id"] == pk and self.manages_set(who, row["knowledge_set_id"]) for row in rows)

    def _group(self, who: Person, pk: int, facet: str, way: str) -> bool:
        tenant = self.facts.row("group", pk)["tenant_id"]
        named = any(pk in one.groups and self.manages_set(who, n) for n, one in self.facts.sets.items())
        return self.of_tenant(who, tenant) and (who.is_staff or named or pk in who.groups)

    def _key(self, who: Person, pk: int, facet: str, way: str) -> bool:
        owner = self.facts.row("user", self.facts.row("key", pk)["user_id"])
        return who.pk in (owner["id"], owner["service_owner_id"]) or self.administers(who, owner["tenant_id"])

    def _event(self, who: Person, pk: int, facet: str, way: str) -> bool:
        return self.administers(who, self.facts.row("event", pk)["tenant_id"])

    def _set(self, who: Person, pk: int, facet: str, way: str) -> bool:
        if facet in ("name", "code"):
            return self.of_tenant(who, self.facts.sets[pk].tenant)
        return self.knows_set(who, pk)

    def _set_source(self, who: Person, pk: int, facet: str, way: str) -> bool:
        row = self.facts.row("set_source", pk)
        return self.manages_set(who, row["knowledge_set_id"]) or self.manages_source(who, row["source_id"])

    def _source(self, who: Person, pk: int, facet: str, way: str) -> bool:
        if facet == "name" and way in (OPEN, DESK):
            shown = any(one.source == pk and self.sees(who, n) for n, one in self.facts.documents.items())
            return shown or self.sees_source(who, pk)
        return self.sees_source(who, pk)

    def _place(self, who: Person, pk: int, facet: str, way: str) -> bool:
        """Administrators of the tenant, and who makes sources of folders that are open to owners."""
        row = self.facts.row("place", pk)
        opened = row["for_owners"] and row["tenant_id"] == who.tenant and self.manages_any(who)
        return self.administers(who, row["tenant_id"]) or opened

    def _language_model(self, who: Person, pk: int, facet: str, way: str) -> bool:
        """Administrators of the site; those of tenants see names of models that are used, and these are not."""
        return who.is_platform

    _search_model = _language_model

    def sees_triple(self, who: Person, pk: int) -> bool:
        """An imported fact with its set, a fact of a passage with the live version of its document."""
        row = self.facts.row("triple", pk)
        if row["document_id"] is None:
            return self.reads_set(who, row["knowledge_set_id"])
        is_live = self.facts.documents[row["document_id"]].live == row["version_id"]
        return is_live and self.asks(who, row["document_id"])

    def lists_triple(self, who: Person, pk: int) -> bool:
        """Going through facts is reading their sentences: those of a document that may be opened."""
        document = self.facts.row("triple", pk)["document_id"]
        return self.sees_triple(who, pk) and (document is None or self.opens(who, document))

    def _triple(self, who: Person, pk: int, facet: str, way: str) -> bool:
        return self.sees_triple(who, pk)

    def _triple_import(self, who: Person, pk: int, facet: str, way: str) -> bool:
        return self.curates_set(who, self.facts.row("triple_import", pk)["knowledge_set_id"])

    def sees_set_file(self, who: Person, pk: int) -> bool:
        """Who has started it, and administrators."""
        row = self.facts.row("set_file", pk)
        return row["actor_id"] == who.pk or self.administers(who, row["tenant_id"])

    def _set_file(self, who: Person, pk: int, facet: str, way: str) -> bool:
        return self.sees_set_file(who, pk)

    def _handler(self, who: Person, pk: int, facet: str, way: str) -> bool:
        tenant = self.facts.row("handler", pk)["tenant_id"]
        if facet == "name":
            return self.of_tenant(who, tenant) and self.manages_any(who)
        return self.administers(who, tenant)

    def _attribute(self, who: Person, pk: int, facet: str, way: str) -> bool:
        return self.of_tenant(who, self.facts.row("attribute", pk)["tenant_id"])

    def _document(self, who: Person, pk: int, facet: str, way: str) -> bool:
        if facet == "log":
            return self.administers(who, self.facts.documents[pk].tenant)
        return self.asks(who, pk) if way == ASK else self.sees(who, pk) or (way == DESK and self.finds_deleted(who, pk))

    def _reader_list(self, who: Person, pk: int, facet: str, way: str) -> bool:
        """Who keeps a document is told who reads it."""
        documents = self.facts.rows["document"].items()
        held = [n for n, row in documents if pk in (row["readers_id"], row["source_readers_id"])]
        return any(self.keeps(who, int(one)) or self.finds_deleted(who, int(one)) for one in held)

    def _version(self, who: Person, pk: int, facet: str, way: str) -> bool:
        document = self.document_of_version(pk)
        if facet in ("file_name", "error"):
            started = any(
                row["version_id"] == pk and self.sees_job(who, row["job_id"])
                for row in self.facts.rows["item"].values()
            )
            return self.sees(who, document) and (self.curates_document(who, document) or started)
        is_live = self.facts.documents[document].live == pk
        if way == ASK:
            return is_live and self.asks(who, document)
        if way == CITE and self.sees(who, document) and pk in self._cited_for(who):
            return True
        found = way == DESK and self.finds_deleted(who, document)
        return found or (is_live and self.opens(who, document)) or self.keeps(who, document)

    def _cited_for(self, who: Person) -> set[int]:
        """Versions that answers cite which the person has got or reviews."""
        own = self.facts.cited_versions.get(who.pk, set())
        if not who.reviews and not self.manages_any(who):
            return own
        return {version for of in self.facts.cited_versions.values() for version in of}

    def _edit(self, who: Person, pk: int, facet: str, way: str) -> bool:
        return self.keeps(who, self.facts.row("edit", pk)["document_id"])

    def _job(self, who: Person, pk: int, facet: str, way: str) -> bool:
        source = self.facts.row("job", pk)["source_id"]
        return self.sees_job(who, pk) or (source is not None and self.manages_source(who, source))

    def keeps_lexicon(self, who: Person, kind: str, pk: int | str) -> bool:
        """May change the lexicon that the row belongs to; what stems from documents only up to the own clearance."""
        row = self.facts.row(kind, pk)
        if row.get("clearance", 0) > who.clearance:
            return False
        if row["knowledge_set_id"] is None:
            return who.administers and who.tenant == row["tenant_id"]
        return self.curates_set(who, row["knowledge_set_id"])

    def _lexicon_term(self, who: Person, pk: int, facet: str, way: str) -> bool:
        return self.keeps_lexicon(who, "lexicon_term", pk)

    def _options_change(self, who: Person, pk: int, facet: str, way: str) -> bool:
        return self.sees_change(who, pk)

    def _request(self, who: Person, pk: int, facet: str, way: str) -> bool:
        return self.sees_request(who, pk)

    def _notification(self, who: Person, pk: int, facet: str, way: str) -> bool:
        return bool(self.facts.row("notification", pk)["recipient_id"] == who.pk)

    def _embed(self, who: Person, pk: int, facet: str, way: str) -> bool:
        return self.administers(who, self.facts.row("embed", pk)["tenant_id"])

    def _announcement(self, who: Person, pk: int, facet: str, way: str) -> bool:
        """Everybody of the tenant while it is shown; one that is switched off its administrators only."""
        row = self.facts.row("announcement", pk)
        shown = row["is_active"] and row["tenant_id"] == who.tenant
        return bool(shown) or self.administers(who, row["tenant_id"])

    def _attachment(self, who: Person, pk: str, facet: str, way: str) -> bool:
        """Its person, and nobody else whatever the role."""
        return bool(self.facts.row("attachment", pk)["user_id"] == who.pk)

    def _conversation(self, who: Person, pk: str, facet: str, way: str) -> bool:
        row = self.facts.row("conversation", pk)
        reviewing = who.is_staff and who.reviews and self.of_tenant(who, row["tenant_id"])
        return row["user_id"] == who.pk or reviewing

    def _message(self, who: Person, pk: str, facet: str, way: str) -> bool:
        if self.facts.row("message", pk)["user_id"] == who.pk:
            return facet != "trace"
        case = self.case_of(pk)
        reviewing = self.reviews_message(who, pk) or (case is not None and self.reviews_case(who, case))
        if facet == "question":
            return reviewing
        return reviewing and all(self.sees(who, one) for one in self.facts.cited.get(pk, ()))

    def _case(self, who: Person, pk: int, facet: str, way: str) -> bool:
        own = facet == "comment" and self.facts.row("message", self.facts.cases[pk])["user_id"] == who.pk
        return own or self.reviews_case(who, pk)

    def reads_approved(self, who: Person, pk: int) -> bool:
        """Reviewers and owners of its documents, and who approved it; nobody who may not open every source."""
        row, sources = self.facts.row("approved", pk), self.facts.approved.get(pk, set())
        if not self.of_tenant(who, row["tenant_id"]) or not all(self.sees(who, one) for one in sources):
            return False
        near = any(self.manages_set(who, s) for one in sources for s in self.facts.documents[one].sets)
        return who.is_staff and (who.reviews or who.administers or near or row["approved_by_id"] == who.pk)

    def _approved(self, who: Person, pk: int, facet: str, way: str) -> bool:
        return self.reads_approved(who, pk)

    def sees_wanted(self, who: Person, pk: int) -> bool:
        """Who asked for the document, and who owns the set."""
        row = self.facts.row("wanted", pk)
        mine = row["asked_by_id"] == who.pk and self.of_tenant(who, self.facts.sets[row["knowledge_set_id"]].tenant)
        return mine or self.manages_set(who, row["knowledge_set_id"])

    def _wanted(self, who: Person, pk: int, facet: str, way: str) -> bool:
        return self.sees_wanted(who, pk)

    def _golden(self, who: Person, pk: int, facet: str, way: str) -> bool:
        return self.judges(who, self.facts.row("golden", pk)["tenant_id"])
