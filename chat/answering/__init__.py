"""From a question to an AnswerRecord: no HTTP, no storing."""
