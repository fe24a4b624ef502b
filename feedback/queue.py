"""Names of the feedback tasks."""

RATE_DOCUMENTS = "feedback.rate_documents"
MAINTAIN = "feedback.maintain"
QUEUES = {RATE_DOCUMENTS: "nightly", MAINTAIN: "nightly"}


def queue_of(name: str) -> str:
    """The queue on which a task waits."""
    return QUEUES[name]
