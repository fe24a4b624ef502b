"""What cleaning and splitting texts of a million characters costs, kind by kind, in seconds of processor time.

python -m bench.ingest.long_texts [CHARACTERS] [KIND …]
"""

from __future__ import annotations

import sys
import time

from ragcore.chunking import HeadingTreeSplitter
from ragcore.cleaning import clean
from ragcore.options import ChunkingOptions
from ragcore.text.token_count import EstimateCounter
from ragcore.types import Block, BlockKind, ParsedDocument
from tests.ragcore.long_texts import KINDS

BLOCKS: dict[str, BlockKind] = {
    "table": "table",
    "nested list": "list",
    "deep list": "list",
    "flat list": "list",
    "code in one line": "code",
    "code": "code",
}


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print("| text | clean | split |\n|---|---|---|")
    for kind in sys.argv[2:] or KINDS:
        block = Block(kind=BLOCKS.get(kind, "paragraph"), text=KINDS[kind](size), is_nested=kind == "nested list")
        begun = time.process_time()
        document = clean(ParsedDocument(blocks=(block,)))
        cleaned = time.process_time()
        HeadingTreeSplitter(ChunkingOptions(), EstimateCounter()).split(document)
        print(f"| {kind} | {cleaned - begun:.2f} | {time.process_time() - cleaned:.2f} |", flush=True)


if __name__ == "__main__":
    main()
