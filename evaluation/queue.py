"""Names of the evaluation tasks. Their queue has a worker with little priority: people's questions come first."""

ADVANCE_DIAGNOSIS = "evaluation.advance_diagnosis"
DIAGNOSE_AT_NIGHT = "evaluation.diagnose_at_night"
RESUME_DIAGNOSIS = "evaluation.resume_diagnosis"
MEASURE_LEXICONS = "evaluation.measure_lexicons"
QUEUES = {
    MEASURE_LEXICONS: "diagnosis",
    ADVANCE_DIAGNOSIS: "diagnosis",
    DIAGNOSE_AT_NIGHT: "diagnosis",
    RESUME_DIAGNOSIS: "chat",  # short, and not behind what it watches
}
