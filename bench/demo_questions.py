"""Questions over the demo sets, asked by several benches."""

DEMO_QUESTIONS = (
    "What is random access?",
    "How does a handover work?",
    "Which timers are used in the procedure?",
    "随机接入是什么？",
    "载波聚合最多支持多少个载波？",
)
