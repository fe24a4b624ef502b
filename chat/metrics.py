"""All metrics of the product for Prometheus, exported with those of django-prometheus.

To add a metric, declare it here with its name, help and labels, and use it as `metrics.NAME` where it is measured.
"""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)

ANSWERS = Counter("ragsite_answers_total", "Finished answers", ["status", "cache"])
CACHE = Counter(
    "ragsite_answer_cache_total",
    "Questions that were looked up among kept answers; refused: a similar question that is not the same",
    ["kind", "result"],  # exact or semantic; hit, miss or refused
)
FAILURES = Counter("ragsite_answer_failures_total", "Questions that ended with an error", ["code"])
STAGE_SECONDS = Histogram("ragsite_answer_stage_seconds", "Time of the parts of an answer", ["stage"], buckets=_SECONDS)
FIRST_TOKEN_SECONDS = Histogram(
    "ragsite_answer_first_token_seconds", "Time to the first words of an answer", buckets=_SECONDS
)
TOKENS = Counter("ragsite_answer_tokens_total", "Tokens of language models", ["kind", "model"])
COST = Counter("ragsite_answer_cost_total", "Cost of language models, in the currency of the price table", ["model"])
CHUNKS = Histogram(
    "ragsite_answer_chunks", "Passages that an answer was written from", buckets=(0, 1, 2, 3, 5, 8, 10, 15, 25, 50)
)
IN_FLIGHT = Gauge("ragsite_answers_in_flight", "Questions being answered", multiprocess_mode="livesum")
CITATIONS = Counter("ragsite_answer_citations_total", "Citations of answers", ["strength"])
SOCKETS = Gauge("ragsite_sockets", "Open WebSockets", multiprocess_mode="livesum")
SOCKETS_REFUSED = Counter("ragsite_sockets_refused_total", "WebSockets over the limit of their person")
RATE_LIMITED = Counter("ragsite_rate_limited_total", "Questions refused because their asker had asked too many")
BODIES_REFUSED = Counter("ragsite_bodies_refused_total", "Request bodies that were refused unread", ["code"])
UNCOUNTED = Counter("ragsite_rate_uncounted_total", "Questions answered uncounted because Redis did not answer")
