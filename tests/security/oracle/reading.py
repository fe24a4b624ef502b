"""What the oracle says about GET: which addresses open for whom, and what lists hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.security.oracle.facts import Person
from tests.security.oracle.routes import Route, Target
from tests.security.oracle.rules import ASK, CITE, DESK, OPEN, Rules

Opens = Callable[[Rules, Person, Any], bool]  # the last: the id that the address names


def everybody(rules: Rules, who: Person, pk: Any) -> bool:
    return True


def nobody(rules: Rules, who: Person, pk: Any) -> bool:
    return False


def _own(kind: str, column: str) -> Opens:
    return lambda rules, who, pk: rules.facts.row(kind, pk)[column] == who.pk


def _version(rules: Rules, who: Person, pk: Any) -> bool:
    document = rules.document_of_version(pk)
    is_live = rules.facts.documents[document].live == pk
    return (is_live and rules.opens(who, document)) or rules.keeps(who, document)


# ── pages for everybody and the API: path → kind of the id that decides, predicate; None: the answer is not sure ───

SCIM = tuple(
    f"scim/v2/{path}"
    for path in (
        *("Users", "Users/<str:scim_id>", "Users/.search", "Groups", "Groups/<str:scim_id>", "Groups/.search"),
        *("ResourceTypes", "ResourceTypes/<str:scim_id>", "Schemas", "Schemas/<str:scim_id>"),
        *("ServiceProviderConfig", ".search", "Bulk", "<path:scim_id>"),
    )
)
PAGES: dict[str, tuple[str, Opens] | None] = {
    "": ("", everybody),
    "conversations": ("", everybody),
    "suggestions": ("", everybody),
    "examples": ("", everybody),
    "c/<uuid:conversation_id>": ("conversation", _own("conversation", "user_id")),
    "c/<uuid:conversation_id>/turns": None,  # nothing without a turn before which they are wanted
    "c/<uuid:conversation_id>/export": ("conversation", _own("conversation", "user_id")),
    # for the frame on another page: pages and script are the same for all, the parts need its bearer
    "embed.js": ("", everybody),
    "embed/<str:code>": None,
    "embed/<str:code>/preview": None,
    "embed/<str:code>/attachments": ("", nobody),
    "embed/<str:code>/attachments/<uuid:attachment_id>": ("", nobody),
    "embed/<str:code>/conversations/<uuid:conversation_id>": ("", nobody),
    "embed/<str:code>/messages/<uuid:message_id>": ("", nobody),
    "embed/<str:code>/messages/<uuid:message_id>/sources/<int:number>": ("", nobody),
    "shared": ("", everybody),
    "shared/<uuid:link_id>": None,
    "attachments/<uuid:attachment_id>/file": ("attachment", _own("attachment", "user_id")),
    "messages/<uuid:message_id>/follow-ups": ("message", _own("message", "user_id")),
    "messages/<uuid:message_id>/export": ("message", _own("message", "user_id")),
    "messages/<uuid:message_id>/facts": ("message", _own("message", "user_id")),
    "messages/<uuid:message_id>": ("message", _own("message", "user_id")),
    "messages/<uuid:message_id>/sources/<int:number>": None,  # which numbers there are; leaks are looked for
    "profile": ("", everybody),
    "profile/password": ("", everybody),
    "profile/second-factor": ("", everybody),
    "inbox": ("", everybody),
    "sets": ("", everybody),
    "sets/<int:set_id>": ("set", lambda r, who, pk: r.reads_set(who, pk)),
    "access-requests/<int:request_id>": ("request", lambda r, who, pk: r.sees_request(who, pk)),
    "documents/<int:document_id>": ("document", lambda r, who, pk: r.opens(who, pk)),
    "documents/<int:document_id>/original": (
        "document",
        lambda r, who, pk: r.opens(who, pk) and r.facts.documents[pk].live is not None,
    ),
    "documents/<int:document_id>/rendition.pdf": None,  # none of the documents has one
    "versions/<int:version_id>/pages/<int:number>.png": None,
    "pictures/<int:version_id>/<str:name>": None,
    "chunks/<int:chunk_id>/page.png": None,
    "api/v1/knowledge-sets": ("", everybody),
    "api/v1/knowledge-sets/<int:set_id>": ("set", lambda r, who, pk: r.of_tenant(who, r.facts.sets[pk].tenant)),
    "api/v1/knowledge-sets/<int:set_id>/members": ("set", lambda r, who, pk: r.manages_set(who, pk)),
    "api/v1/knowledge-sets/<int:set_id>/sources": ("set", lambda r, who, pk: r.manages_set(who, pk)),
    "api/v1/documents": ("", everybody),
    "api/v1/documents/<int:document_id>": ("document", lambda r, who, pk: r.sees(who, pk)),
    "api/v1/documents/<int:document_id>/readers": ("document", lambda r, who, pk: r.keeps(who, pk)),
    "api/v1/documents/<int:document_id>/relations": ("document", lambda r, who, pk: r.sees(who, pk)),
    "api/v1/documents/<int:document_id>/chunks": ("document", lambda r, who, pk: r.opens(who, pk)),
    "api/v1/documents/<int:document_id>/markdown": ("document", lambda r, who, pk: r.opens(who, pk)),
    "api/v1/sources": ("", everybody),
    "api/v1/sources/<int:source_id>": ("source", lambda r, who, pk: r.sees_source(who, pk)),
    "api/v1/sources/<int:source_id>/attention": ("source", lambda r, who, pk: r.manages_source(who, pk)),
    "api/v1/sources/<int:source_id>/preview": None,  # nothing before something was counted
    "api/v1/triples": ("", everybody),
    "api/v1/triples/imports": ("", everybody),
    "api/v1/triples/imports/<int:import_id>": (
        "triple_import",
        lambda r, who, pk: r.curates_set(who, r.facts.row("triple_import", pk)["knowledge_set_id"]),
    ),
    "api/v1/triples/export": ("", everybody),
    "api/v1/set-files": ("", everybody),
    "api/v1/set-files/<int:file_id>": ("set_file", lambda r, who, pk: r.sees_set_file(who, pk)),
    "api/v1/set-files/<int:file_id>/content": ("set_file", nobody),  # none of the files is there any more
    "api/v1/entities": ("", everybody),
    "api/v1/entities/<int:entity_id>": None,  # which passages mention it; leaks are looked for
    "api/v1/entities/export": ("", everybody),
    "api/v1/entities/decisions": ("", everybody),
    "api/v1/source-places": ("", everybody),
    "api/v1/source-places/<int:place_id>": (
        "place",
        lambda r, who, pk: r.administers(who, r.facts.row("place", pk)["tenant_id"]),
    ),
    "api/v1/jobs/<int:job_id>": ("job", lambda r, who, pk: r.sees_job(who, pk)),
    "api/v1/jobs/<int:job_id>/items": ("job", lambda r, who, pk: r.sees_job(who, pk)),
    "api/v1/access-requests": ("", everybody),
    "api/v1/access-requests/<int:request_id>": ("request", lambda r, who, pk: r.sees_request(who, pk)),
    "api/v1/background-jobs": ("", everybody),
    "api/v1/background-jobs/<int:background_job_id>": (
        "background_job",
        lambda r, who, pk: _own("background_job", "author_id")(r, who, pk) or _tenant_of("background_job")(r, who, pk),
    ),
    "api/v1/notifications": ("", everybody),
    **dict.fromkeys(SCIM, ("", nobody)),  # keys with the scope `directory` only: tests/accounts/scim
    "api/docs": ("", everybody),
    "api/schema": ("", everybody),
    "i18n/setlang": None,  # goes back to where one was
    "admin/": ("", lambda r, who, pk: who.is_staff),
    "admin/search/": ("", lambda r, who, pk: who.is_staff),
    "admin/jsi18n/": ("", lambda r, who, pk: who.is_staff),
    "admin/password_change/done/": ("", lambda r, who, pk: who.is_staff),
    "admin/password_change/": None,  # a page of the product instead
    "admin/autocomplete/": None,  # by its query
    "admin/<app_label>/": None,  # empty for some
    "admin/<url>": ("", nobody),
    "admin/r/<path:content_type_id>/<path:object_id>/": ("", nobody),
}

# ── pages of the administration: kind → who opens the page, which rows, who adds, changes, deletes ───


def _admins(rules: Rules, who: Person) -> bool:
    return who.administers


def _curators(rules: Rules, who: Person) -> bool:
    return who.is_staff and rules.curates_any(who)


def _keepers(rules: Rules, who: Person) -> bool:
    return who.is_staff and rules.manages_any(who)


def _reviewers(rules: Rules, who: Person) -> bool:
    return who.is_staff and who.reviews


def _judges(rules: Rules, who: Person) -> bool:
    return who.is_staff and (who.reviews or rules.manages_any(who))


def _of_sets(rules: Rules, who: Person) -> bool:
    return _curators(rules, who) or (who.is_staff and who.creates_sets)


def _no(rules: Rules, who: Person) -> bool:
    return False


def _tenant_of(kind: str) -> Opens:
    return lambda r, who, pk: r.administers(who, r.facts.row(kind, pk)["tenant_id"])


def _document(rules: Rules, who: Person, pk: Any) -> bool:
    return rules.finds_deleted(who, pk) or rules.curates_document(who, pk)


def _golden_case(rules: Rules, who: Person, pk: Any) -> int:
    return int(rules.facts.row("golden_case", pk)["golden_set_id"])


def _change_judged(rules: Rules, who: Person, pk: Any) -> bool:
    """Its golden sets are of the tenant of its knowledge set."""
    return rules.judges(who, rules.facts.sets[rules.facts.row("change", pk)["knowledge_set_id"]].tenant)


def _judged(kind: str) -> Opens:
    def opens(rules: Rules, who: Person, pk: Any) -> bool:
        golden = pk if kind == "golden" else rules.facts.row(kind, pk)["golden_set_id"]
        return rules.judges(who, rules.facts.row("golden", golden)["tenant_id"])

    return opens


Page = Callable[[Rules, Person], bool]
ADMIN: dict[str, tuple[Page, Opens, Page, Opens, Opens]] = {
    "key": (_admins, lambda r, w, pk: r.administers(w, _user_tenant(r, "key", pk)), _admins, nobody, nobody),
    "event": (_admins, _tenant_of("event"), _no, nobody, nobody),
    "tenant": (
        _admins,
        lambda r, w, pk: r.administers(w, pk),
        lambda r, w: w.is_platform,
        lambda r, w, pk: w.is_platform,
        nobody,
    ),
    "triple": (
        _curators,
        lambda r, w, pk: r.sees_triple(w, pk) and r.curates_set(w, r.facts.row("triple", pk)["knowledge_set_id"]),
        _no,
        nobody,
        nobody,
    ),
    "place": (
        _admins,
        _tenant_of("place"),
        lambda r, w: w.is_platform,
        lambda r, w, pk: w.is_platform,
        lambda r, w, pk: w.is_platform,
    ),
    "language_model": (
        _admins,
        lambda r, w, pk: w.is_platform,  # it is not used for anything
        lambda r, w: w.is_platform,
        lambda r, w, pk: w.is_platform,
        lambda r, w, pk: w.is_platform,
    ),
    "search_model": (
        _admins,
        lambda r, w, pk: w.is_platform,  # it is not used for anything
        lambda r, w: w.is_platform,
        lambda r, w, pk: w.is_platform,
        lambda r, w, pk: w.is_platform,
    ),
    "user": (_admins, _tenant_of("user"), _admins, _tenant_of("user"), _tenant_of("user")),
    "group": (_admins, _tenant_of("group"), _admins, _tenant_of("group"), _tenant_of("group")),
    "attribute": (_admins, _tenant_of("attribute"), _admins, _tenant_of("attribute"), _tenant_of("attribute")),
    "handler": (_admins, _tenant_of("handler"), _admins, _tenant_of("handler"), _tenant_of("handler")),
    "embed": (_admins, _tenant_of("embed"), _admins, _tenant_of("embed"), _tenant_of("embed")),
    "conversation": (
        _reviewers,
        lambda r, w, pk: _of_tenant(r, w, "conversation", pk),
        _no,
        nobody,
        nobody,
    ),
    "message": (_reviewers, lambda r, w, pk: r.reviews_message(w, pk), _no, nobody, nobody),
    "announcement": (
        _admins,
        _tenant_of("announcement"),
        _admins,
        _tenant_of("announcement"),
        _tenant_of("announcement"),
    ),
    "statistics": (_reviewers, lambda r, w, pk: _of_tenant(r, w, "statistics", pk), _no, nobody, nobody),
    "case": (_judges, lambda r, w, pk: r.reviews_case(w, pk), _no, nobody, nobody),
    "golden": (
        _judges,
        _judged("golden"),
        _judges,
        lambda r, w, pk: r.keeps_golden(w, pk),
        lambda r, w, pk: r.keeps_golden(w, pk),
    ),
    "golden_case": (
        _judges,
        _judged("golden_case"),
        _judges,
        lambda r, w, pk: r.keeps_golden(w, _golden_case(r, w, pk)),
        lambda r, w, pk: r.keeps_golden(w, _golden_case(r, w, pk)),
    ),
    "run": (_judges, _judged("run"), _no, nobody, nobody),
    "approved": (_judges, lambda r, w, pk: _judges(r, w) and r.reads_approved(w, pk), _no, nobody, nobody),
    "wanted": (_judges, lambda r, w, pk: _judges(r, w) and r.sees_wanted(w, pk), _no, nobody, nobody),
    "change": (_judges, _change_judged, _no, nobody, nobody),
    "document": (_curators, _document, _no, nobody, _document),
    "pair": (_curators, lambda r, w, pk: r.sees_pair(w, pk), _no, nobody, nobody),
    "item": (_curators, lambda r, w, pk: w.is_platform or r.sees_item(w, pk), _no, nobody, nobody),
    "job": (_curators, lambda r, w, pk: r.sees_job(w, pk), _no, nobody, nobody),
    "set": (
        _of_sets,
        lambda r, w, pk: r.curates_set(w, pk),
        lambda r, w: w.is_staff and w.creates_sets,
        lambda r, w, pk: r.manages_set(w, pk),
        lambda r, w, pk: r.administers(w, r.facts.sets[pk].tenant),
    ),
    "background_job": (_admins, _tenant_of("background_job"), _no, nobody, nobody),
    "lexicon_term": (
        _curators,
        lambda r, w, pk: r.keeps_lexicon(w, "lexicon_term", pk),
        _curators,
        lambda r, w, pk: r.keeps_lexicon(w, "lexicon_term", pk),
        lambda r, w, pk: r.keeps_lexicon(w, "lexicon_term", pk),
    ),
    "options_change": (_keepers, lambda r, w, pk: r.sees_change(w, pk), _no, nobody, nobody),
    "source": (
        _keepers,
        lambda r, w, pk: r.sees_source(w, pk),
        _keepers,
        lambda r, w, pk: r.manages_source(w, pk),
        lambda r, w, pk: r.manages_source(w, pk) and r.facts.row("source", pk)["name"] != "uploads",
    ),
}


def _of_tenant(rules: Rules, who: Person, kind: str, pk: Any) -> bool:
    return rules.of_tenant(who, rules.facts.row(kind, pk)["tenant_id"])


def _user_tenant(rules: Rules, kind: str, pk: Any) -> int:
    return int(rules.facts.row("user", rules.facts.row(kind, pk)["user_id"])["tenant_id"])


def _curators_page(rules: Rules, who: Person, pk: Any) -> bool:
    return _curators(rules, who)


# pages of the administration besides those of Django: name → predicate; None: only leaks are looked for
OWN: dict[str, Opens | None] = {
    "chat_embed_setup": lambda r, w, pk: w.administers and _tenant_of("embed")(r, w, pk),
    # tried as oneself, in one's own tenant
    "chat_embed_preview_token": lambda r, w, pk: w.administers and r.facts.row("embed", pk)["tenant_id"] == w.tenant,
    "accounts_auditevent_export": lambda r, w, pk: w.administers,
    "auth_user_password_change": lambda r, w, pk: (
        _tenant_of("user")(r, w, pk) and r.facts.row("user", pk)["service_owner_id"] is None
    ),
    "knowledge_document_upload": lambda r, w, pk: _curators(r, w),
    "knowledge_document_known": lambda r, w, pk: _curators(r, w),
    "knowledge_document_version": lambda r, w, pk: w.is_staff and r.keeps(w, pk),
    "knowledge_document_recent": lambda r, w, pk: _curators(r, w),
    "knowledge_document_transfer": None,
    "knowledge_document_weigh": lambda r, w, pk: _curators(r, w),
    "knowledge_document_review": lambda r, w, pk: _curators(r, w),
    "knowledge_document_diff": None,  # goes back where there is one version
    "knowledge_document_edit": lambda r, w, pk: w.is_staff and r.keeps(w, pk),
    "knowledge_document_readers": lambda r, w, pk: w.is_staff and r.keeps(w, pk),
    "knowledge_document_relations": lambda r, w, pk: w.is_staff and r.keeps(w, pk),
    "knowledge_document_withdraw": None,  # which versions there are
    "knowledge_triple_import": lambda r, w, pk: _curators(r, w),
    "knowledge_triple_graph": lambda r, w, pk: _curators(r, w),
    "knowledge_triple_export": lambda r, w, pk: _curators(r, w),
    "knowledge_triple_try": lambda r, w, pk: _curators(r, w),
    "knowledge_triple_entities": lambda r, w, pk: _curators(r, w),
    "knowledge_triple_entities_export": lambda r, w, pk: _curators(r, w),
    "knowledge_triple_decisions": lambda r, w, pk: _curators(r, w),
    "knowledge_triple_entity": None,  # nothing without a name
    "knowledge_knowledgeset_setup": lambda r, w, pk: w.is_staff and w.creates_sets,
    "admin-health": lambda r, w, pk: w.administers,
    "accounts_user_directory": lambda r, w, pk: w.administers,
    "accounts_user_setup": lambda r, w, pk: w.administers,
    "accounts_user_rights": lambda r, w, pk: w.administers and r.administers(w, r.facts.row("user", pk)["tenant_id"]),
    "accounts_user_leave": lambda r, w, pk: w.administers and r.administers(w, r.facts.row("user", pk)["tenant_id"]),
    "knowledge_knowledgeset_site": lambda r, w, pk: w.administers,
    "knowledge_knowledgeset_options": lambda r, w, pk: w.is_staff and r.manages_set(w, pk),
    "knowledge_knowledgeset_chunking": lambda r, w, pk: w.is_staff and r.manages_set(w, pk),
    "knowledge_knowledgeset_rebuild": lambda r, w, pk: w.is_staff and r.manages_set(w, pk),
    "knowledge_knowledgeset_export": lambda r, w, pk: w.is_staff and r.manages_set(w, pk),
    "knowledge_knowledgeset_import": lambda r, w, pk: w.is_staff and w.creates_sets,
    "knowledge_knowledgeset_import_file": lambda r, w, pk: w.is_staff and w.creates_sets and r.sees_set_file(w, pk),
    "knowledge_knowledgeset_file": lambda r, w, pk: False,  # none of the files is there any more
    "knowledge_source_compose": lambda r, w, pk: w.is_staff and r.manages_set(w, pk),
    "knowledge_sourcehandler_try": lambda r, w, pk: ADMIN["handler"][1](r, w, pk),
    "knowledge_optionschange_export": lambda r, w, pk: w.administers,  # without ?set= of the site
    "knowledge_optionschange_import": lambda r, w, pk: w.administers,
    "knowledge_optionschange_undo": lambda r, w, pk: w.is_staff and r.sees_change(w, pk),
    "knowledge_lexiconterm_review": _curators_page,
    "knowledge_lexiconterm_import": _curators_page,
    "knowledge_lexiconterm_export": _curators_page,
    "knowledge_lexiconterm_changes": _curators_page,
    "evaluation_goldenset_import": lambda r, w, pk: r.keeps_golden(w, pk),
    "evaluation_goldenset_export": lambda r, w, pk: _judged("golden")(r, w, pk),
    "evaluation_goldenset_proposals": lambda r, w, pk: r.keeps_golden(w, pk),
    "evaluation_goldenset_versions": lambda r, w, pk: _judged("golden")(r, w, pk),
    "feedback_badcase_report": lambda r, w, pk: _judges(r, w),
    "feedback_badcase_report_csv": lambda r, w, pk: _judges(r, w),
    "evaluation_evaluationrun_new": lambda r, w, pk: _judges(r, w),
    "evaluation_evaluationrun_compare": lambda r, w, pk: _judged("run")(r, w, pk),
    "evaluation_evaluationrun_export": lambda r, w, pk: _judged("run")(r, w, pk),
    "evaluation_evaluationrun_case": None,  # depends on the documents of the case: tests/admin/test_run_rights.py
    "evaluation_passage_find": lambda r, w, pk: _judges(r, w),
    "evaluation_lab": lambda r, w, pk: _judges(r, w),
    "evaluation_lab_export": None,  # nothing without a question
    "evaluation_lab_apply": None,
    "evaluation_diagnosis": None,  # nothing without a question
    "evaluation_usage": lambda r, w, pk: _judges(r, w),
    "evaluation_usage_csv": lambda r, w, pk: _judges(r, w),
    "evaluation_experiments": lambda r, w, pk: _keepers(r, w),
    "evaluation_experiments_start": None,  # nothing without a set
    "evaluation_adapters": lambda r, w, pk: _keepers(r, w),
    "evaluation_adapters_set": None,  # nothing without a set
    "evaluation_tuning_set": None,  # nothing without a set
    "evaluation_set_embedders": lambda r, w, pk: _keepers(r, w),
    "evaluation_set_embedders_set": None,  # nothing without a set
    "evaluation_reranker": lambda r, w, pk: w.administers,
    "evaluation_use": lambda r, w, pk: _keepers(r, w),
    "work_versions": lambda r, w, pk: w.administers,
    "work_version": None,  # nothing without a version
    "evaluation_use_set": None,  # nothing without a set
}
ONLY_POST = {  # answered with 405, a redirect or nothing to GET
    *("knowledge_ingestitem_retry", "knowledge_ingestjob_pause", "knowledge_ingestjob_resume"),
    *("knowledge_ingestjob_cancel", "knowledge_ingestjob_retry", "knowledge_duplicatepair_keep"),
    *("knowledge_document_retry", "knowledge_document_rebuild", "knowledge_passage_replace"),
    "knowledge_document_restore",
    *("knowledge_passage_questions", "knowledge_passage_disable", "knowledge_passage_undo"),
    *("knowledge_passage_preview", "knowledge_knowledgeset_enrich", "knowledge_source_preview", "knowledge_source_run"),
    *("knowledge_source_test", "knowledge_source_deletions"),
    *("feedback_badcase_move", "feedback_badcase_diagnose", "feedback_badcase_undo", "evaluation_lab_golden"),
    *("feedback_badcase_again", "feedback_badcase_act"),
    *("evaluation_evaluationrun_move", "evaluation_gatedchange_decide"),
    *("feedback_badcase_again", "feedback_badcase_act", "evaluation_usage_estimate", "evaluation_experiments_act"),
    *("feedback_badcase_again", "feedback_badcase_act", "knowledge_lexiconterm_decide"),
    *("evaluation_adapters_start", "evaluation_adapters_act", "evaluation_use_act"),
    *("evaluation_set_embedders_start", "evaluation_set_embedders_act"),
    *("evaluation_tuning_prepare", "evaluation_tuning_act"),
    *("evaluation_reranker_start", "evaluation_reranker_act"),
    *("knowledge_lexiconterm_publish", "knowledge_lexiconterm_mine", "knowledge_lexiconterm_mine_cancel"),
    *("knowledge_lexiconterm_back", "knowledge_lexiconterm_undo", "knowledge_lexiconterm_publish_cancel"),
    *("feedback_badcase_again", "feedback_badcase_act", "knowledge_triple_import_delete"),
    *("knowledge_triple_decide", "knowledge_triple_undo", "knowledge_knowledgeset_file_delete"),
    *("knowledge_languagemodel_test", "knowledge_languagemodel_purpose", "knowledge_languagemodel_discover"),
    *("knowledge_searchmodel_test", "knowledge_searchmodel_test_used", "knowledge_searchmodel_reranker"),
    *("knowledge_searchmodel_start", "knowledge_searchmodel_switch"),
    *("knowledge_searchmodel_back", "knowledge_searchmodel_drop"),
    *("work_job_step", "work_version_step"),
}
API_ONLY_POST = {
    *("embed_session", "embed_leave", "embed_feedback", "embed_attachment_again"),
    *("access-requests-approve", "access-requests-decline", "access-requests-withdraw", "api-keys-list"),
    *("documents-retry", "documents-withdraw", "documents-bulk", "documents-url-list", "feedback-list"),
    *("jobs-cancel", "jobs-pause", "jobs-resume", "jobs-retry", "knowledge-sets-ingest", "notifications-read"),
    *("notifications-read-all", "signals-list", "sources-run", "sources-test", "sources-deletions"),
    *("users-list", "webhooks-list", "set-files-exports", "set-files-start", "documents-relation-remove"),
    *("triples-detail", "triples-search", "entities-undo", "background-jobs-cancel"),
    *(
        "preferences",
        "announcement_dismiss",
        "move",
        "archive",
        "show_branch",
        "link_revoke",
        "rename",
        "pin",
        "choose_sets",
        "delete",
        "key_create",
        "key_revoke",
        "second_factor_change",
    ),
    *("session_end", "sessions_end_others", "open", "read_all", "ask-for-access", "access-withdraw"),
}
OF_NOTHING_HERE = {"knowledge_languagemodel_profile"}  # no language model is in use
# For people who are not signed in, or about no object: checked by tests of their own (tests/accounts, tests/ragsite).
SIGNING_IN = {
    *("sign-in", "sign-in/again", "sign-in/code", "sign-in/password", "sign-in/second-factor", "sign-in/oidc"),
    *("sign-in/oidc/callback", "sign-out", "admin/login/", "admin/logout/", "health", "metrics"),
}


def is_asking(route: Route) -> bool:
    """Addresses that search and answer; they run in threads of their own."""
    return route.path.startswith(("api/v1/rag/", "api/v1/dify/", "v1/"))


def way_of(route: Route) -> str:
    """By which way an address looks at documents."""
    if is_asking(route) or route.path in ("", "conversations", "suggestions", "examples"):
        return ASK
    cites = route.path.startswith(("messages/", "c/")) or route.model in ("message", "case", "conversation")
    return CITE if cites else DESK if route.model else OPEN


def opens(rules: Rules, who: Person, target: Target) -> bool | None:
    """Whether GET is answered with 200; None: that is not sure. KeyError: nothing is known of the address."""
    route = target.route
    if target.ids is None:
        return False if route.name not in OWN else None
    if route.name in ONLY_POST or route.name in API_ONLY_POST or route.name in OF_NOTHING_HERE:
        return False
    if not route.model or route.name in OWN:
        return _known(rules, who, target)
    page, row, add, _change, delete = ADMIN[route.model]
    is_open = who.is_staff and page(rules, who)
    pk = target.ids.get(route.model)
    if route.tail == "changelist":
        return is_open
    if route.tail == "add":
        return who.is_staff and add(rules, who)
    if route.tail == "":
        return False  # leads to the page of the object
    if route.tail == "delete":
        return is_open and row(rules, who, pk) and delete(rules, who, pk)
    if route.tail == "history":
        return is_open and who.administers and row(rules, who, pk)
    if route.tail == "change":
        return is_open and row(rules, who, pk)
    raise KeyError(route.name)


def _known(rules: Rules, who: Person, target: Target) -> bool | None:
    assert target.ids is not None
    route = target.route
    if route.name in OWN:
        predicate = OWN[route.name]
        kind = next((kind for _name, kind in route.parameters if kind), "")
        return None if predicate is None else predicate(rules, who, target.ids.get(kind))
    found = PAGES[route.path]
    return None if found is None else found[1](rules, who, target.ids.get(found[0]))


# ── lists of the API: what they must hold ─────────────────────────────────────────────────────────

LISTS: dict[str, tuple[str, str, Opens]] = {  # address → kind, facet, who finds it there
    "/api/v1/documents?page_size=500": ("document", "title", lambda r, w, pk: r.sees(w, pk)),
    "/api/v1/knowledge-sets?page_size=500": (
        "set",
        "name",
        lambda r, w, pk: r.of_tenant(w, r.facts.sets[pk].tenant),
    ),
    "/api/v1/triples?page_size=500": ("triple", "subject", lambda r, w, pk: r.lists_triple(w, pk)),
    "/api/v1/triples/imports?page_size=500": (
        "triple_import",
        "name",
        lambda r, w, pk: r.curates_set(w, r.facts.row("triple_import", pk)["knowledge_set_id"]),
    ),
    "/api/v1/set-files?page_size=500": ("set_file", "name", lambda r, w, pk: r.sees_set_file(w, pk)),
    "/api/v1/source-places?page_size=500": (
        "place",
        "location",
        lambda r, w, pk: r.administers(w, r.facts.row("place", pk)["tenant_id"]),
    ),
    "/api/v1/sources?page_size=500": ("source", "name", lambda r, w, pk: r.sees_source(w, pk)),
    "/api/v1/notifications?page_size=500": ("notification", "data", _own("notification", "recipient_id")),
    "/api/v1/access-requests?page_size=500": ("request", "reason", _own("request", "user_id")),
    "/api/v1/access-requests?page_size=500&role=decide": (
        "request",
        "reason",
        lambda r, w, pk: r.manages_set(w, r.facts.row("request", pk)["knowledge_set_id"]),
    ),
    "/conversations": ("conversation", "title", _own("conversation", "user_id")),
    "/sets": ("set", "name", lambda r, w, pk: w.tenant == r.facts.sets[pk].tenant),
    "/inbox": ("notification", "data", _own("notification", "recipient_id")),
    "/admin/knowledge/document/?hands=live": (
        "document",
        "title",
        lambda r, w, pk: r.curates_document(w, pk) and r.facts.row("document", pk)["state"] == "live",
    ),
    "/admin/knowledge/knowledgeset/": ("set", "name", lambda r, w, pk: _of_sets(r, w) and r.curates_set(w, pk)),
    "/admin/knowledge/source/": ("source", "name", lambda r, w, pk: _keepers(r, w) and r.sees_source(w, pk)),
    "/admin/knowledge/languagemodel/": ("language_model", "name", ADMIN["language_model"][1]),
    "/admin/knowledge/searchmodel/": ("search_model", "name", ADMIN["search_model"][1]),
    "/admin/chat/message/": ("message", "question", lambda r, w, pk: r.reviews_message(w, pk)),
    "/admin/feedback/badcase/": ("message", "question", lambda r, w, pk: _case_listed(r, w, pk)),
    "/admin/chat/approvedanswer/": (
        "approved",
        "question",
        lambda r, w, pk: _judges(r, w) and r.reads_approved(w, pk),
    ),
    "/admin/evaluation/wanteddocument/": (
        "wanted",
        "text",
        lambda r, w, pk: _judges(r, w) and r.sees_wanted(w, pk),
    ),
    "/admin/evaluation/goldenset/": ("golden", "name", ADMIN["golden"][1]),
    "/admin/accounts/user/": ("user", "username", ADMIN["user"][1]),
    "/admin/accounts/auditevent/": ("event", "target", ADMIN["event"][1]),
    "/admin/chat/embed/": ("embed", "name", ADMIN["embed"][1]),
    "/admin/accounts/apikey/": ("key", "name", ADMIN["key"][1]),
}


def _case_listed(rules: Rules, who: Person, pk: Any) -> bool:
    case = rules.case_of(pk)
    return case is not None and _judges(rules, who) and rules.reviews_case(who, case)
