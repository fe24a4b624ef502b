"""Names of the chat tasks."""

SWEEP_TURNS = "chat.sweep_turns"
QUEUES = {SWEEP_TURNS: "chat"}
