"""What each tenant of a world has: sets, documents in all states, jobs, conversations, judgements, requests."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.files.base import ContentFile
from django.utils import timezone

from accounts.models import User, UserGroup
from accounts.services import audit_record
from chat.answers.approval import question_key
from chat.models import (
    Announcement,
    ApprovedAnswer,
    Attachment,
    AttachmentCitation,
    AttachmentPassage,
    Conversation,
    Embed,
    Message,
    MessageCitation,
    StrategyStatistics,
)
from evaluation.models import EvaluationRun, GatedChange, GoldenCase, GoldenSet, WantedDocument
from feedback.models import BadCase, Signal, Vote
from knowledge.indexes.graph_triples import NewTriple, triples_store
from knowledge.model_registry import tokenizer
from knowledge.models import (
    AccessRequest,
    Attribute,
    Chunk,
    ChunkEdit,
    Document,
    DocumentRelation,
    DocumentVersion,
    DuplicatePair,
    HandlerRule,
    IngestItem,
    IngestJob,
    KnowledgeSet,
    LanguageModel,
    LexiconChange,
    LexiconTerm,
    LexiconVersion,
    ModelServer,
    OptionsChange,
    ReaderList,
    SearchModel,
    SetFile,
    SetSource,
    SiteOptions,
    Source,
    SourceHandler,
    SourcePlace,
    Triple,
    TripleImport,
)
from knowledge.services import documents_bulk
from knowledge.services.edits import text_sha256
from knowledge.services.lexicon.terms import stored_values
from notifications.models import Notification
from ragcore.graph.triples import Triple as Fact
from tests.factories import run_job, scope_of
from tests.knowledge.fills import entities_tend
from tests.security.oracle.world import TENANTS, World, people_make
from work.models import Job


def _part_of(words: dict[str, str]) -> Fact:
    return Fact(subject=words["subject"], relation="part of", object=words["object"])


def world_make() -> World:
    """The people and everything that they have."""
    world = people_make()
    for name in TENANTS:
        Place(world, name).fill()
    _language_models(world)
    return world


def _language_models(world: World) -> None:
    """One of each kind that nothing uses, at a server that is refused before it is connected to."""
    words = {"name": world.word(), "url": f"http://127.0.0.1:9/{world.word()}"}
    found = SearchModel.objects.create(task="embed", provider="server", vectors=words["name"], **words)
    world.tell("search_model", found, **words)
    name, path = world.word(), world.word()
    model = LanguageModel.objects.create(name=name)
    ModelServer.objects.create(model=model, url=f"http://127.0.0.1:9/{path}")
    world.tell("language_model", model, name=name, url=path)


class Place:
    """What one tenant has."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name = world, name
        self.tenant = world.people[name, "admin"].tenant
        self.sets: dict[str, KnowledgeSet] = {}
        self.documents: list[Document] = []

    def person(self, role: str) -> User:
        return self.world.people[self.name, role]

    def words(self, *facets: str) -> dict[str, str]:
        return {facet: self.world.word() for facet in facets}

    def fill(self) -> None:
        for make in (
            *(
                self._sets,
                self._lexicons,
                self._handlers,
                self._sources,
                self._documents,
                self._versions,
                self._readers,
                self._relations,
            ),
            self._facts,
            self._set_files,
            *(self._edits, self._jobs),
            entities_tend,
            *(self._talk, self._judged, self._requests, self._options, self._log),
        ):
            step: Callable[[], None] = make
            step()

    # ── sets and sources ────────────────────────────────────────────────────────────────────────

    def _sets(self) -> None:
        group = UserGroup.objects.create(tenant=self.tenant, name=self.world.word())
        self.world.tell("group", group, name=group.name)
        group.members.set([self.person("reader")])
        lists: dict[str, dict[str, Any]] = {
            "open": {"owners": ["owner"], "editors": ["editor"]},
            "closed": {"visibility": "members", "owners": ["owner", "keeper"], "members": ["member", "robot"]},
            "withheld": {"originals": "keepers", "owners": ["owner"]},
            "other": {"visibility": "members", "owners": ["keeper"], "editors": ["editor"], "groups": [group]},
            "lone": {"visibility": "members", "owners": []},
            "mirror": {"visibility": "members", "owners": ["keeper"], "members": ["member"], "rights": "source"},
            "ignoring": {
                "visibility": "members",
                "owners": ["keeper"],
                "members": ["member", "reader"],
                "rights": "set",
            },
        }
        for n, (name, says) in enumerate(lists.items()):
            words = self.words("name", "code", "description", "persona", "answer_template", "example")
            made = KnowledgeSet.objects.create(
                tenant=self.tenant,
                axis="1XY"[n % 3],
                visibility=says.get("visibility", "everyone"),
                originals=says.get("originals", "readers"),
                rights=says.get("rights", "both"),
                options={"retrieval": {"top_k": 9}} if name == "closed" else {},
                example_questions=[words["example"]],
                **{facet: words[facet] for facet in ("name", "code", "description", "persona", "answer_template")},
            )
            for people in ("owners", "editors", "members"):
                getattr(made, people).set([self.person(role) for role in says.get(people, ())])
            made.member_groups.set(says.get("groups", ()))
            self.sets[name] = made
            self.world.tell("set", made, **words)

    def _lexicons(self) -> None:
        """Terms of the tenant and of sets, one from a document that few may see; and what else a lexicon has."""
        author = self.person("admin")
        for set_name, clearance in ((None, 0), ("open", 0), ("open", 3), ("closed", 1)):
            words = self.words("text", "long_form", "evidence")
            home = {"tenant": self.tenant, "knowledge_set": self.sets[set_name] if set_name else None}
            term = LexiconTerm.objects.create(
                **home, **words, key=words["text"], clearance=clearance, status="candidate", score=0.5
            )
            self.world.tell("lexicon_term", term, **words)
            values = {**stored_values(term), "status": "approved"}
            LexiconChange.objects.create(
                **home, term_id=term.pk, text=term.text, before=values, after=stored_values(term), author=author
            )
            if clearance == 0:
                LexiconVersion.objects.create(**home, number=1, state="retired", author=author)
                set_id = home["knowledge_set"].pk if home["knowledge_set"] else None
                Job.objects.create(
                    tenant=self.tenant,
                    kind="knowledge.mine_terms",
                    subject="" if set_id is None else f"set:{set_id}",
                    arguments={"set_id": set_id},
                    author=author,
                )

    def _handlers(self) -> None:
        words = self.words("name", "description", "pattern")
        handler = SourceHandler.objects.create(
            tenant=self.tenant, code="docs", name=words["name"], description=words["description"]
        )
        HandlerRule.objects.create(handler=handler, pattern=words["pattern"], value="x")
        self.world.tell("handler", handler, **words)
        name = self.world.word()
        self.world.tell("attribute", Attribute.objects.create(tenant=self.tenant, code="kind", name=name), name=name)

    def _sources(self) -> None:
        for kind, for_owners in (("folder", True), ("folder", False), ("host", True)):
            word = self.world.word()
            location = f"/srv/{word}" if kind == "folder" else f"{word}.example.org"
            place = SourcePlace.objects.create(
                tenant=self.tenant, kind=kind, location=location, for_owners=for_owners, clearance_floor=1
            )
            self.world.tell("place", place, location=word)
        handler = SourceHandler.objects.get(tenant=self.tenant)
        for role, kind, shared, set_name in (
            ("owner", "webhook", True, "open"),
            ("keeper", "sitemap", False, "closed"),
            ("owner", "url", False, None),
            ("keeper", "api", False, "mirror"),  # with rights of its own
        ):
            words = self.words("name", "location", "filter")
            source = Source.objects.create(
                tenant=self.tenant,
                name=words["name"],
                kind=kind,
                owner=self.person(role),
                location=f"https://example.org/{words['location']}",
                options={"shared": shared},
                handler=handler,
            )
            self.world.tell("source", source, name=words["name"], location=words["location"])
            if set_name:
                row = SetSource.objects.create(
                    knowledge_set=self.sets[set_name], source=source, filter={"paths": [words["filter"]]}
                )
                self.world.tell("set_source", row, filter=words["filter"])

    # ── documents ───────────────────────────────────────────────────────────────────────────────

    def _documents(self) -> None:
        homes: list[tuple[str, ...]] = [("open",), ("closed",), ("withheld",), ("other",)]
        plan = [(sets, clearance) for clearance in (0, 2) for sets in homes]
        plan += [(("open",), 1), (("open",), 3), (("closed",), 3), (("open", "other"), 0), (("closed", "withheld"), 1)]
        plan += [(("lone",), 0), (("mirror",), 0), (("mirror",), 1), (("ignoring",), 0), (("ignoring", "open"), 1)]
        plan += [(("mirror", "closed"), 2), (("open",), 0)]  # the last one is deleted
        rows, told = [], []
        for sets, clearance in plan:
            words = self.words("title", "external_id", "text", "tag", "attribute")
            told.append(words)
            rows.append(
                {
                    "external_id": words["external_id"],
                    "title": words["title"],
                    "text": f"The beam {words['text']} carries seven tons and was tested.",
                    "sets": [self.sets[name].pk for name in sets],
                    "clearance": clearance,
                    "tags": [words["tag"]],
                    "metadata": {"kind": words["attribute"]},
                    "tenant": self.tenant.name,
                }
            )
        self._load(rows)
        for words in told:
            document = Document.objects.get(tenant=self.tenant, external_id=words["external_id"])
            self.documents.append(document)
            text = words.pop("text")
            self.world.tell("document", document, **words)
            self.world.tell("version", int(document.live_version_id or 0), text=text)
        gone = self.documents.pop()
        Document.objects.filter(pk=gone.pk).update(deleted=timezone.now(), state="deleted")
        sources = list(Source.objects.filter(tenant=self.tenant, kind__in=("webhook", "sitemap")).order_by("pk"))
        for source, document in zip(sources, (self.documents[0], self.documents[3]), strict=True):
            Document.objects.filter(pk=document.pk).update(source=source, home=0)
        own = Source.objects.get(tenant=self.tenant, kind="api", owner=self.person("keeper"))
        Document.objects.filter(pk__in=[one.pk for one in self.documents[14:19]]).update(source=own, home=0)
        first, second = self.documents[4], self.documents[5]
        for one, two in ((first, second), (self.documents[0], self.documents[8])):
            low, high = sorted((one.pk, two.pk))
            DuplicatePair.objects.create(tenant=self.tenant, first_id=low, second_id=high, kind="near", similarity=0.9)

    def _load(self, rows: list[dict[str, Any]]) -> None:
        root = self.world.people["home", "admin"]
        done = documents_bulk(scope=scope_of(root), actor=root, lines=[json.dumps(row).encode() for row in rows])
        assert not done.rejected, done.rejected
        run_job(done.job_id)

    def _facts(self) -> None:
        """An imported fact of each set, and one of each live document."""
        for into in self.sets.values():
            words = self.words("name", "subject", "object")
            source = TripleImport.objects.create(
                tenant=self.tenant, knowledge_set=into, name=f"{words['name']}.csv", format="csv", state="succeeded",
                finished=timezone.now(), accepted=1,
            )  # fmt: skip
            self.world.tell("triple_import", source, name=words["name"])
            self._fact(NewTriple(set_id=into.pk, triple=_part_of(words)), words, source=source.pk)
        for document in Document.objects.filter(pk__in=[one.pk for one in self.documents]).exclude(live_version=None):
            words = self.words("subject", "object")
            row = NewTriple(
                set_id=document.sets.order_by("pk")[0].pk, triple=_part_of(words), document=document.pk,
                version=document.live_version_id,
            )  # fmt: skip
            self._fact(row, words)

    def _set_files(self) -> None:
        """A file of each set that was exported and is gone, and one that an owner has offered; names are in both."""
        for into in self.sets.values():
            owner = into.owners.order_by("pk").first()
            for kind, state in (("export", "done"), ("import", "offered")):
                word = self.world.word()
                summary = {"set": {"name": word}, "people": [], "conflicts": [], "documents": 0, "code": "x"}
                row = SetFile.objects.create(
                    tenant=self.tenant, kind=kind, state=state, knowledge_set=into, actor=owner, name=f"{word}.zip",
                    summary=summary,
                )  # fmt: skip
                self.world.tell("set_file", row, name=word)

    def _fact(self, row: NewTriple, words: dict[str, str], *, source: int | None = None) -> None:
        triples_store([row], tenant_id=self.tenant.pk, source_id=source, tokenizer=tokenizer())
        made = Triple.objects.get(subject=words["subject"])
        self.world.tell("triple", made, subject=words["subject"], object=words["object"])

    def _versions(self) -> None:
        """Superseded ones by sending other text; a withdrawn one; a failed document."""
        for document in (self.documents[1], self.documents[2], self.documents[5]):
            text = self.world.word()
            self._load(
                [
                    {
                        "external_id": document.external_id,
                        "text": f"The beam {text} carries nine tons now.",
                        "sets": list(document.sets.values_list("pk", flat=True)),
                        "tenant": self.tenant.name,
                        "source": document.source.name,
                        "title": document.title,
                        "clearance": document.clearance,
                    }
                ]
            )
            document.refresh_from_db()
            found = Document.objects.filter(tenant=self.tenant, external_id=document.external_id)
            live = found.order_by("-pk")[0].live_version
            assert live is not None
            self.world.tell("version", live, text=text)
        words = self.words("text", "file_name")
        withdrawn = DocumentVersion.objects.create(
            document=self.documents[3],
            number=9,
            sha256="9" * 64,
            file_name=f"{words['file_name']}.txt",
            size_bytes=9,
            markdown=words["text"],
            withdrawn=timezone.now(),
        )
        Chunk.objects.create(version=withdrawn, ordinal=0, text=words["text"], tokens=3, retired=timezone.now())
        self.world.tell("version", withdrawn, **words)

    def _relations(self) -> None:
        """Between documents that different people may open: by hand, by a rule, and one that waits."""
        plan = [
            (0, 1, "replaces", "hand"),
            (1, 2, "links", "rule"),
            (3, 4, "tested_by", "hand"),
            (4, 0, "extends", "rule"),
        ]
        for one, other, kind, origin in plan:
            DocumentRelation.objects.create(
                tenant=self.tenant,
                source=self.documents[one],
                target=self.documents[other],
                kind=kind,
                origin=origin,
                target_key="" if origin == "hand" else f"title:{self.documents[other].title.casefold()}",
            )
        waiting = {"kind": "links", "origin": "rule", "target_key": "title:nowhere"}
        DocumentRelation.objects.create(tenant=self.tenant, source=self.documents[2], **waiting)

    def _readers(self) -> None:
        """Lists of keepers, of sources, and both; one names somebody unknown."""
        group = UserGroup.objects.get(tenant=self.tenant)
        plan: list[tuple[int, str, list[str], bool]] = [
            (1, "readers", ["member", "robot"], False),
            (2, "readers", ["reader"], False),
            (4, "readers", ["reviewer", "owner"], False),
            (4, "source_readers", ["reviewer"], True),
            (5, "source_readers", ["keeper"], True),
            (11, "source_readers", [], True),
            (14, "source_readers", ["stranger", "editor"], False),
            (15, "source_readers", ["owner"], True),
            (15, "readers", ["reader", "keeper"], False),
            (16, "source_readers", ["stranger"], False),
            (17, "source_readers", ["reviewer"], False),
            (18, "source_readers", ["everybody"], False),
        ]
        for number, column, roles, with_group in plan:
            word = self.world.word()
            row = ReaderList.objects.create(
                tenant=self.tenant,
                key=word,
                users=[self.person(role).pk for role in roles if role != "everybody"],
                groups=[0] if "everybody" in roles else [group.pk] if with_group else [],
                unknown=[word] if column == "source_readers" else [],
            )
            self.world.tell("reader_list", row, unknown=word)
            Document.objects.filter(pk=self.documents[number].pk).update(**{column: row})

    def _edits(self) -> None:
        for document in (self.documents[4], self.documents[3]):
            words = self.words("anchor", "question")
            edit = ChunkEdit.objects.create(
                document=document,
                kind="disable",
                anchor_text=words["anchor"],
                anchor_sha256=text_sha256(words["anchor"]),
                author=self.person("owner"),
            )
            chunk = Chunk.objects.create(
                version_id=int(document.live_version_id or 0),
                ordinal=90,
                text=words["anchor"],
                tokens=3,
                retired=timezone.now(),
                edit=edit,
            )
            asked = ChunkEdit.objects.create(
                document=document,
                kind="questions",
                anchor_text="x",
                anchor_sha256=text_sha256(f"x{chunk.pk}"),
                questions=[words["question"]],
                author=self.person("owner"),
            )
            self.world.tell("edit", edit, anchor=words["anchor"])
            self.world.tell("edit", asked, question=words["question"])

    def _jobs(self) -> None:
        source = Source.objects.filter(tenant=self.tenant, kind="sitemap").get()
        for role, document in (
            ("owner", self.documents[9]),
            ("keeper", self.documents[1]),
            ("editor", self.documents[3]),
            ("reader", self.documents[8]),
        ):
            words = self.words("refused", "error", "file_name")
            job = IngestJob.objects.create(
                tenant=self.tenant,
                created_by=self.person(role),
                kind="upload",
                source=source if role == "keeper" else None,
                report={"refused": [{"path": words["refused"], "code": "x", "message": "x"}], "found": 1},
            )
            version = DocumentVersion.objects.create(
                document=document, number=20, sha256="8" * 64, file_name=words["file_name"], size_bytes=1
            )
            IngestItem.objects.create(
                job=job,
                version=version,
                stage="failed",
                error_code="strange",
                error_message=words["error"],
                finished=timezone.now(),
            )
            IngestItem.objects.create(job=job, version_id=int(self.documents[0].live_version_id or 0), stage="received")
            self.world.tell("job", job, refused=words["refused"])
            self.world.tell("version", version, file_name=words["file_name"], error=words["error"])

    # ── conversations, judgements ───────────────────────────────────────────────────────────────

    def _talk(self) -> None:
        for role, document in (
            ("reader", self.documents[8]),
            ("member", self.documents[1]),
            ("keeper", self.documents[10]),
            ("reader", self.documents[2]),
            ("owner", self.documents[0]),
            ("robot", self.documents[1]),
        ):
            words = self.words("title", "question", "answer", "trace", "metadata")
            talk = Conversation.objects.create(
                tenant=self.tenant, user=self.person(role), channel="web", title=words["title"]
            )
            talk.sets.set(document.sets.all()[:1])
            message = Message.objects.create(
                conversation=talk,
                question=words["question"],
                answer=words["answer"],
                answer_html=f"<p>{words['answer']}</p>",
                state="done",
                status="answered",
                request={"query": words["question"], "sets": []},
                metadata={"total_time": 1.0, "rewritten_queries": [words["metadata"]], "strategy": "standard"},
                trace={"note": words["trace"]},
                finished=timezone.now(),
            )
            version = document.versions.order_by("number")[0]  # the first one, which may be superseded
            chunk = version.chunks.order_by("ordinal")[0]
            MessageCitation.objects.create(
                message=message, number=1, chunk=chunk, document=document, version=version, excerpt=chunk.text[:20]
            )
            self.world.tell("conversation", talk, title=words.pop("title"))
            self.world.tell("message", message, **words)
            self._attached(talk, message)
            self._approved(chunk)
            said = self.words("comment", "note")
            Vote.objects.create(message=message, user=self.person(role), vote="down", comment=said["comment"])
            Signal.objects.create(message=message, user=self.person(role), kind="copy")
            case = BadCase.objects.create(message=message, note=said["note"])
            self.world.tell("case", case, **said)
        StrategyStatistics.objects.create(tenant=self.tenant, strategy="standard", day=timezone.now().date(), answers=3)

    def _approved(self, chunk: Chunk) -> None:
        words, document = self.words("question", "answer"), chunk.version.document
        row = ApprovedAnswer.objects.create(
            tenant=self.tenant,
            question=words["question"],
            keys=[question_key(words["question"])],
            answer=words["answer"],
            source_count=1,
            approved_by=self.person("reviewer"),
            expires=timezone.now() + timedelta(days=9),
        )
        row.sources.create(number=1, chunk=chunk, version=chunk.version, document=document)
        self.world.tell("approved", row, **words)

    def _attached(self, talk: Conversation, message: Message) -> None:
        """A file that the answer quotes, too."""
        words = self.words("name", "text")
        row = Attachment(
            tenant=self.tenant,
            user=talk.user,
            conversation=talk,
            name=f"{words['name']}.txt",
            size_bytes=1,
            state="ready",
        )
        row.file.save("x.txt", ContentFile(words["text"].encode()), save=False)
        row.save()
        vector = np.zeros(768, dtype=np.float32).tobytes()
        passage = AttachmentPassage.objects.create(attachment=row, ordinal=0, text=words["text"], vector=vector)
        AttachmentCitation.objects.create(message=message, number=2, passage=passage, excerpt=words["text"])
        self.world.tell("attachment", str(row.key), **words)

    def _judged(self) -> None:
        for role, set_name in (("owner", "open"), ("reviewer", "other"), ("keeper", "closed")):
            words = self.words("name", "description", "question", "answer", "found")
            golden = GoldenSet.objects.create(
                tenant=self.tenant,
                name=words["name"],
                description=words["description"],
                created_by=self.person(role),
            )
            golden.sets.set([self.sets[set_name]])
            case = GoldenCase.objects.create(
                golden_set=golden, question=words["question"], answers=[words["answer"]], relevant=[words["found"]]
            )
            version = golden.versions.create(
                number=1,
                sha256="x",
                cases=[{"id": case.pk, "question": words["question"], "relevant": [words["found"]]}],
            )
            run = EvaluationRun.objects.create(
                golden_set=golden,
                version=version,
                requested_by=self.person(role),
                options_sha256="x",
                total=1,
                finished=timezone.now(),
            )
            configuration = run.configurations.create(name="live", options_sha256="x")
            configuration.outcomes.create(case=case.pk, scores={"ndcg@10": 0.1}, trace={"ranks": {}})
            change = GatedChange.objects.create(
                knowledge_set=self.sets[set_name], base_sha256="x", state="failed", requested_by=self.person(role)
            )
            change.runs.add(run)
            self.world.tell("golden", golden, **words)
            wish = self.words("text")
            wanted = WantedDocument.objects.create(
                knowledge_set=self.sets[set_name], text=wish["text"], asked_by=self.person("reviewer")
            )
            self.world.tell("wanted", wanted, **wish)

    def _requests(self) -> None:
        for role, set_name, state in (
            ("stranger", "closed", "open"),
            ("stranger", "other", "declined"),
            ("reader", "closed", "open"),
        ):
            words = self.words("reason", "answer")
            row = AccessRequest.objects.create(
                knowledge_set=self.sets[set_name], user=self.person(role), state=state, **words
            )
            self.world.tell("request", row, **words)
        for is_active in (True, False):
            words = self.words("text", "text_zh")
            shown = Announcement.objects.create(tenant=self.tenant, is_active=is_active, **words)
            self.world.tell("announcement", shown, **words)
        said_name = self.words("name")
        embed = Embed.objects.create(tenant=self.tenant, origins=["https://portal.example.com"], **said_name)
        embed.sets.add(self.sets["open"])
        self.world.tell("embed", embed, **said_name)
        for role in ("admin", "owner", "reader", "keeper"):
            said = self.world.word()
            note = Notification.objects.create(
                recipient=self.person(role), kind="access.requested", data={"person": said, "set": "x"}, link="/sets"
            )
            self.world.tell("notification", note, data=said)

    def _options(self) -> None:
        SiteOptions.objects.create(tenant=self.tenant, options={"retrieval": {"top_k": 8}})
        for name, row in (*self.sets.items(), ("site", None)):
            if name in ("open", "withheld"):
                continue
            words = self.words("note")
            change = OptionsChange.objects.create(
                tenant=self.tenant,
                knowledge_set=row,
                actor=self.person("admin"),
                note=words["note"],
                before={"retrieval": {"top_k": 7}},
            )
            self.world.tell("options_change", change, **words)

    def _log(self) -> None:
        for role in ("admin", "owner", "reader"):
            words = self.words("target", "data")
            event = audit_record(
                actor=self.person(role), action="document.delete", target=words["target"], note=words["data"]
            )
            self.world.tell("event", event, **words)
        said = self.world.word()
        document = self.documents[1]
        LogEntry.objects.create(
            user=self.person("admin"),
            content_type=ContentType.objects.get_for_model(Document),
            object_id=str(document.pk),
            object_repr=document.title,
            action_flag=2,
            change_message=said,
            action_time=timezone.now() - timedelta(minutes=1),
        )
        self.world.tell("document", document, log=said)
