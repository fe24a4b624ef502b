"""Names of the tasks of accounts, each with its queue."""

MAINTAIN = "accounts.maintain"
QUEUES = {MAINTAIN: "nightly"}
