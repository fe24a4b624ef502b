"""Names of the chat tasks."""

SWEEP_TURNS = "chat.sweep_turns"
MAINTAIN = "chat.maintain"
SUMMARISE = "chat.summarise"
READ_ATTACHMENT = "chat.read_attachment"
QUEUES = {
    SWEEP_TURNS: "chat",
    MAINTAIN: "nightly",
    SUMMARISE: "chat",
    READ_ATTACHMENT: "ocr",  # where no long job of documents is before it, and pages can be recognised
}
