"""Answers are the same after they were kept as JSON."""

import json

from chat.types import AnswerMetadata, AnswerRecord, CitationRecord
from knowledge.types import FilterWarning
from ragcore.types import Sentence


def test_a_kept_answer_is_read_back_as_it_was():
    citation = CitationRecord(
        number=1, chunk_id=2, document_id=3, version_id=4, version=1, external_id="ra", title="Random access",
        page=None, content="Four steps.", score=0.5, confidence=0.25, position=9, segment="Four.", weak=False,
    )  # fmt: skip
    warning = FilterWarning(code="no_match", field="filters.tags", message="No document has it.")
    record = AnswerRecord(
        text="Four [1].",
        html="<p>Four</p>",
        status="answered",
        confidence=0.75,
        citations=(citation,),
        sentences=(Sentence(text="Four [1].", support="supported", citations=(1,)),),
        metadata=AnswerMetadata(choice=("simple",), notes=("unchecked",), warnings=(warning,), total_time=1.5),
    )

    assert AnswerRecord.from_json(json.loads(json.dumps(record.to_json()))) == record
