"""Names of the chat tasks."""

SWEEP_TURNS = "chat.sweep_turns"
MAINTAIN = "chat.maintain"
SUMMARISE = "chat.summarise"
QUEUES = {SWEEP_TURNS: "chat", MAINTAIN: "nightly", SUMMARISE: "chat"}
