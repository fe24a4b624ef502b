"""Options in the words of their forms: label and help by (group, name)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

GROUP_NAMES: Mapping[str, Any] = {
    "parsing": _("Reading files"),
    "cleaning": _("Cleaning"),
    "chunking": _("Cutting into passages"),
    "representations": _("Describing passages"),
    "retrieval": _("Searching"),
    "answer": _("Answering"),
}

OPTION_WORDS: Mapping[tuple[str, str], tuple[Any, Any]] = {
    ("parsing", "recognise_pages"): (_("Read scanned pages"), _("Character recognition where a page has no text.")),
    ("parsing", "recognise_pictures"): (_("Read pictures"), _("Character recognition of pictures in documents.")),
    ("parsing", "keep_pictures"): (_("Keep pictures"), _("So that answers and passages can show them.")),
    ("parsing", "max_pictures"): (_("Pictures a document"), _("The first ones are kept.")),
    ("cleaning", "log_timestamps"): (_("Strip times of logs"), _("The time at the beginning of lines.")),
    ("cleaning", "contents"): (_("Drop tables of contents"), ""),
    ("cleaning", "covers"): (_("Drop cover pages"), _("A first page with a title and little else.")),
    ("cleaning", "side_notes"): (_("Drop side notes"), _("Text in the margin that repeats or is turned.")),
    ("chunking", "section_tokens"): (
        _("Section in one piece up to (tokens)"),
        _("A longer section with subsections is cut; a summary stands for it."),
    ),
    ("chunking", "min_tokens"): (_("Passage from (tokens)"), _("Smaller neighbours share a passage.")),
    ("chunking", "max_tokens"): (_("Passage up to (tokens)"), ""),
    ("chunking", "overlap"): (_("Overlap"), _("Share of a passage that repeats the end of the one before.")),
    ("chunking", "split"): (_("Cut into passages"), _("If not, a document is one passage with several entries.")),
    ("representations", "sections"): (_("Summaries of long sections"), ""),
    ("representations", "tables"): (_("Tables as sentences"), _("Each row is found by its column names, too.")),
    ("representations", "captions"): (_("Captions of pictures"), _("The words around a picture make it findable.")),
    ("representations", "summaries"): (_("Summaries of passages"), ""),
    ("representations", "questions"): (_("Questions that a passage answers"), _("Up to three of each passage.")),
    ("representations", "language_model"): (
        _("Use the language model"),
        _("Where one is configured. Otherwise sentences are extracted."),
    ),
    ("retrieval", "coarse_limit"): (_("Candidates of the first stage"), _("By words and by meaning, each.")),
    ("retrieval", "fine_limit"): (_("Candidates of the second stage"), ""),
    ("retrieval", "fused_limit"): (_("Candidates for reranking"), ""),
    ("retrieval", "top_k"): (_("Passages found"), ""),
    ("retrieval", "rerank"): (_("Rerank"), ""),
    ("retrieval", "cliff"): (_("Cut at a score cliff"), ""),
    ("retrieval", "alpha_centre"): (_("Words at which meaning counts half"), ""),
    ("retrieval", "alpha_slope"): (_("How fast that changes"), ""),
    ("retrieval", "vector_weight"): (_("Fixed weight of meaning"), _("-1: by the length of the question.")),
    ("retrieval", "vector_weight_zh"): (_("Fixed weight of meaning, Chinese"), _("-1: like the one for all.")),
    ("retrieval", "vector_weight_en"): (_("Fixed weight of meaning, English"), _("-1: like the one for all.")),
    ("retrieval", "fuzzy"): (_("Forgive typing errors"), _("Words and titles that are spelt nearly the same.")),
    ("retrieval", "title_weight"): (_("Weight of title and headings"), _("0: like any other text.")),
    ("retrieval", "title_boost"): (_("Most that a title like the question adds"), ""),
    ("retrieval", "profile"): (_("Use the profile"), _("What the asker works on, where they want that.")),
    ("retrieval", "profile_shift"): (_("Most that the profile moves the weight of meaning"), ""),
    ("retrieval", "profile_boost"): (_("Most that the profile adds"), _("As a share of the score.")),
    ("retrieval", "quality"): (_("Weigh quality"), _("Length, rating and weight of the document.")),
    ("retrieval", "deduplicate"): (_("Drop repetitions"), ""),
    ("retrieval", "duplicate_similarity"): (_("Repeated from a likeness of"), ""),
    ("retrieval", "neighbours"): (_("Neighbours that are read, too"), _("Passages before and after each one.")),
    ("retrieval", "min_match"): (_("Least match of words"), _("Below it and the next one, search results are shown.")),
    ("retrieval", "min_cosine"): (_("Least match of meaning"), ""),
    ("answer", "style"): (_("Style"), _("simple, advanced, precise or report")),
    ("answer", "temperature"): (_("Temperature"), ""),
    ("answer", "max_tokens"): (_("Longest answer (tokens)"), ""),
    ("answer", "max_chunks"): (_("Passages in the prompt"), ""),
    ("answer", "context_tokens"): (_("Length of the context (tokens)"), ""),
    ("answer", "citation_threshold"): (_("A citation is weak below"), ""),
    ("answer", "support_threshold"): (_("A sentence is supported from"), ""),
}
