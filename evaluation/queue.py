"""Names of the evaluation tasks. Their queue has a worker with little priority: people's questions come first."""

DIAGNOSE_AT_NIGHT = "evaluation.diagnose_at_night"
ADVANCE_RUN = "evaluation.advance_run"
RESUME_RUNS = "evaluation.resume_runs"
MEASURE_LEXICONS = "evaluation.measure_lexicons"
SEND_REPORTS = "evaluation.send_reports"
WATCH_EXPERIMENTS = "evaluation.watch_experiments"
WATCH_CHANGES = "evaluation.watch_changes"
TRAIN_ADAPTER = "evaluation.train_adapter"
FIT_RERANKER = "evaluation.fit_reranker"
RESUME_TRAININGS = "evaluation.resume_trainings"
DIAGNOSE_CASES = "evaluation.diagnose_cases"  # kinds of background work, in `evaluation/jobs`
PROPOSE_CASES = "evaluation.propose_cases"
QUEUES = {
    DIAGNOSE_AT_NIGHT: "diagnosis",
    ADVANCE_RUN: "diagnosis",
    MEASURE_LEXICONS: "diagnosis",
    TRAIN_ADAPTER: "diagnosis",
    FIT_RERANKER: "diagnosis",
    SEND_REPORTS: "nightly",
    WATCH_EXPERIMENTS: "diagnosis",
    WATCH_CHANGES: "nightly",
    RESUME_RUNS: "chat",  # short, and not behind what it watches
    RESUME_TRAININGS: "chat",
}
