"""What of stored answers reaches other people than their asker."""

from __future__ import annotations

import ast
import random
import re
from html import unescape

import pytest
from django.contrib.auth.models import Permission
from django.test import RequestFactory

from accounts.scope import Scope
from accounts.selectors import scope_for
from chat.admin import answer_context
from chat.answers.rights import answer_rights, question_shown, sentence_shown, words_of
from chat.conversations.sharing import link_create
from chat.models import Conversation, Message, MessageCitation
from chat.pages.shared_view import shared_turns
from chat.rendering import render_markdown
from knowledge.models import Chunk, KnowledgeSet
from ragsite.env import PROJECT_ROOT
from tests.factories import ingest, make_set, make_user
from tests.forms_plugin import is_full

# ── every place ─────────────────────────────────────────────────────────────────────────────────

# Modules that read the text of stored answers, and why nobody else than the asker reads it there past the rule.
ASKER = "for the asker alone"
RULE = "by chat.answers.rights"
FIGURES = "counts and figures only"
STORED = "stores it"
PLACES = {
    "accounts/privacy/export.py": "what is kept of a person, for an administrator's answer to that person",
    "chat/admin.py": RULE,
    "chat/answers/rights.py": RULE,
    "chat/answering/approved.py": "an approved answer, for who may find all its sources",
    "chat/answers/approval.py": "an approved answer: a reviewer's text, for who may find all its sources",
    "chat/attachments/panels.py": ASKER,
    "chat/pages/conversation_list.py": ASKER,
    "chat/conversations/memory.py": "goes to the model in the asker's own conversation",
    "chat/conversations/summaries.py": "goes to the model in the asker's own conversation",
    "chat/error_messages.py": "words of a text that chat/admin.py or the asker's page has",
    "chat/exports/report.py": ASKER,
    "chat/answers/figures.py": ASKER,
    "chat/api/pictures.py": ASKER,
    "chat/answers/outcome_words.py": "sentences of a text in the asker's file; shared pages show words without them",
    "chat/serializers.py": ASKER,
    "chat/pages/shared_view.py": RULE,
    "chat/turns/message_store.py": STORED,
    "chat/turns/stream_reader.py": ASKER,
    "chat/turns/turn_figures.py": FIGURES,
    "chat/pages/view_models.py": ASKER,
    "chat/set_sections/approved_answers.py": "an approved answer, into a file of who may open all its sources",
    "evaluation/services/useful_sources.py": "a model is trained with it; no page has the words",
    "evaluation/services/diagnosis.py": "evidence of a diagnosis: shown where chat.answers.rights shows the answer",
    "evaluation/services/weekly_report.py": "names the columns that it does not read",
    "feedback/answer_checks.py": FIGURES,
    "feedback/features.py": FIGURES,
    "feedback/services.py": "whether there is any text",
}
COLUMNS = {"answer", "answer_html", "sentences", "segment"}  # of messages and their citations
OWNERS = re.compile(r"\b(message|turn|row|view|citation|one|self\.message|rights\.message|other)$")
OTHER_ROWS = {  # columns of the same names in other tables, and answers that are just being written
    *("chat/answering/fallback.py", "chat/answering/grounding.py", "chat/answering/model_routing.py"),
    "knowledge/api/triples.py",
}
TEMPLATES = {
    "templates/admin/chat/message/answer.html": "the variables of chat/admin.py",
    "templates/admin/feedback/badcase/replay.html": "the variables of chat/admin.py; a new one within both rights",
    "templates/chat/notice.html": ASKER,
    "templates/chat/turn.html": ASKER,
}


NAMED = re.compile(rf"[.\"'](?:{'|'.join(sorted(COLUMNS))})\b|message__answer|citations__segment")


def reads(source: str) -> bool:
    """Whether a module takes a text column of an answer: as an attribute, or by its name in a query.

    One without such a word is not parsed: that takes ten seconds for all modules.
    """
    return NAMED.search(source) is not None and any(map(_reads, ast.walk(ast.parse(source))))


