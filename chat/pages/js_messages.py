"""Words that scripts put on the page; `{name}` is filled in by the script."""

from __future__ import annotations

from django.utils.translation import gettext as _


def js_messages() -> dict[str, str]:
    """All of them in the reader's language."""
    return _turn() | _evidence() | _side() | _composer() | _filters() | _suggestions()


def _turn() -> dict[str, str]:
    return {
        "searching": _("Searching…"),
        "searched_n": _("{n} passages searched…"),
        "reranked_n": _("{n} ranked…"),
        "writing": _("writing…"),
        "thinking_time": _("Thinking, {time}"),
        "thought_time": _("Thought for {time}"),
        "answer_complete": _("The answer is complete. Sources: {n}"),
        "answer_stopped": _("Stopped."),
        "answer_refused": _("The documents that you may read do not answer this."),
        "answer_search_results": _("No direct answer"),
        "answer_conversation": _("No documents were used for this reply."),
        "stopping": _("Stopping…"),
        "copied": _("Copied"),
        "copy_failed": _("The browser does not allow copying. Select the text and copy it."),
        "sources": _("Sources"),
        "wrong_source": _("Wrong source: [{n}] {title}"),
        "thanks": _("Thank you for your feedback."),
        "thanks_down": _("Thank you. A reviewer will look at it."),
        "vote_failed": _("Your feedback was not saved. Please try again."),
        "weak": _("Only partly supported by the sources."),
        "doubtful": _("The source says this, but it may not answer the question."),
        "unsupported": _("Not supported by the sources. Check it before you use it."),
        "share_nothing": _("Rests on your attached file: others will see nothing of it."),
        "share_partly": _("{n} of {m} sources are your attached files: others will not see what rests on them."),
        "share_failed": _("The link could not be created. Please try again."),
        "version_failed": _("The other version could not be shown. Please try again."),
        "dismiss_failed": _("The announcement could not be dismissed. Please try again."),
        "failed_safe": _("Your question is kept. Try again in a moment."),
    }


def _evidence() -> dict[str, str]:
    return {
        "source_n": _("Source {n}"),
        "page_n": _("p. {n}"),
        "edited": _("Edited by the owner"),
        "evidence_early": _("The source can be opened when the answer is complete."),
        "evidence_failed": _("The source could not be loaded. Check your connection and try again."),
        "evidence_refused": _("This source is no longer available. It was removed, or you no longer have access."),
    }


def _side() -> dict[str, str]:
    return {
        "deleted": _("“{title}” was deleted."),
        "undo": _("Undo"),
        "archived": _("“{title}” was archived."),
        "move_failed": _("The conversation was not moved. Please try again."),
        "rename": _("New name"),
        "pin_failed": _("The conversation was not pinned or unpinned. Please try again."),
        "rename_failed": _("The name was not changed. Please try again."),
        "delete_failed": _("The conversation was not deleted. Please try again."),
    }


def _composer() -> dict[str, str]:
    return {
        "send": _("Ask"),
        "stop": _("Stop"),
        "all_sets": _("All knowledge sets"),
        "n_sets": _("{n} knowledge sets"),
        "set_named": _("Set: {name}"),
        "set_remove": _("Remove {name}"),
        "sets_more": _("+{n} more"),
        "signed_out": _("Your session has expired. Open the sign-in in another tab, then try again."),
        "draft_kept": _("Your session had expired. Your question is kept."),
        "offline": _("Connection lost. The answer continues; reconnecting…"),
        "attach_sending": _("Sending…"),
        "attach_reading": _("Being read…"),
        "attach_reading_n": _("Being read: {n} of {total} pages"),
        "attach_ready": _("{name} is ready."),
        "attach_failed": _("The file could not be attached. Please try again."),
        "attach_remove": _("Remove {name}"),
        "attach_retry_failed": _("The file could not be read again. Please try again later."),
        "attach_remove_failed": _("The file was not removed. Please try again."),
        "attach_most": _("A conversation can have {n} attached files."),
        "attach_wait": _("Your question is sent as soon as the file has been read."),
        "too_long": _("{n} characters too many"),
    }


def _filters() -> dict[str, str]:
    return {
        "named_kind": _("{kind}: {name}"),
        "filter_remove": _("Remove the filter {name}"),
        "filter_from": _("from {low}"),
        "filter_until": _("until {high}"),
        "filters_loading": _("Loading…"),
        "filters_failed": _("Filters could not be loaded. Close this and try again."),
        "filters_newest": _("Tags and attributes are from the newest {n} documents."),
        "matching": _("Counting the passages…"),
        "match_one": _("1 passage matches"),
        "match_n": _("{n} passages match"),
        "match_none": _("No passage matches these filters."),
        "match_failed": _("The passages could not be counted."),
        "values_more": _("{n} more; type a few letters to find them"),
        "any_axis": _("Any"),
    }


def _suggestions() -> dict[str, str]:
    return {
        "suggestions_n": _("Suggestions: {n}. Arrow keys choose."),
        "suggest_question": _("Asked before"),
        "suggest_document": _("Document"),
        "suggest_term": _("Term"),
        "command_style": _("Style: {name}"),
        "command_depth": _("Depth: {name}"),
        "command_in": _("Knowledge sets and filters"),
    }
