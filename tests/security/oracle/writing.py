"""Requests that try to change something: what is sent to each address."""

from __future__ import annotations

import hashlib
import hmac
import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.contrib import admin
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.security.oracle.facts import KINDS, Facts, Person
from tests.security.oracle.routes import Aim, Route, Target
from tests.security.oracle.rules import Rules

JSON = "application/json"
PASSWORD = "a long enough passphrase 7"  # noqa: S105


@dataclass(frozen=True, slots=True)
class Act:
    """One request that may write."""

    method: str
    address: str
    sent: dict[str, Any] = field(default_factory=dict)
    may: bool | None = None  # whether it is to succeed, where that is sure


def form(**values: Any) -> dict[str, Any]:
    return {"data": values}


def body(value: Any) -> dict[str, Any]:
    return {"data": json.dumps(value), "content_type": JSON}


def _sure(may: Any, ids: dict[str, Any] | None) -> bool | None:
    """Whether a request is to succeed; with a forged id only what names no object."""
    found: bool | None = may if not callable(may) else None if ids is None else may()
    return found


class Acts:
    """Plausible requests; ids in their bodies are of anybody, too."""

    def __init__(self, rules: Rules, aim: Aim, rng: random.Random) -> None:
        self.rules, self.aim, self.rng = rules, aim, rng
        self.facts: Facts = rules.facts
        self.tenant: int | None = None  # whose objects bodies name; None: anybody's
        self.person: int | None = None

    def any(self, kind: str) -> Any:
        return self.aim.some(kind, tenant=self.tenant, person=self.person)

    def name(self, kind: str, column: str) -> str:
        return str(self.facts.row(kind, self.any(kind))[column])

    def new(self) -> str:
        return f"new{self.rng.randrange(10**9)}"

    # ── addresses with a body of their own ──────────────────────────────────────────────────────

    def of(self, who: Person, target: Target) -> list[Act]:
        """What is tried at an address; nothing where it does not write."""
        route, ids = target.route, target.ids
        made = self._api(who, route, ids) if route.path.startswith("api/") else self._page(route)
        return [Act(method, target.address, sent, _sure(may, ids)) for method, sent, may in made]

    def _api(self, who: Person, route: Route, ids: dict[str, Any] | None) -> list[tuple[str, dict[str, Any], Any]]:
        r, rng, get = self.rules, self.rng, (ids or {}).get
        path = route.path.removeprefix("api/v1/")
        people = {"users": [self.name("user", "username")], "groups": [self.name("group", "name")][: rng.randrange(2)]}
        upload = {
            "file": SimpleUploadedFile("note.txt", rng.choice((b"same bytes", self.new().encode()))),
            "sets": [self.any("set") for _ in range(rng.choice((1, 1, 2)))],
            "clearance": rng.randrange(5),
            "external_id": rng.choice(("", self.name("document", "external_id"))),
            "source": rng.choice(("", self.name("source", "name"))),
        }
        version = {name: upload[name] for name in ("sets", "clearance")}
        version["file"] = SimpleUploadedFile("note.txt", rng.choice((b"same bytes", self.new().encode())))
        line = {
            "external_id": self.name("document", "external_id"),
            "text": self.new(),
            "sets": [self.any("set")],
            "clearance": rng.randrange(5),
            "source": rng.choice(("", self.name("source", "name"))),
            "tenant": rng.choice((None, self.name("tenant", "name"))),
        }
        line = {key: value for key, value in line.items() if value not in (None, "")}
        source = {
            "name": self.new(),
            "owner": self.name("user", "username"),
            "options": {"shared": rng.random() < 0.5},
        }
        reason = {"reason": "because"}
        table: dict[str, list[tuple[str, dict[str, Any], Any]]] = {
            "knowledge-sets": [
                (
                    "post",
                    body({"name": "n", "code": self.new(), "tenant": rng.choice((None, self.name("tenant", "name")))}),
                    None,
                )
            ],
            "knowledge-sets/<int:set_id>": [
                (
                    "patch",
                    body({"name": self.new(), "visibility": "everyone", "originals": "readers"}),
                    lambda: r.manages_set(who, get("set")),
                ),
                ("delete", {}, lambda: r.manages_set(who, get("set"))),
            ],
            "knowledge-sets/<int:set_id>/members": [("put", body({**people, "owners": [self._self(who)]}), None)],
            "knowledge-sets/<int:set_id>/sources": [
                ("put", body([{"source": self.any("source"), "filter": {"paths": ["*"]}}]), None),
                ("put", body([]), lambda: r.manages_set(who, get("set"))),
            ],
            "knowledge-sets/<int:set_id>/ingest": [("post", {}, None)],
            "documents": [
                ("post", {"data": upload}, None),
                ("post", {"data": {**version, "new_version_of": self.any("document")}}, None),
            ],
            "documents/bulk": [("post", {"data": json.dumps(line), "content_type": "application/x-ndjson"}, None)],
            "documents/url": [("post", body({"url": "https://example.org/a", "sets": [self.any("set")]}), None)],
            "documents/<int:document_id>": [
                (
                    "patch",
                    body({"clearance": rng.randrange(who.clearance + 1)}),
                    lambda: r.keeps(who, get("document")),
                ),
                ("patch", body({"review_by": "2030-01-01", "reviewed": True}), lambda: r.keeps(who, get("document"))),
                ("delete", {}, lambda: r.keeps(who, get("document"))),
            ],
            "documents/<int:document_id>/readers": [
                ("put", body(people), None),
                ("put", body({"users": [], "groups": []}), lambda: r.keeps(who, get("document"))),
                ("delete", {}, lambda: r.keeps(who, get("document"))),
            ],
            "documents/<int:document_id>/relations": [
                ("post", body({"kind": rng.choice(("links", "replaces")), "document": self.any("document")}), None),
            ],
            "documents/<int:document_id>/relations/<int:relation_id>": [("delete", {}, None)],
            "documents/<int:document_id>/retry": [("post", body({"stage": "received"}), None)],
            "documents/<int:document_id>/versions/<int:number>/withdraw": [("post", {}, None)],
            "sources": [("post", body({**source, "kind": rng.choice(("webhook", "upload", "url"))}), None)],
            "sources/<int:source_id>": [
                ("patch", body({"name": self.new()}), lambda: r.manages_source(who, get("source"))),
                ("patch", body(source), None),
                ("delete", {}, None),
            ],
            "source-places": [
                (
                    "post",
                    body(
                        {
                            "kind": "host",
                            "location": f"{self.new()}.example.org",
                            "tenant": rng.choice((None, self.name("tenant", "name"))),
                        }
                    ),
                    who.is_platform,
                ),
                ("post", body({"kind": "folder", "location": rng.choice(("/", "/etc", "relative"))}), False),
            ],
            "source-places/<int:place_id>": [
                (
                    "patch",
                    body({"clearance_floor": rng.randrange(5), "for_owners": True}),
                    lambda: self._changes_place(who, get("place")),
                ),
                ("delete", {}, lambda: who.is_platform),
            ],
            "triples": [
                (
                    "post",
                    {
                        "data": json.dumps(
                            {"subject": self.new(), "relation": "part of", "object": "x", "set": self.any("set")}
                        ),
                        "content_type": "application/x-ndjson",
                    },
                    True,
                )
            ],
            "triples/search": [("post", body({"question": "what is part of x?"}), True)],
            "triples/<int:triple_id>": [
                (
                    "delete",
                    {},
                    lambda: (
                        r.sees_triple(who, get("triple"))
                        and r.curates_set(who, self.facts.row("triple", get("triple"))["knowledge_set_id"])
                    ),
                )
            ],
            "entities/decisions": [
                ("post", body({"kind": kind, "name": rng.choice(("beam", "nine")), **home}), None)
                for kind in ("confirm", "reject")
                for home in ({"set": self.any("set")}, {})
            ]
            + [
                ("post", body({"kind": kind, "name": "beam", "other": "nine tons", "set": self.any("set")}), None)
                for kind in ("merge", "split")
            ],
            "entities/decisions/<int:decision_id>": [("delete", {}, None)],
            "triples/imports/<int:import_id>": [
                (
                    "delete",
                    {},
                    lambda: r.curates_set(
                        who, self.facts.row("triple_import", get("triple_import"))["knowledge_set_id"]
                    ),
                )
            ],
            "set-files": [
                ("post", {"data": {"file": SimpleUploadedFile("s.zip", b"no set file")}}, False),
            ],
            "set-files/exports": [("post", body({"set": self.any("set")}), None)],
            "set-files/<int:file_id>/start": [("post", body({"code": self.new()}), None)],
            "set-files/<int:file_id>": [("delete", {}, lambda: r.sees_set_file(who, get("set_file")))],
            "sources/<int:source_id>/run": [("post", {}, None)],
            "sources/<int:source_id>/preview": [("post", {}, None)],
            "sources/<int:source_id>/test": [("post", {}, None)],
            "sources/<int:source_id>/deletions": [("post", body({"decision": rng.choice(("delete", "keep"))}), None)],
            "jobs/<int:job_id>/cancel": [("post", {}, lambda: self._works_on(who, get("job")))],
            "jobs/<int:job_id>/pause": [("post", {}, lambda: self._works_on(who, get("job")))],
            "jobs/<int:job_id>/resume": [("post", {}, lambda: self._works_on(who, get("job")))],
            "jobs/<int:job_id>/retry": [("post", {}, None)],
            "background-jobs/<int:background_job_id>/cancel": [
                ("post", {}, lambda: None if self._owns_work(who, get("background_job")) else False)
            ],
            "access-requests": [("post", body({"set": self.any("set"), **reason}), None)],
            "access-requests/<int:request_id>/approve": [
                ("post", body(reason), lambda: self._decides(who, get("request")))
            ],
            "access-requests/<int:request_id>/decline": [
                ("post", body(reason), lambda: self._decides(who, get("request")))
            ],
            "access-requests/<int:request_id>/withdraw": [("post", {}, None)],
            "notifications/read": [("post", {}, True)],
            "notifications/<int:notification_id>/read": [
                ("post", {}, lambda: self.facts.row("notification", get("notification"))["recipient_id"] == who.pk)
            ],
            "users": [
                (
                    "post",
                    body({"username": self.new(), "tenant": rng.choice((None, self.name("tenant", "name"), "t"))}),
                    None,
                ),
                (
                    "post",
                    body({"username": self.new(), "clearance": 4, "service_owner": self.name("user", "username")}),
                    None,
                ),
            ],
            "api-keys": [
                (
                    "post",
                    body({"username": self.name("user", "username"), "name": "k", "scopes": rng.sample(SCOPES, 2)}),
                    None,
                )
            ],
            "feedback": [self._judgement(who, {"vote": rng.choice(("up", "down")), "rating": 1, "comment": "x"})],
            "signals": [self._judgement(who, {"kind": "copy"})],
            "webhooks/<str:source>": [("post", self._signed(), False)],
        }
        return table.get(path, [])

    def _self(self, who: Person) -> str:
        return str(self.facts.row("user", who.pk)["username"])

    def _decides(self, who: Person, pk: int | None) -> bool | None:
        if pk is None:
            return None
        row = self.facts.row("request", pk)
        if row["state"] != "open":
            return None
        return self.rules.manages_set(who, row["knowledge_set_id"])

    def _changes_place(self, who: Person, pk: Any) -> bool | None:
        """Folders of the world lie outside of what an operator named, which is looked at with every change."""
        return None if who.is_platform and self.facts.row("place", pk)["kind"] == "folder" else who.is_platform

    def _works_on(self, who: Person, pk: Any) -> bool | None:
        """Others than administrators need a right in the documents of the job, too."""
        if not self.rules.sees_job(who, pk):
            return False
        return True if who.administers else None

    def _owns_work(self, who: Person, pk: Any) -> bool:
        """Started it, or administers its tenant; whether it is open nobody knows here."""
        row = self.facts.row("background_job", pk)
        return row["author_id"] == who.pk or self.rules.administers(who, row["tenant_id"])

    def _judgement(self, who: Person, values: dict[str, Any]) -> tuple[str, dict[str, Any], bool]:
        message = str(self.any("message"))
        own = self.facts.row("message", message)["user_id"] == who.pk
        return "post", body({"message_id": message, **values}), own

    def _signed(self) -> dict[str, Any]:
        """An event that is signed with no secret, as anybody can."""
        now, text = str(int(time.time())), json.dumps({"event": "delete", "external_id": "x"})
        sign = hmac.new(b"", f"{now}.{text}".encode(), hashlib.sha256).hexdigest()
        headers = {"X-Timestamp": now, "X-Signature": f"sha256={sign}"}
        return {"data": text, "content_type": JSON, "headers": headers}

    def _page(self, route: Route) -> list[tuple[str, dict[str, Any], Any]]:
        rng = self.rng
        sets = [self.any("set") for _ in range(2)]
        ids = ",".join(str(self.any("document")) for _ in range(3))
        table: dict[str, list[dict[str, Any]]] = {
            "rename": [form(title="mine")],
            "pin": [form(pinned="on")],
            "announcement_dismiss": [form()],
            "chat_embed_setup": [form(act="secret"), form(act="remove", key="1"), form(act="public", pem="x")],
            "embed_session": [body({"token": "e30.e30.e30", "origin": "https://portal.example.com"})],
            "embed_leave": [form()],
            "embed_feedback": [body({"message_id": str(self.any("message")), "vote": "down", "comment": "x"})],
            "embed_attachments": [
                form(file=SimpleUploadedFile("a.md", b"x"), conversation_id=self.any("conversation"))
            ],
            "embed_attachment_again": [form()],
            "move": [form(folder="mine")],
            "archive": [form(archived="on")],
            "link_revoke": [form()],
            "show_branch": [form(message=self.any("message"))],
            "preferences": [form(style="precise", depth="research")],
            "choose_sets": [form(sets=sets)],
            "delete": [form()],
            "ask-for-access": [form(reason="because")],
            "access-request": [form(approve="1", reason="x"), form(decline="1", reason="no")],
            "access-withdraw": [form()],
            "open": [form()],
            "read_all": [form()],
            "profile": [form(department="d", clearance=4, is_superuser="on", interests="")],
            "key_create": [form(name="k", scopes=rng.sample(SCOPES, 2), expires="90", requests_per_minute="")],
            "key_revoke": [form()],
            "password": [form(old_password="x", new_password1=PASSWORD, new_password2=PASSWORD)],  # noqa: S106
            "second_factor": [form(code="000000")],
            "second_factor_change": [form(code="000000", remove="1")],
            "session_end": [form()],
            "sessions_end_others": [form()],
            "knowledge_ingestitem_retry": [form(stage="received")],
            "knowledge_ingestjob_pause": [form()],
            "knowledge_ingestjob_resume": [form()],
            "knowledge_ingestjob_cancel": [form()],
            "knowledge_ingestjob_retry": [form()],
            "knowledge_duplicatepair_keep": [form()],
            "knowledge_lexiconterm_decide": [form(term=self.any("lexicon_term"), status="rejected")],
            "knowledge_lexiconterm_publish": [form(set=rng.choice((0, *sets)))],
            "knowledge_lexiconterm_mine": [form(set=rng.choice((0, *sets)))],
            "knowledge_lexiconterm_mine_cancel": [form()],
            "work_job_step": [form()],
            "work_version_step": [form()],
            "knowledge_lexiconterm_back": [form()],
            "knowledge_lexiconterm_publish_cancel": [form()],
            "knowledge_lexiconterm_undo": [form()],
            "knowledge_lexiconterm_import": [
                form(set=rng.choice((0, *sets)), file=SimpleUploadedFile("t.csv", f"term\n{self.new()}\n".encode()))
            ],
            "knowledge_document_upload": [
                form(sets=sets, clearance=str(rng.randrange(5)), files=SimpleUploadedFile("a.txt", b"same bytes"))
            ],
            "knowledge_document_version": [form(file=SimpleUploadedFile("a.txt", self.new().encode()))],
            "knowledge_document_transfer": [form(ids=ids, from_set=sets[0], to_set=sets[1])],
            "knowledge_document_weigh": [form(ids=ids, weight="2")],
            "knowledge_document_review": [form(ids=ids, review_by="2099-05-01")],
            "knowledge_document_restore": [form(ids=ids)],
            "knowledge_document_retry": [form(stage="received")],
            "knowledge_document_rebuild": [form()],
            "knowledge_document_edit": [
                form(title="Renamed", tags="a\nb", clearance=str(rng.randrange(5)), reviewed="on")
            ],
            "knowledge_document_readers": [
                form(who=rng.choice(("all", "named")), users=self.name("user", "username"), groups="")
            ],
            "knowledge_document_relations": [
                form(kind=rng.choice(("links", "replaced_by")), other=str(self.any("document"))),
                form(relation=str(self.any("relation"))),
            ],
            "knowledge_document_withdraw": [form()],
            "knowledge_passage_replace": [form(text="another text", ordinal="0")],
            "knowledge_passage_questions": [form(questions="what?", ordinal="0")],
            "knowledge_passage_disable": [form(ordinal="0")],
            "knowledge_passage_undo": [form(ordinal="0")],
            "knowledge_passage_preview": [form(text="x", version=str(self.any("version")))],
            "knowledge_triple_import": [
                form(knowledge_set=sets[0], file=SimpleUploadedFile("a.csv", b"subject,relation,object\na,b,c\n"))
            ],
            "knowledge_knowledgeset_export": [form()],
            "knowledge_knowledgeset_import": [form(file=SimpleUploadedFile("s.zip", b"no set file"))],
            "knowledge_knowledgeset_import_file": [form(code=self.new(), name="x")],
            "knowledge_knowledgeset_file_delete": [form()],
            "knowledge_triple_import_delete": [form()],
            "knowledge_triple_decide": [
                form(triple=str(self.any("triple")), act=rng.choice(("confirm", "reject"))),
                form(name=rng.choice(("beam", "nine")), act=rng.choice(("confirm", "reject")), set=sets[0]),
                form(name="beam", other="nine tons", act=rng.choice(("merge", "split")), set=sets[1]),
            ],
            "knowledge_triple_undo": [
                form(what="triple", decision=str(rng.randrange(1, 9))),
                form(what="entity", decision=str(rng.randrange(1, 9))),
            ],
            "knowledge_knowledgeset_setup": [
                form(
                    name=self.new(), axis="Y", visibility="members", clearance="0", users=self.name("user", "username")
                )
            ],
            "accounts_user_leave": [
                form(act="hand_over", what=["service_accounts", "sources", "sets"], to=self.name("user", "username")),
                form(act="deactivate"),
            ],
            "accounts_user_rights": [form(positions=["owner", "administrator"], creates_sets="on")],
            "accounts_user_directory": [
                form(file=SimpleUploadedFile("p.csv", f"username,positions\n{self.new()},owner\n".encode()))
            ],
            "accounts_user_setup": [form(username=self.new(), positions=["administrator"], clearance="4")],
            "knowledge_knowledgeset_rebuild": [form()],
            "knowledge_knowledgeset_enrich": [form()],
            "knowledge_source_run": [form()],
            "knowledge_source_preview": [form()],
            "knowledge_source_compose": [form(**{f"source{self.any('source')}-is_chosen": "on"})],
            "knowledge_languagemodel_test": [form()],
            "knowledge_languagemodel_discover": [form()],
            "knowledge_languagemodel_purpose": [form()],
            "knowledge_languagemodel_profile": [form(act="exam"), form(act="save", way="quote")],
            "knowledge_searchmodel_test": [form()],
            "knowledge_searchmodel_test_used": [form()],
            "knowledge_searchmodel_reranker": [form(model="")],
            "knowledge_searchmodel_start": [form(model="1")],
            "knowledge_searchmodel_switch": [form()],
            "knowledge_searchmodel_back": [form()],
            "knowledge_searchmodel_drop": [form()],
            "knowledge_sourcehandler_try": [form(path="a/b.txt", title="t", text="x")],
            "knowledge_optionschange_import": [form(file=options_file(), confirm="1", note="x")],
            "knowledge_optionschange_undo": [form()],
            "feedback_badcase_move": [form(state=rng.choice(("open", "in_work", "closed")), note="seen")],
            "feedback_badcase_undo": [form(batch="1")],
            "feedback_badcase_diagnose": [form()],
            "feedback_badcase_again": [form()],
            "feedback_badcase_act": [
                form(act="mark", passage=f"#{self.any('document')}", right_answer="because", accepted="because"),
                form(act="assign", assignee=str(self.any("user"))),
                form(act="fix", fix="changed"),
                form(act="resolve", resolution="should_refuse", close="1", golden_set=str(self.any("golden"))),
                form(act="resolve", resolution="fixed", note="seen", close=""),
                form(act="tell"),
                form(act="remedy", kind="add_question", question="what?"),
                form(act="remedy", kind="recut", size="whole"),
                form(act="remedy", kind="option"),
                form(act="remedy", kind="ask_owner", set=str(self.any("set")), text="wanted"),
                form(act="remedy", kind="golden_case", golden_set=str(self.any("golden"))),
                form(act="remedy", kind="approve", answer="because", sources=f"#{self.any('document')}"),
                form(act="recover"),
                form(act="undo", application="1"),
                form(act="publish", draft="1"),
            ],
            "evaluation_evaluationrun_new": [
                form(golden_set=str(self.any("golden")), component="retrieval", ready=["live", "bm25"])
            ],
            "evaluation_evaluationrun_move": [form(to="pause"), form(to="cancel")],
            "evaluation_gatedchange_decide": [form(to="publish", reason="because"), form(to="discard")],
            "evaluation_goldenset_import": [form(file=SimpleUploadedFile("g.jsonl", b'{"question": "why?"}'))],
            "evaluation_goldenset_versions": [form(), form(version="1")],
            "evaluation_goldenset_proposals": [
                form(act="start", wanted="5", styles=["summarised"]),
                form(act="cancel"),
                form(act="accept", proposal="1", question="why?", answers="so", key_points=""),
                form(act="reject", proposal="1"),
            ],
            "evaluation_lab_golden": [
                form(golden_set=str(self.any("golden")), question="why?", relevant=[self.any("document")])
            ],
            "evaluation_lab_apply": [form()],
            "evaluation_usage_estimate": [form(set=str(self.any("set")), minutes="7")],
            "evaluation_experiments_act": [form(id=str(rng.randint(1, 3)), act=rng.choice(("stop", "roll_back")))],
            "evaluation_adapters_start": [form(set=str(self.any("set")), origins=["golden"])],
            "evaluation_adapters_act": [form(id=str(self.any("set")), act="off"), form(id="1", act="cancel")],
            "evaluation_set_embedders_start": [form(set=str(self.any("set")), model="1", mode="fused")],
            "evaluation_set_embedders_act": [form(id="1", act=rng.choice(("off", "publish", "cancel", "drop")))],
            "evaluation_tuning_prepare": [
                form(
                    set=str(self.any("set")),
                    base="0",
                    origins=["golden"],
                    epochs="3",
                    batch="16",
                    rate="0.00002",
                    warm_up="10",
                    tokens="64",
                    examples="100",
                )
            ],
            "evaluation_tuning_act": [form(id="1", act=rng.choice(("start", "cancel", "offer")))],
            "evaluation_reranker_start": [form(golden_sets=[str(self.any("golden"))])],
            "evaluation_reranker_act": [form(act="off"), form(id="1", act="cancel"), form(id="1", act="publish")],
            "evaluation_use_act": [form(set=str(self.any("set")), act="off"), form(set=str(self.any("set")), act="on")],
            "auth_user_password_change": [form(password1=PASSWORD, password2=PASSWORD, usable_password="true")],  # noqa: S106
        }
        if route.model and route.tail == "delete":
            return [("post", form(post="yes"), None)]
        if route.model and route.tail == "changelist":
            return [("post", sent, None) for sent in self._bulk(route)]
        return [("post", sent, None) for sent in table.get(route.name, [])]

    def _bulk(self, route: Route) -> list[dict[str, Any]]:
        """The actions of a list, for rows of anybody."""
        app, model = KINDS[route.model].lower().split(".")
        page = next(
            p for m, p in admin.site._registry.items() if (m._meta.app_label, m._meta.model_name) == (app, model)
        )
        names = list(dict.fromkeys([*(page.actions or ()), "delete_selected"]))
        rows = [str(self.any(route.model)) for _ in range(3)]
        return [
            form(action=name, _selected_action=rows, ids=",".join(rows), index="0", post="yes", confirmed="yes")
            for name in self.rng.sample(names, min(2, len(names)))
        ]


