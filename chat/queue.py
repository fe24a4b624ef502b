"""Names of the chat tasks."""

SWEEP_TURNS = "chat.sweep_turns"
MAINTAIN = "chat.maintain"
SUMMARISE = "chat.summarise"
QUEUES = {
    SWEEP_TURNS: "chat",
    MAINTAIN: "nightly",
    SUMMARISE: "chat",
}

READ_ATTACHMENT = "chat.read_attachment"  # a kind of background work, in `chat/jobs`
