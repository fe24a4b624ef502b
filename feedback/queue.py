"""Names of the feedback tasks."""

RATE_DOCUMENTS = "feedback.rate_documents"
MAINTAIN = "feedback.maintain"
CHECK_ANSWERS = "feedback.check_answers"
QUEUES = {RATE_DOCUMENTS: "nightly", MAINTAIN: "nightly", CHECK_ANSWERS: "nightly"}


def queue_of(name: str) -> str:
    """The queue on which a task waits."""
    return QUEUES[name]
