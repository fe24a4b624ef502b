"""Names of the evaluation tasks. Their queue has a worker with little priority: people's questions come first."""

ADVANCE_DIAGNOSIS = "evaluation.advance_diagnosis"
DIAGNOSE_AT_NIGHT = "evaluation.diagnose_at_night"
RESUME_DIAGNOSIS = "evaluation.resume_diagnosis"
SEND_REPORTS = "evaluation.send_reports"
ADVANCE_RUN = "evaluation.advance_run"
RESUME_RUNS = "evaluation.resume_runs"
QUEUES = {
    ADVANCE_RUN: "diagnosis",
    RESUME_RUNS: "chat",  # as below
MEASURE_LEXICONS = "evaluation.measure_lexicons"
QUEUES = {
    MEASURE_LEXICONS: "diagnosis",
    ADVANCE_DIAGNOSIS: "diagnosis",
    DIAGNOSE_AT_NIGHT: "diagnosis",
    SEND_REPORTS: "nightly",
    RESUME_DIAGNOSIS: "chat",  # short, and not behind what it watches
}
