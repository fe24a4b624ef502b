"""Answers are the same after they were kept as JSON."""

import json
from dataclasses import asdict

from chat.types import AnswerMetadata, AnswerRecord, CitationRecord, to_plain
from knowledge.types import FilterWarning
from ragcore.types import Sentence, StageRecord


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


def test_a_plain_record_is_what_dataclasses_make_of_it():
    sentence = Sentence(text="Four.", support="supported", citations=(1,), reason_data={"shared": 2})
    noted = StageRecord(stage="rerank", seconds=0.5, before=2, after=1, note={"best": sentence, "all": [sentence, "x"]})
    record = AnswerRecord(
        text="Four.", html="", status="answered", confidence=0.5, sentences=(sentence,), trace={"stages": [noted]}
    )

    assert to_plain(record) == asdict(record)
    assert to_plain(noted) == asdict(noted)