def _reads(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        is_read = node.attr in COLUMNS and isinstance(node.ctx, ast.Load)
        return is_read and OWNERS.search(ast.unparse(node.value)) is not None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        is_query = node.func.attr in ("values_list", "values", "only")
        return is_query and any(isinstance(one, ast.Constant) and one.value in COLUMNS for one in node.args)
    return isinstance(node, ast.Constant) and node.value in ("answer_html", "message__answer", "citations__segment")


def test_every_place_that_reads_stored_answers_is_known():
    apps = ("accounts", "work", "notifications", "knowledge", "chat", "feedback", "evaluation", "ragsite")
    modules = [path for app in apps for path in (PROJECT_ROOT / app).rglob("*.py") if "migrations" not in path.parts]
    found = {str(path.relative_to(PROJECT_ROOT)) for path in modules if reads(path.read_text(encoding="utf-8"))}
    shown = re.compile(r"message\.(answer|answer_html|sentences)\b|\banswer_html\b|citation\.segment")
    templates = {
        str(path.relative_to(PROJECT_ROOT))
        for path in (PROJECT_ROOT / "templates").rglob("*.html")
        if shown.search(path.read_text(encoding="utf-8"))
    }

    assert found - OTHER_ROWS - PLACES.keys() == set(), "say why nobody else than the asker reads it there"
    assert PLACES.keys() - found == set(), "no longer there"
    assert templates == TEMPLATES.keys()


UNDERSTOOD = re.compile(r'get\("understood"\)|\["understood"\]|standalone_question\(')
WHO_READS = {  # questions as they were understood, with words that may come from earlier answers
    "chat/answers/rights.py": RULE,
    "chat/pages/view_models.py": ASKER,
    "evaluation/services/case_diagnosis.py": "compared with questions of golden cases",
    "evaluation/services/diagnosis.py": "evidence of a diagnosis: shown where chat.answers.rights shows the answer",
    "evaluation/services/useful_sources.py": "learned from; no page has the words",
    "feedback/features.py": "makes it for those that are listed here",
    "feedback/use_showings.py": "counted; no page has the words",
}


def test_every_place_that_reads_understood_questions_is_known():
    apps = ("accounts", "work", "notifications", "knowledge", "chat", "feedback", "evaluation", "ragsite")
    modules = [path for app in apps for path in (PROJECT_ROOT / app).rglob("*.py")]
    found = {str(p.relative_to(PROJECT_ROOT)) for p in modules if UNDERSTOOD.search(p.read_text(encoding="utf-8"))}

    assert found == WHO_READS.keys()


# ── single sentences ────────────────────────────────────────────────────────────────────────────

OPEN = words_of("The crane lifts seven tons. Bob came on Friday. Anna is fired. 起重机可以吊起七吨。| Load | 7 tons |")
CLOSED = words_of(
    "The merger closes in May. Bob is fired on Friday. 公司将在五月被收购。 See http://plan.example/merger"
)


@pytest.mark.parametrize(
    ("text", "support", "cites", "is_shown"),
    [
        ("The crane lifts seven tons [2].", "supported", [2], True),
        ("The CRANE\u200b lifts **seven** tons [2].", "supported", [2], True),
        ("So it is the crane that lifts seven tons [2].", "supported", [2], True),
        ("起重机可以吊起七吨 [2]。", "supported", [2], True),
        ("| Load | 7 tons [2] |", "supported", [2], True),
        ("The merger closes in May [2].", "unsupported", [2], False),
        ("The crane lifts seven tons [2].", "weak", [2], False),
        ("The crane lifts seven tons.", "supported", [], False),
        ("The crane lifts seven tons [1][2].", "supported", [1, 2], False),
        ("The crane lifts seven tons for the merger [2].", "supported", [2], False),
        ("The crane does not lift seven tons [2].", "supported", [2], False),
        ("| Merger | 7 tons [2] |", "supported", [2], False),
        ("Merger: the crane lifts seven tons [2].", "supported", [2], False),
        ("[The crane](http://plan.example/merger) lifts seven tons [2].", "supported", [2], False),
        ("![merger](x) The crane lifts seven tons [2].", "supported", [2], False),
        ("The crane lifts seven tons `merger` [2].", "supported", [2], False),
        ("The crane ｍｅｒｇｅｒ lifts seven tons [2].", "supported", [2], False),
        ("Bob is fired on Friday [2].", "supported", [2], False),
        ("起重机可以吊起七吨，五月被收购 [2]。", "supported", [2], False),
    ],
)
def test_a_sentence_is_shown_where_all_its_words_stand_in_readable_sources(text, support, cites, is_shown):
    sentence = {"text": text, "support": support, "citations": cites}

    assert sentence_shown(sentence, readable={2: OPEN}, closed=[CLOSED]) is is_shown


def test_what_stands_in_a_readable_source_too_is_shown():
    sentence = {"text": "The merger closes in May [2].", "support": "supported", "citations": [2]}

    assert sentence_shown(sentence, readable={2: (*OPEN, *CLOSED)}, closed=[CLOSED])


# ── random answers, sources and viewers ─────────────────────────────────────────────────────────

WORDS = (
    *("crane", "merger", "budget", "tower", "relay", "cable", "signal", "voltage", "antenna", "pump"),
    *("valve", "rotor", "beacon", "orbit", "carbon", "lifts", "closes", "moves", "holds", "blocks"),
    *("feeds", "opens", "seven", "eleven", "forty", "17", "23", "91", "五月", "收购"),
    *("预算", "起重机", "信号", "电缆"),
)
CHUNKS, ANSWERS = 6, 40 if is_full() else 16


@pytest.mark.django_db
def test_no_word_of_a_closed_source_reaches_a_page_unless_a_readable_one_has_it():
    rng = random.Random(7)
    owner = make_user("owner")
    viewers = [make_user(f"viewer{number}") for number in range(3)]
    chunks = [one for number in range(CHUNKS) for one in [_source(rng, owner, viewers, number)]]
    shown = withheld = 0
    for number in range(ANSWERS):
        message = _answer(rng, owner, chunks, number)
        link = link_create(scope=scope_for(owner), message_id=message.pk, is_whole=False, days=7)
        for viewer in viewers:
            scope = scope_for(viewer)
            rights = answer_rights(scope=scope, message=message)
            readable = {word for one in rights.citations if one.number in rights.readable for word in _words(one)}
            closed = {word for one in rights.citations if one.number not in rights.readable for word in _words(one)}
            (turn,) = shared_turns(scope=scope, link=link).turns
            page = " ".join(part.html for part in turn.parts)
            assert turn.is_whole == (not closed and len(rights.readable) == len(rights.citations))
            told = set(words_of(unescape(re.sub(r"<[^>]*>", " ", page))))
            assert not told & (closed - readable), (message.answer, page)
            shown += not turn.is_whole and any(part.html for part in turn.parts)
            withheld += sum(part.withheld for part in turn.parts)
    assert shown > ANSWERS / 8
    assert withheld > 2.5 * ANSWERS


def _source(rng, owner, viewers, number):
    """A passage of a document in a set of its own, which some of the viewers may read."""
    home = make_set(f"set{number}", owners=[owner], visibility=KnowledgeSet.Visibility.MEMBERS)
    home.members.set(rng.sample(viewers, rng.randint(0, 2)))
    lines = [" ".join(rng.sample(WORDS, 4)).capitalize() + "." for _ in range(3)]
    document = ingest(owner, home, **{f"doc{number}": " ".join(lines)})[f"doc{number}"]
    chunk = Chunk.objects.get(version__document=document, kind__in=("body", "whole"))
    chunk.lines = lines
    return chunk


def _words(citation):
    return words_of(f"{citation.document.title} {citation.chunk.text}")


def _answer(rng, owner, chunks, number):
    """Sentences that quote, mix or invent, cite one of the sources or none, and say of themselves what they like."""
    used = rng.sample(chunks, rng.randint(2, 3))
    sentences = []
    for _ in range(5):
        cited = rng.randrange(len(used))
        quoted = used[cited].lines[rng.randrange(3)].rstrip(".")
        other = rng.choice(used).lines[rng.randrange(3)].rstrip(".")
        body = rng.choice([quoted, quoted, other, f"{quoted} and {other.split()[0]}", f"| {other} | {quoted} |"])
        support = rng.choice(["supported", "supported", "weak", "unsupported"])
        numbers = rng.choice([[cited + 1], [cited + 1], []])
        text = body + "".join(f" [{one}]" for one in numbers)
        sentences.append({"text": text, "support": support, "citations": numbers, "reason": None})
    text = "\n\n".join(one["text"] for one in sentences)
    talk = Conversation.objects.create(tenant=owner.tenant, user=owner, channel="web", title=str(number))
    message = Message.objects.create(
        conversation=talk,
        question="What?",
        answer=f"# {used[0].lines[0]}\n\n{text}\n\n```\n{used[-1].lines[0]}\n```",
        answer_html=render_markdown(text, citations={1, 2, 3}, sentences=sentences),
        sentences=sentences,
        state="done",
        status="answered",
        metadata={"model": "gpt"},
        document_sources=len(used),
    )
    Conversation.objects.filter(pk=talk.pk).update(leaf=message)
    MessageCitation.objects.bulk_create(
        MessageCitation(
            message=message, number=at, chunk=chunk, document_id=chunk.version.document_id, version=chunk.version
        )
        for at, chunk in enumerate(used, 1)
    )
    return message


# ── what is stored beside the text ──────────────────────────────────────────────────────────────


BARE = "The reference material does not contain this information."


@pytest.fixture
def refused(db):
    """A model refused and added a remark; a second turn was understood with words of an earlier answer."""
    owner = make_user("owner")
    talk = Conversation.objects.create(tenant=owner.tenant, user=owner, channel="web", title="t")
    return Message.objects.create(
        conversation=talk,
        question="When?",
        answer="The reference material does not contain this information. The merger closes in May.",
        answer_html="<p>The merger closes in May.</p>",
        state="done",
        status="refused",
        metadata={"model": "gpt"},
    )


def asked_by(user):
    request = RequestFactory().get("/")
    request.user = user
    return request


def test_the_remark_of_a_model_that_refuses_is_its_askers_alone(refused):
    colleague = make_user("colleague")
    reviewer = make_user("reviewer", is_staff=True, is_superuser=True)
    scope: Scope = scope_for(colleague)
    request = RequestFactory().get("/")
    request.user = reviewer

    assert not answer_rights(scope=scope, message=refused).is_whole
    assert answer_context(request, message=refused)["answer_html"] == ""

    refused.answer = BARE
    assert answer_rights(scope=scope, message=refused).is_whole


def test_a_question_is_told_as_it_was_asked_where_earlier_sources_are_closed(refused):
    colleague = make_user("colleague")
    later = Message.objects.create(
        conversation=refused.conversation,
        parent=refused,
        question="And then?",
        state="done",
        status="answered",
        metadata={"model": "gpt", "understood": "What happens after the merger closes in May?"},
    )
    scope = scope_for(colleague)
    Message.objects.filter(pk=refused.pk).update(answer=BARE)

    assert question_shown(scope=scope, message=later) == "What happens after the merger closes in May?"
    Message.objects.filter(pk=refused.pk).update(document_sources=1)  # of which nothing is left
    assert question_shown(scope=scope, message=later) == "And then?"


def test_a_remark_of_an_earlier_refusal_counts_for_the_turns_behind_it(refused):
    scope = scope_for(make_user("colleague"))
    words = {"answer": "The canteen opens at eight. As I said, the merger closes in May.", "metadata": {"model": "gpt"}}
    later = Message.objects.create(
        conversation=refused.conversation, parent=refused, question="Lunch?", state="done", status="answered", **words
    )

    assert not answer_rights(scope=scope, message=later).is_whole
    Message.objects.filter(pk=refused.pk).update(answer=BARE)
    assert answer_rights(scope=scope, message=later).is_whole
    Message.objects.filter(pk=refused.pk).update(answer="It closes in May.", metadata={"model": "extractive"})
    assert answer_rights(scope=scope, message=later).is_whole  # no model has added anything


@pytest.mark.parametrize("step", ["refine", "hop"])
def test_queries_written_from_closed_passages_are_not_shown_to_reviewers(db, step):
    owner, reviewer = make_user("owner"), make_user("reviewer", is_staff=True)
    reviewer.user_permissions.add(Permission.objects.get(codename="change_badcase"))
    made = make_set("closed", owners=[owner], visibility="members")
    closed = ingest(owner, made, plan="Odalys Fenwick closes at 771 million.")["plan"]
    chunk = Chunk.objects.filter(version__document=closed).first()
    talk = Conversation.objects.create(tenant=owner.tenant, user=owner, channel="web", title="t")
    reasoning = {
        "agentic_steps": [{"name": "search"}, {"name": step, "detail": {"query": "price Odalys Fenwick"}}],
        "retrieval_history": [{"round": 1, "chunks": [chunk.pk]}, {"round": 2, "chunks": []}]
        if step == "refine"
        else [],
    }
    message = Message.objects.create(
        conversation=talk,
        question="When?",
        answer=BARE,
        state="done",
        status="refused",
        metadata={"model": "gpt", "rewritten_queries": ["price Odalys Fenwick"]},
        trace={"candidates": [{"chunk_id": chunk.pk}], "reasoning": reasoning},
    )
    shown, to_owner = (answer_context(asked_by(user), message=message) for user in (reviewer, owner))

    assert (shown["metadata_text"], shown["trace_text"]) == ("", "")
    assert "Odalys" in to_owner["metadata_text"]
    assert "Odalys" in to_owner["trace_text"]
