"""`python -m bench.scale.latent --sizes 100000 DIR…`: fitting domain vectors on a large corpus, as maintenance does.

The corpus is that of `make bench-scale`, with its words. The last line is one JSON object: seconds of all and of the
fit alone (the rest is giving every passage its vector, measuring and switching), and the most memory of the process.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.__main__ import prepare
from bench.scale.__main__ import cache_folder, corpus_opened, note, sizes_parser


def main() -> None:
    arguments = sizes_parser("python -m bench.scale.latent", __doc__).parse_args()
    os.environ.setdefault("INDEX_MEMORY_MB", "4096")
    with ExitStack() as stack:
        prepare(stack, kept=arguments.keep)
        sizes = sorted(int(size) for size in arguments.sizes.split())
        figures = run(folders=arguments.folders, sizes=sizes, cache=cache_folder(arguments.cache))
    print(json.dumps(figures))


def run(*, folders: Sequence[Path], sizes: Sequence[int], cache: Path, bases: int = 0) -> dict[str, Any]:
    """Figures by number of passages; needs services and Django."""
    corpus = corpus_opened(folders, cache=cache, bases=bases)
    done = {}
    for size in sizes:
        note(f"{size} passages loaded in {corpus.grow(size):.0f} s")
        done[str(size)] = _fitted()
        note(f"{size}: {json.dumps(done[str(size)])}")
    return done


def _fitted() -> dict[str, Any]:
    """What maintenance takes for a fit of its own on all that is loaded."""
    from knowledge.indexes.index_maintenance import tables_analyse
    from knowledge.models import LatentModel, TenantVectors
    from knowledge.services.latent_models import latents_refresh

    tables_analyse()
    LatentModel.objects.all().delete()
    TenantVectors.objects.update(latent=0, latents=[], latent_off=False)
    start = time.perf_counter()
    written = latents_refresh()
    seconds = time.perf_counter() - start
    latent = LatentModel.objects.get()
    return {
        "seconds": round(seconds, 1),
        "fit_seconds": round(latent.seconds, 1),
        "sampled": latent.sampled,
        "terms": latent.terms,
        "vectors": written,
        "state": latent.state,
        "found": latent.figures,
        "memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


if __name__ == "__main__":
    main()
