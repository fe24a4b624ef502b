"""Names of the feedback tasks."""

RATE_DOCUMENTS = "feedback.rate_documents"
QUEUES = {RATE_DOCUMENTS: "nightly"}


def queue_of(name: str) -> str:
    """The queue on which a task waits."""
    return QUEUES[name]
