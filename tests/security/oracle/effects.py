"""What a request changed in the database, and whether the person might change it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db import connection

from knowledge.models import QueryAdapter
from tests.database import database
from tests.security.oracle.facts import Person, Row
from tests.security.oracle.rules import Rules

# Counters and indexes that follow from documents, sets and answers; they name nobody and hold nothing of their own.
DERIVED = {
    *("knowledge_corpusepoch", "knowledge_setepoch", "knowledge_lexicalstatistics", "knowledge_term"),
    *(
        "knowledge_indexentry",
        "knowledge_wholevector",
        "knowledge_setvector",
        "knowledge_passagesentences",
        "knowledge_tenantvectors",
    ),
    "knowledge_vectorcells",
    "knowledge_entrytext",
    *("knowledge_tenantbackend", "knowledge_backendchange", "knowledge_sketchband", "chat_strategystatistics"),
    "knowledge_embedderfit",
    *("knowledge_representationretry", "knowledge_queueturn", "chat_turnfigures"),
}
BESIDE = ("documents.withdraw", "document.security", "source.floor")  # events without an actor, beside an act
CASE_COLUMNS = {"*", "state", "closed", "assignee_id", "resolution"}  # of a case that a vote opens again
OF_FRAMEWORK = ("django_", "auth_", "axes_", "pgtrigger", "psqlextra")
Table = dict[str, Row]  # by key


@dataclass(frozen=True, slots=True)
class Change:
    """One row before and after; None: it was not there."""

    table: str
    before: Row | None
    after: Row | None

    @property
    def row(self) -> Row:
        """The row as it was, or the new one."""
        return self.before or self.after or {}

    @property
    def columns(self) -> set[str]:
        if self.before is None or self.after is None:
            return {"*"}
        return {name for name, value in self.after.items() if self.before.get(name) != value}

    def __str__(self) -> str:
        verb = "adds" if self.before is None else "removes" if self.after is None else "changes"
        what = sorted(self.columns) if self.columns != {"*"} else ""
        return f"{verb} {self.table} {self.row.get('id', self.row)} {what}"


class Effects:
    """Compares the tables of the product with how they were."""

    def __init__(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition"
                " AND relnamespace = 'public'::regnamespace"
            )
            names = sorted(name for (name,) in cursor.fetchall())
        self.tables = [name for name in names if name not in DERIVED and not name.startswith(OF_FRAMEWORK)]
        known = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}
        assert set(self.tables) <= known, f"tables without a model: {set(self.tables) - known}"
        self.marks = database.marks()
        self.rows = {table: self._rows(table) for table in self.tables}

    def _rows(self, table: str) -> Table:
        with connection.cursor() as cursor:
            cursor.execute(f'SELECT to_jsonb(x)::text FROM "{table}" x')
            found = [json.loads(text) for (text,) in cursor.fetchall()]
        return {str(row.get("id", sorted(row.items()))): row for row in found}

    def changes(self) -> list[Change]:
        """Rows that are not as they were."""
        marks, found = database.marks(), []
        for table in self.tables:
            if marks.get(table) == self.marks.get(table):
                continue
            was, now = self.rows[table], self._rows(table)
            keys = [key for key in {**was, **now} if was.get(key) != now.get(key)]
            found += [Change(table, was.get(key), now.get(key)) for key in keys]
        return found


class Permits:
    """Whether a person may make a change, by the rules and the facts from before it."""

    def __init__(self, rules: Rules) -> None:
        self.rules, self.facts = rules, rules.facts

    def faults(self, who: Person, changes: list[Change]) -> list[str]:
        """Changes that the person has no right to make."""
        fresh = {(c.table, c.after["id"]) for c in changes if c.before is None and c.after and "id" in c.after}
        return [str(one) for one in changes if not self.allows(who, one, fresh)]

    def allows(self, who: Person, change: Change, fresh: set[tuple[str, Any]]) -> bool:
        judge: Callable[[Person, Change, set[tuple[str, Any]]], bool]
        judge = getattr(self, f"_{change.table}")
        return judge(who, change, fresh)

    # ── knowledge ───────────────────────────────────────────────────────────────────────────────

    def _knowledge_document(self, who: Person, change: Change, fresh: Any) -> bool:
        row = change.row
        if change.before is None:
            return row["created_by_id"] == who.pk and self.rules.of_tenant(who, row["tenant_id"])
        if self.rules.keeps(who, row["id"]) or self._finds_or_restores(who, row["id"]):
            return True
        if change.columns <= {"rating", "ratings", "updated"}:  # readers judge answers
            return any(row["id"] in self.facts.cited.get(m, ()) and r["user_id"] == who.pk for m, r in self._messages())
        composes = change.columns <= {"handled", "updated"}  # into an own set, from a source that is shared
        return composes and self._usable(who, row["source_id"])

    def _knowledge_readerlist(self, who: Person, change: Change, fresh: Any) -> bool:
        """Lists are kept by their content and say nothing until a document refers to them."""
        return change.before is None and self.rules.of_tenant(who, change.row["tenant_id"])

    def _messages(self) -> list[tuple[str, Row]]:
        return [(str(pk), row) for pk, row in self.facts.rows["message"].items()]

    def _usable(self, who: Person, source: int) -> bool:
        row = self.facts.row("source", source)
        shared = row["tenant_id"] == who.tenant and bool(row["options"].get("shared"))
        return shared or self.rules.manages_source(who, source)

    def _knowledge_document_sets(self, who: Person, change: Change, fresh: set[tuple[str, Any]]) -> bool:
        in_set, document = change.row["knowledgeset_id"], change.row["document_id"]
        if ("knowledge_document", document) in fresh:
            return self.rules.curates_set(who, in_set)
        if change.before is not None:  # taken out of an own set, or the document is their own
            return self.rules.manages_set(who, in_set) or self.rules.keeps(who, document)
        may_add = self.rules.keeps(who, document) or self._usable(who, self.facts.documents[document].source)
        return self.rules.curates_set(who, in_set) and may_add

    def _by_document(self, who: Person, document: int, fresh: set[tuple[str, Any]]) -> bool:
        if ("knowledge_document", document) in fresh:
            return True
        return self.rules.keeps(who, document) or self._finds_or_restores(who, document)

    def _finds_or_restores(self, who: Person, document: int) -> bool:
        """Of a deleted document."""
        return self.rules.finds_deleted(who, document) or self.rules.restores(who, document)

    def _knowledge_documentversion(self, who: Person, change: Change, fresh: Any) -> bool:
        return self._by_document(who, change.row["document_id"], fresh)

    def _knowledge_documentreview(self, who: Person, change: Change, fresh: Any) -> bool:
        if change.before is not None and change.columns == {"reviewed_by_id"}:
            return self._person(who, change.before["reviewed_by_id"])  # who did it is gone
        return self._by_document(who, change.row["document_id"], fresh)

    def _knowledge_documentnames(self, who: Person, change: Change, fresh: Any) -> bool:
        return self._by_document(who, change.row["document_id"], fresh)

    def _knowledge_chunkedit(self, who: Person, change: Change, fresh: Any) -> bool:
        return self._by_document(who, change.row["document_id"], fresh)

    def _by_version(self, who: Person, version: int, fresh: set[tuple[str, Any]]) -> bool:
        if ("knowledge_documentversion", version) in fresh:
            return True  # the version itself was judged
        return self._by_document(who, self.rules.document_of_version(version), fresh)

    def _knowledge_chunk(self, who: Person, change: Change, fresh: Any) -> bool:
        return self._by_version(who, change.row["version_id"], fresh)

    def _knowledge_documentpicture(self, who: Person, change: Change, fresh: Any) -> bool:
        return self._by_version(who, change.row["version_id"], fresh)

    def _knowledge_duplicatepair(self, who: Person, change: Change, fresh: Any) -> bool:
        both = (change.row["first_id"], change.row["second_id"])
        keeps = [self.rules.keeps(who, one) for one in both]
        return any(keeps) if change.after is None else all(keeps)  # gone with one of them, or decided for both

    def _knowledge_duplicatepair_dismissed_by(self, who: Person, change: Change, fresh: Any) -> bool:
        return change.row["user_id"] == who.pk or who.administers

    def _knowledge_documentrelation(self, who: Person, change: Change, fresh: Any) -> bool:
        """By who keeps either end; between editions, both. Gone with either document, or bound by what arrives."""
        ends = [change.row["source_id"], change.row["target_id"]]
        keeps = [self._by_document(who, one, fresh) for one in ends if one is not None]
        is_edition = change.row["kind"] == "replaces" and change.after is not None
        return all(keeps) if is_edition else any(keeps)

    def _knowledge_ingestjob(self, who: Person, change: Change, fresh: Any) -> bool:
        row = change.row
        started = row["created_by_id"] == who.pk and self.rules.of_tenant(who, row["tenant_id"])
        if change.columns <= {"source_id"} and row["source_id"] is not None:
            return self.rules.manages_source(who, row["source_id"])
        return started or (change.before is not None and self.rules.administers(who, row["tenant_id"]))

    def _knowledge_ingestitem(self, who: Person, change: Change, fresh: set[tuple[str, Any]]) -> bool:
        row = change.row
        if ("knowledge_ingestjob", row["job_id"]) in fresh:
            return self._by_version(who, row["version_id"], fresh) or self.rules.curates_document(
                who, self.rules.document_of_version(row["version_id"])
            )
        started = row["job_id"] in self.facts.rows["job"] and self.rules.sees_job(who, row["job_id"])
        return started or self._by_version(who, row["version_id"], fresh)

    def _knowledge_syncrun(self, who: Person, change: Change, fresh: set[tuple[str, Any]]) -> bool:
        job = change.row["job_id"]
        return ("knowledge_ingestjob", job) in fresh or self.rules.sees_job(who, job)

    def _knowledge_knowledgeset(self, who: Person, change: Change, fresh: Any) -> bool:
        if change.before is None:
            return who.creates_sets and self.rules.of_tenant(who, change.row["tenant_id"])
        return self.rules.manages_set(who, change.row["id"])

    def _by_set(self, who: Person, pk: int, fresh: set[tuple[str, Any]]) -> bool:
        return ("knowledge_knowledgeset", pk) in fresh or self.rules.manages_set(who, pk)

    def _of_a_set(self, who: Person, change: Change, fresh: Any) -> bool:
        """A list of people of a set; or the person or group itself is removed by an administrator."""
        row = change.row
        if change.after is None and who.administers:
            return self.rules.administers(who, self.facts.sets[row["knowledgeset_id"]].tenant)
        return self._by_set(who, row["knowledgeset_id"], fresh)

    _knowledge_knowledgeset_owners = _knowledge_knowledgeset_editors = _of_a_set
    _knowledge_knowledgeset_members = _knowledge_knowledgeset_member_groups = _of_a_set

    def _knowledge_setsource(self, who: Person, change: Change, fresh: Any) -> bool:
        row = change.row
        gone = change.after is None and self.rules.manages_source(who, row["source_id"])
        return gone or (self._by_set(who, row["knowledge_set_id"], fresh) and self._usable_or_there(who, row))

    def _usable_or_there(self, who: Person, row: Row) -> bool:
        there = any(
            (one["knowledge_set_id"], one["source_id"]) == (row["knowledge_set_id"], row["source_id"])
            for one in self.facts.rows["set_source"].values()
        )
        return there or row["source_id"] not in self.facts.rows["source"] or self._usable(who, row["source_id"])

    def _knowledge_source(self, who: Person, change: Change, fresh: Any) -> bool:
        row = change.row
        if change.before is None:
            by_itself = row["owner_id"] is None and row["kind"] in ("upload", "api", "url")
            may_make = self.rules.manages_any(who) or by_itself
            return may_make and self.rules.of_tenant(who, row["tenant_id"])
        return self.rules.manages_source(who, row["id"])

    def _knowledge_siteoptions(self, who: Person, change: Change, fresh: Any) -> bool:
        return self.rules.administers(who, change.row["tenant_id"])

    def _knowledge_optionschange(self, who: Person, change: Change, fresh: Any) -> bool:
        row = change.row
        if row["knowledge_set_id"] is None:
            return self.rules.administers(who, row["tenant_id"])
        return self._by_set(who, row["knowledge_set_id"], fresh)

    def _of_a_lexicon(self, who: Person, change: Change, fresh: Any) -> bool:
        """Rows of the lexicon of a set or of the own tenant."""
        row = change.row
        if change.columns <= {"author_id"} and self._person(who, row["author_id"]):
            return True  # who wrote it is gone
        if row.get("clearance", 0) > who.clearance:  # unless it goes with the whole set
            in_set = row["knowledge_set_id"]
            return change.after is None and in_set is not None and self.rules.manages_set(who, in_set)
        if row["knowledge_set_id"] is None:
            return who.administers and who.tenant == row["tenant_id"]
        in_set = row["knowledge_set_id"]
        return ("knowledge_knowledgeset", in_set) in fresh or self.rules.curates_set(who, in_set)

    _knowledge_lexiconterm = _knowledge_lexiconversion = _knowledge_lexiconchange = _of_a_lexicon

    def _work_job(self, who: Person, change: Change, fresh: Any) -> bool:
        """One's own, those of a tenant that one administers, and what kinds let others start and end."""
        row = change.row
        if row["author_id"] == who.pk or self.rules.administers(who, row["tenant_id"]):
            return True
        if change.columns <= {"author_id"} and self._person(who, row["author_id"]):
            return True  # who started it is gone
        if row["kind"] == "evaluation.diagnose_cases":
            return who.is_staff and who.reviews and row["tenant_id"] == who.tenant
        if row["kind"] == "evaluation.propose_cases":
            return self._of_golden(who, row["arguments"]["golden_set_id"], fresh)
        if row["kind"] == "evaluation.train_adapter":
            adapter = QueryAdapter.objects.get(pk=row["arguments"]["version_id"])
            return self._by_set(who, adapter.knowledge_set_id, fresh)
        set_id = row["arguments"].get("set_id")
        return row["kind"] == "knowledge.mine_terms" and set_id is not None and self.rules.curates_set(who, set_id)

    def _by_tenant(self, who: Person, change: Change, fresh: Any) -> bool:
        return self.rules.administers(who, change.row["tenant_id"])

    _knowledge_sourcehandler = _knowledge_attribute = _accounts_usergroup = _by_tenant

    def _knowledge_handlerrule(self, who: Person, change: Change, fresh: set[tuple[str, Any]]) -> bool:
        handler = change.row["handler_id"]
        if ("knowledge_sourcehandler", handler) in fresh:
            return True
        return self.rules.administers(who, self.facts.row("handler", handler)["tenant_id"])

    def _knowledge_accessrequest(self, who: Person, change: Change, fresh: Any) -> bool:
        row = change.row
        return row["user_id"] == who.pk or self.rules.manages_set(who, row["knowledge_set_id"])

    # ── people ──────────────────────────────────────────────────────────────────────────────────

    def _notifications_notification(self, who: Person, change: Change, fresh: Any) -> bool:
        recipient = change.row["recipient_id"]
        if change.before is None:  # somebody is told of an act
            return recipient not in self.facts.people or self.rules.of_tenant(who, self.facts.people[recipient].tenant)
        return recipient == who.pk or self._person(who, recipient)

    def _person(self, who: Person, pk: int | None) -> bool:
        """An administrator of the person."""
        return pk in self.facts.people and self.rules.administers(who, self.facts.people[pk or 0].tenant)

    def _accounts_user(self, who: Person, change: Change, fresh: Any) -> bool:
        row = change.row
        if row["id"] == who.pk and not change.columns & {"tenant_id", "clearance", "is_staff", "is_superuser"}:
            return not change.columns & {"can_create_sets", "username", "service_owner_id", "*"} or who.administers
        return self.rules.administers(who, row["tenant_id"])

    def _of_user(self, who: Person, change: Change, fresh: set[tuple[str, Any]]) -> bool:
        user = change.row["user_id"]
        return user == who.pk or ("accounts_user", user) in fresh or self._person(who, user)

    _accounts_user_user_groups = _accounts_user_user_permissions = _accounts_user_groups = _of_user
    _accounts_externalidentity = _accounts_browsersession = _chat_askingpreferences = _of_user
    _otp_totp_totpdevice = _of_user

    def _otp_static_staticdevice(self, who: Person, change: Change, fresh: Any) -> bool:
        return self._of_user(who, change, fresh)

    def _otp_static_statictoken(self, who: Person, change: Change, fresh: Any) -> bool:
        return True  # of a device, which was judged

    def _accounts_apikey(self, who: Person, change: Change, fresh: Any) -> bool:
        user = change.row["user_id"]
        owns = user in self.facts.people and self.facts.row("user", user)["service_owner_id"] == who.pk
        return owns or self._of_user(who, change, fresh)

    def _knowledge_triple(self, who: Person, change: Change, fresh: Any) -> bool:
        return self.rules.curates_set(who, change.row["knowledge_set_id"])

    _knowledge_tripleimport = _knowledge_tripledecision = _knowledge_triple

    def _knowledge_setfile(self, who: Person, change: Change, fresh: Any) -> bool:
        """One's own, and those of a tenant that one administers; a set that is deleted leaves its files."""
        row = change.row
        if row["actor_id"] == who.pk or self.rules.administers(who, row["tenant_id"]):
            return True
        return change.columns <= {"knowledge_set_id"} or (
            change.columns <= {"actor_id"} and self._person(who, row["actor_id"])
        )

    def _knowledge_setfiledocument(self, who: Person, change: Change, fresh: Any) -> bool:
        return False  # written by jobs only, which the walk does not run

    def _knowledge_triplename(self, who: Person, change: Change, fresh: Any) -> bool:
        return self.rules.of_tenant(who, change.row["tenant_id"])  # of a fact, which was judged

    def _knowledge_entityreading(self, who: Person, change: Change, fresh: Any) -> bool:
        return self.rules.of_tenant(who, change.row["tenant_id"])  # of a version, which was judged

    _knowledge_mention = _knowledge_entity = _knowledge_entityalias = _knowledge_entityreading

    def _knowledge_entitydecision(self, who: Person, change: Change, fresh: Any) -> bool:
        home = change.row["knowledge_set_id"]
        if home is None:
            return self.rules.administers(who, change.row["tenant_id"])
        return self.rules.curates_set(who, home)

    def _knowledge_sourceplace(self, who: Person, change: Change, fresh: Any) -> bool:
        return who.is_platform

    _knowledge_languagemodel = _knowledge_modelserver = _knowledge_modelpurpose = _knowledge_sourceplace
    _knowledge_modelexam = _knowledge_searchmodel = _knowledge_embedderswitch = _knowledge_sourceplace

    def _accounts_tenant(self, who: Person, change: Change, fresh: Any) -> bool:
        return who.is_platform

    def _accounts_auditevent(self, who: Person, change: Change, fresh: Any) -> bool:
        row = change.row
        if change.before is None:
            by_itself = row["actor_id"] is None and row["action"] in BESIDE
            return (by_itself or row["actor_id"] == who.pk) and self.rules.of_tenant(who, row["tenant_id"])
        erased = change.after is not None and change.columns <= {"actor_name", "target", "data"}
        return erased and self.rules.administers(who, row["tenant_id"])

    # ── answers and judgements ──────────────────────────────────────────────────────────────────

    def _chat_conversation(self, who: Person, change: Change, fresh: Any) -> bool:
        return self._of_user(who, change, fresh)

    def _chat_conversation_sets(self, who: Person, change: Change, fresh: set[tuple[str, Any]]) -> bool:
        row = change.row
        talk = str(row["conversation_id"])
        own = talk not in self.facts.rows["conversation"] or self._talks(who, talk)
        return own or (change.after is None and self.rules.manages_set(who, row["knowledgeset_id"]))

    def _talks(self, who: Person, talk: str) -> bool:
        user = self.facts.row("conversation", talk)["user_id"]
        return user == who.pk or self._person(who, user)

    def _chat_message(self, who: Person, change: Change, fresh: Any) -> bool:
        talk = str(change.row["conversation_id"])
        return talk not in self.facts.rows["conversation"] or self._talks(who, talk)

    def _of_message(self, who: Person, change: Change, fresh: Any) -> bool:
        message = str(change.row["message_id"])
        if message not in self.facts.rows["message"]:
            return True
        return self._talks(who, str(self.facts.row("message", message)["conversation_id"]))

    _chat_messagecitation = _chat_attachmentcitation = _chat_factcitation = _of_message

    def _chat_embed(self, who: Person, change: Change, fresh: Any) -> bool:
        return self.rules.administers(who, change.row["tenant_id"])

    def _of_embed(self, who: Person, change: Change, fresh: Any) -> bool:
        row = self.facts.rows["embed"].get(change.row["embed_id"])
        return row is None or self.rules.administers(who, row["tenant_id"])

    _chat_embedkey = _chat_embedsession = _chat_embed_sets = _of_embed

    def _chat_announcement(self, who: Person, change: Change, fresh: Any) -> bool:
        return self.rules.administers(who, change.row["tenant_id"])

    def _chat_announcementdismissal(self, who: Person, change: Change, fresh: Any) -> bool:
        if change.row["user_id"] == who.pk:
            return True
        row = self.facts.rows["announcement"].get(change.row["announcement_id"])
        gone = row is not None and self.rules.administers(who, row["tenant_id"])
        return change.after is None and (gone or self._person(who, change.row["user_id"]))

    def _chat_attachment(self, who: Person, change: Change, fresh: Any) -> bool:
        return self._of_user(who, change, fresh)

    def _chat_attachmentpassage(self, who: Person, change: Change, fresh: Any) -> bool:
        of = change.row["attachment_id"]
        rows = [row for row in self.facts.rows["attachment"].values() if row["id"] == of]
        return not rows or rows[0]["user_id"] == who.pk or self._person(who, rows[0]["user_id"])

    def _feedback_vote(self, who: Person, change: Change, fresh: Any) -> bool:
        return self._of_user(who, change, fresh) and self._of_message(who, change, fresh)

    _feedback_signal = _feedback_vote
    _feedback_answercheck = _of_message

    def _feedback_badcase(self, who: Person, change: Change, fresh: Any) -> bool:
        if self._of_message(who, change, fresh) and change.columns <= CASE_COLUMNS:
            return True
        if change.columns == {"assignee_id"} and self._person(who, change.row["assignee_id"]):
            return True  # who was assigned is gone
        if change.columns == {"marked_document_id"} and change.row["marked_document_id"] is None:
            return True  # the marked document is gone
        return change.after is not None and self.rules.reviews_case(who, change.row["id"])

    def _feedback_casebatch(self, who: Person, change: Change, fresh: Any) -> bool:
        if change.columns == {"actor_id"} and self._person(who, change.row["actor_id"]):
            return True  # who closed the cases is gone
        return who.is_staff and change.row["actor_id"] == who.pk and change.row["tenant_id"] == who.tenant

    def _feedback_casemove(self, who: Person, change: Change, fresh: Any) -> bool:
        case = change.row["case_id"]
        if case not in self.facts.cases or self.rules.reviews_case(who, case):
            return True  # a case that the same request opened is judged by its own row
        if change.columns == {"actor_id"} and self._person(who, change.row["actor_id"]):
            return True  # who decided is gone
        message = self.facts.cases[case]
        if message not in self.facts.rows["message"]:
            return True
        return self._talks(who, str(self.facts.row("message", message)["conversation_id"]))

    def _evaluation_diagnosis(self, who: Person, change: Change, fresh: Any) -> bool:
        if change.before is not None:  # with its question; who made it, or its document, is gone
            return self._of_message(who, change, fresh) or change.columns <= {"created_by_id", "document_id"}
        cases = (case for case, message in self.facts.cases.items() if str(message) == str(change.row["message_id"]))
        return any(self.rules.reviews_case(who, case) for case in cases)

    def _chat_approvedanswer(self, who: Person, change: Change, fresh: Any) -> bool:
        row = change.row
        if change.before is None:
            return row["approved_by_id"] == who.pk and self.rules.of_tenant(who, row["tenant_id"])
        follows = {"approved_by_id", "message_id", "used", "last_used", "withdrawn", "withdrawal"}
        if change.after is not None and change.columns <= follows - {"withdrawn", "withdrawal"}:
            return True  # with a person or a message, or counted
        return self.rules.reads_approved(who, row["id"]) or row["withdrawal"] != "by_hand"

    def _chat_approvedsource(self, who: Person, change: Change, fresh: Any) -> bool:
        return ("chat_approvedanswer", change.row["answer_id"]) in fresh or change.after is None

    def _evaluation_remedyapplication(self, who: Person, change: Change, fresh: Any) -> bool:
        case = change.row["case_id"]
        left = change.before is not None and change.columns <= {"applied_by_id", "undone_by_id", "document_id"}
        return case not in self.facts.cases or self.rules.reviews_case(who, case) or left

    def _evaluation_optionsdraft(self, who: Person, change: Change, fresh: Any) -> bool:
        return self.rules.manages_set(who, change.row["knowledge_set_id"]) or change.after is None

    def _evaluation_wanteddocument(self, who: Person, change: Change, fresh: Any) -> bool:
        row = change.row
        if change.before is None:
            return row["asked_by_id"] == who.pk and self.rules.reads_set(who, row["knowledge_set_id"])
        gone = {"asked_by_id", "closed_by_id", "case_id"}
        if change.after is None or change.columns <= gone:
            return True  # with its set, its case or a person
        return self.rules.sees_wanted(who, row["id"])

    def _feedback_setestimate(self, who: Person, change: Change, fresh: Any) -> bool:
        return self._by_set(who, change.row["knowledge_set_id"], fresh)

    def _knowledge_queryadapter(self, who: Person, change: Change, fresh: Any) -> bool:
        if change.columns <= {"author_id"} and self._person(who, change.row["author_id"]):
            return True  # who started it is gone
        return self._by_set(who, change.row["knowledge_set_id"], fresh)

    def _knowledge_modeltraining(self, who: Person, change: Change, fresh: Any) -> bool:
        """Models of the site are trained by who manages them."""
        if change.columns <= {"author_id"} and self._person(who, change.row["author_id"]):
            return True  # who started it is gone
        return who.is_platform or (change.after is None and self._by_set(who, change.row["knowledge_set_id"], fresh))

    def _knowledge_setembedder(self, who: Person, change: Change, fresh: Any) -> bool:
        if change.columns <= {"author_id"} and self._person(who, change.row["author_id"]):
            return True  # who started it is gone
        return self._by_set(who, change.row["knowledge_set_id"], fresh)

    def _knowledge_rerankerfit(self, who: Person, change: Change, fresh: Any) -> bool:
        if change.columns <= {"author_id"} and self._person(who, change.row["author_id"]):
            return True  # who started it is gone
        return self.rules.administers(who, change.row["tenant_id"])

    def _knowledge_modelsversion(self, who: Person, change: Change, fresh: Any) -> bool:
        return who.administers  # fitted weights of a tenant are part of what every process reads again

    def _knowledge_usesummary(self, who: Person, change: Change, fresh: Any) -> bool:
        """Learnt at night; with its set it goes."""
        return change.after is None and self._by_set(who, change.row["knowledge_set_id"], fresh)

    def _knowledge_useevidence(self, who: Person, change: Change, fresh: Any) -> bool:
        """Learnt at night; it goes with its set and with its document."""
        keeps = self.rules.keeps(who, change.row["document_id"])
        return change.after is None and (keeps or self._by_set(who, change.row["knowledge_set_id"], fresh))

    def _chat_experiment(self, who: Person, change: Change, fresh: Any) -> bool:
        if change.columns <= {"created_by_id"} and self._person(who, change.row["created_by_id"]):
            return True  # who started it is gone
        return self._by_set(who, change.row["knowledge_set_id"], fresh)

    def _evaluation_goldenset(self, who: Person, change: Change, fresh: Any) -> bool:
        if change.before is None:
            return self.rules.judges(who, change.row["tenant_id"])
        left = change.columns <= {"created_by_id"} and self._person(who, change.row["created_by_id"])
        return left or self.rules.keeps_golden(who, change.row["id"])

    def _of_golden(self, who: Person, pk: int, fresh: set[tuple[str, Any]]) -> bool:
        return ("evaluation_goldenset", pk) in fresh or self.rules.keeps_golden(who, pk)

    def _evaluation_goldenset_sets(self, who: Person, change: Change, fresh: Any) -> bool:
        gone = change.after is None and self.rules.manages_set(who, change.row["knowledgeset_id"])
        return gone or self._of_golden(who, change.row["goldenset_id"], fresh)

    def _evaluation_goldencase(self, who: Person, change: Change, fresh: Any) -> bool:
        return self._of_golden(who, change.row["golden_set_id"], fresh)

    def _evaluation_proposedcase(self, who: Person, change: Change, fresh: Any) -> bool:
        """Made by workers; it goes with its document."""
        left = change.columns <= {"decided_by_id"} and self._person(who, change.row["decided_by_id"])
        gone = change.after is None and self.rules.keeps(who, change.row["document_id"])
        return left or gone or self._of_golden(who, change.row["golden_set_id"], fresh)

    def _evaluation_evaluationrun(self, who: Person, change: Change, fresh: Any) -> bool:
        """Who judges in the tenant starts one; who started it or keeps its golden set moves it."""
        if change.before is None:
            golden = change.row["golden_set_id"]
            return ("evaluation_goldenset", golden) in fresh or self.rules.judges(
                who, self.facts.row("golden", golden)["tenant_id"]
            )
        left = change.columns <= {"requested_by_id"} and self._person(who, change.row["requested_by_id"])
        own = change.row["requested_by_id"] == who.pk
        return left or own or self._of_golden(who, change.row["golden_set_id"], fresh)

    def _of_run(self, who: Person, run: int, fresh: set[tuple[str, Any]]) -> bool:
        if ("evaluation_evaluationrun", run) in fresh:
            return True
        row = self.facts.row("run", run)
        return row["requested_by_id"] == who.pk or self._of_golden(who, row["golden_set_id"], fresh)

    def _evaluation_runconfiguration(self, who: Person, change: Change, fresh: Any) -> bool:
        return self._of_run(who, change.row["run_id"], fresh)

    def _evaluation_caseoutcome(self, who: Person, change: Change, fresh: Any) -> bool:
        return change.after is None  # goes with its run, whose row is judged

    def _evaluation_gatedchange(self, who: Person, change: Change, fresh: Any) -> bool:
        left = change.columns <= {"requested_by_id", "decided_by_id"}
        settled = (
            change.columns <= {"state"} and change.after is not None and change.after["state"] in ("passed", "failed")
        )
        return left or settled or self.rules.manages_set(who, change.row["knowledge_set_id"])

    def _evaluation_gatedchange_runs(self, who: Person, change: Change, fresh: Any) -> bool:
        return change.after is None or ("evaluation_gatedchange", change.row["gatedchange_id"]) in fresh

    def _evaluation_goldenversion(self, who: Person, change: Change, fresh: Any) -> bool:
        left = change.columns <= {"created_by_id"} and self._person(who, change.row["created_by_id"])
        golden = change.row["golden_set_id"]
        if change.before is None and golden in self.facts.rows["golden"]:  # a run keeps the cases as they are
            return self.rules.judges(who, self.facts.row("golden", golden)["tenant_id"])
        return left or self._of_golden(who, golden, fresh)
