"""Names of the evaluation tasks. Their queue has a worker with little priority: people's questions come first."""

DIAGNOSE_AT_NIGHT = "evaluation.diagnose_at_night"
MEASURE_LEXICONS = "evaluation.measure_lexicons"
SEND_REPORTS = "evaluation.send_reports"
WATCH_EXPERIMENTS = "evaluation.watch_experiments"
DIAGNOSE_CASES = "evaluation.diagnose_cases"  # kinds of background work, in `evaluation/jobs`
PROPOSE_CASES = "evaluation.propose_cases"
RUN_EVALUATION = "evaluation.run_evaluation"
TRAIN_ADAPTER = "evaluation.train_adapter"
FIT_RERANKER = "evaluation.fit_reranker"
TRAIN_MODEL = "evaluation.train_model"
QUEUES = {
    DIAGNOSE_AT_NIGHT: "diagnosis",
    MEASURE_LEXICONS: "diagnosis",
    SEND_REPORTS: "nightly",
    WATCH_EXPERIMENTS: "diagnosis",
}
