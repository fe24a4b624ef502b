"""What of evaluations stays when a person leaves; their runs end as background work."""

from __future__ import annotations

from accounts.people.leaving import stays_after_person

stays_after_person("a run ends with its job; what was measured stays", "evaluation.EvaluationRun.requested_by")
stays_after_person("waits for the decision of somebody else", "evaluation.GatedChange.requested_by")
stays_after_person(
    "tells who did something",
    *("evaluation.GoldenSet.created_by", "evaluation.GoldenVersion.created_by", "evaluation.GatedChange.decided_by"),
    *("evaluation.Diagnosis.created_by", "evaluation.ProposedCase.decided_by", "evaluation.WantedDocument.asked_by"),
    *("evaluation.WantedDocument.closed_by", "evaluation.RemedyApplication.applied_by"),
    "evaluation.RemedyApplication.undone_by",
)
