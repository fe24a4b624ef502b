"""Nothing of feedback works for a person: what it keeps of them are records."""

from accounts.people.leaving import stays_after_person

stays_after_person(
    "tells who did something",
    *("feedback.Vote.user", "feedback.Signal.user", "feedback.CaseMove.actor", "feedback.CaseBatch.actor"),
)
stays_after_person("a case that another reviewer takes", "feedback.BadCase.assignee")
