"""Names of the feedback tasks."""

RATE_DOCUMENTS = "feedback.rate_documents"
MAINTAIN = "feedback.maintain"
CHECK_ANSWERS = "feedback.check_answers"
LEARN_FROM_USE = "feedback.learn_from_use"
LEARN_SET_USE = "feedback.learn_set_use"
QUEUES = {
    RATE_DOCUMENTS: "nightly",
    MAINTAIN: "nightly",
    CHECK_ANSWERS: "nightly",
    LEARN_FROM_USE: "diagnosis",  # its worker has little priority
    LEARN_SET_USE: "diagnosis",
}
