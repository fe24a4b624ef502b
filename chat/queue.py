"""Names of the chat tasks."""

SWEEP_TURNS = "chat.sweep_turns"
MAINTAIN = "chat.maintain"
QUEUES = {SWEEP_TURNS: "chat", MAINTAIN: "nightly"}