SCOPES = ["ask", "read", "write", "manage", "keys", "directory"]
CHANGED: dict[str, Callable[[Any], Any]] = {  # fields of forms of the administration that are tampered with
    "is_superuser": lambda rng: "on",
    "is_staff": lambda rng: "on",
    "clearance": lambda rng: str(rng.randrange(5)),
    "name": lambda rng: f"changed{rng.randrange(10**6)}",
    "question": lambda rng: "changed?",
    "note": lambda rng: "changed",
    "retrieval.top_k": lambda rng: str(rng.randrange(5, 20)),
    "chunking.max_tokens": lambda rng: str(rng.randrange(200, 300)),
}


FILLED = {  # empty fields that a new row needs; "": a new word
    **dict.fromkeys(("username", "code", "name", "question"), ""),
    **dict.fromkeys(("password1", "password2"), PASSWORD),
}


CHOSEN = {  # fields that name objects: kind
    **dict.fromkeys(("owners", "members", "editors", "owner", "user"), "user"),
    "member_groups": "group",
    "user_groups": "group",
    "tenant": "tenant",
    "sets": "set",
    "golden_set": "golden",
    "handler": "handler",
}
NEEDED = ("user", "tenant", "golden_set")


def options_file() -> SimpleUploadedFile:
    value = {"format": "ragsite-options-1", "of": "x", "options": {"retrieval": {"top_k": 6}}}
    return SimpleUploadedFile("o.json", json.dumps(value).encode())


def tampered(fields: dict[str, Any], acts: Acts) -> dict[str, Any]:
    """A form as an attacker sends it: names changed, people and sets of anybody."""
    rng = acts.rng
    sent = {name: list(values) for name, values in fields.items()}
    for name in sent:
        if name in CHANGED:
            sent[name] = [CHANGED[name](rng)]
    for name, value in FILLED.items():
        if sent.get(name) in ([], [""]):
            sent[name] = [value or acts.new()]
    for name, kind in CHOSEN.items():
        if name in sent and (rng.random() < 0.5 or (name in NEEDED and sent[name] in ([], [""]))):
            sent[name] = [str(acts.any(kind))]
    return sent
