"""The process that reads text from pixels with RapidOCR (see client.py, which starts it).

It gets decoded pixels only, never a file, and gives up network and programs before it loads the models. The models
are part of the rapidocr package. Tuned on two cores: no memory arena, no angle classifier, detection on at most 960
pixels, each line recognised alone and only as wide as it is. A scanned A4 page takes 2 s and 0.5 GB instead of 4 s and
1 GB; a picture of a table with 300 short cells 3 s instead of 17 s.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from ragcore.ocr.protocol import encode_answer, lines_to_json, read_request
from ragcore.parsing.sandbox.confine import confine
from ragcore.types import Pixels, RecognisedLine

CHANNEL = 0  # a connected socket stands at the descriptor of standard input
ADDRESS_SPACE_BYTES = 4 * 1024 * 1024 * 1024  # the models map far more than they use; the client watches what is used
DETECTION_SIDE = 960  # pixels of the longer side on which lines are looked for
FINE_SIDE = 1600  # the same for small print
SMALL_PRINT = 11.0  # pixels of a line at DETECTION_SIDE below which it is looked for again on FINE_SIDE
MIN_SCORE = 0.5
# Pixels of the recogniser's picture of a line. Lines are put into pictures of one height; the usual width of 320 is
# three quarters empty for a number of a table. Narrower than 128 nothing is gained, and scores become worse.
LINE_SHAPE = (3, 48, 128)
LINES_AT_ONCE = 1  # several would all be as wide as the widest one, and are no faster on two cores
THREADS = 2


def main() -> int:
    """Say that the models are loaded, or why not, then answer pictures until the client hangs up."""
    resident_bytes = memory_meter()
    required = "--confined" in sys.argv
    confine(memory_bytes=ADDRESS_SPACE_BYTES, cpu_seconds=10**8, output_bytes=1024 * 1024, required=required)
    try:
        engine = load_engine()
    except Exception as problem:  # noqa: BLE001 - whatever is missing or damaged, the client must hear of it
        _write(encode_answer({"error": f"{type(problem).__name__}: {problem}"[:300]}))
        return 1
    _write(encode_answer({"lines": [], "rss_bytes": resident_bytes()}))
    while True:
        try:
            pixels = read_request(_read)
        except EOFError:
            return 0
        try:
            lines = read_lines(engine, pixels)
            answer: dict[str, Any] = {"lines": lines_to_json(lines), "rss_bytes": resident_bytes()}
        except Exception as problem:  # noqa: BLE001 - one strange picture must not end the service
            answer = {"error": f"{type(problem).__name__}: {problem}"[:300]}
        _write(encode_answer(answer))


def load_engine() -> Any:
    """RapidOCR with both models loaded, so that the first picture waits no longer than the others."""
    from rapidocr import RapidOCR

    _let_threads_sleep()
    threads = min(THREADS, os.cpu_count() or 1)
    engine = RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.use_cls": False,
            "Global.max_side_len": 4000,  # the client decides on sizes
            "Global.text_score": MIN_SCORE,
            "Det.limit_type": "max",
            "Det.limit_side_len": DETECTION_SIDE,
            "Rec.rec_img_shape": list(LINE_SHAPE),
            "Rec.rec_batch_num": LINES_AT_ONCE,
            "EngineConfig.onnxruntime.intra_op_num_threads": threads,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
            "EngineConfig.onnxruntime.enable_cpu_mem_arena": False,
        }
    )
    import numpy as np

    blank = np.full((48, 256, 3), 255, dtype=np.uint8)
    engine(blank, use_det=False)
    engine(blank, use_det=True)
    return engine


def _let_threads_sleep() -> None:
    """Sessions whose idle threads sleep instead of spinning: a quarter less processor time where cores are shared.

    RapidOCR has no setting for it.
    """
    from rapidocr.inference_engine.onnxruntime.main import OrtInferSession

    sessions: Any = OrtInferSession
    make_options = sessions._init_sess_opts

    def without_spinning(config: Any) -> Any:
        options = make_options(config)
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        return options

    sessions._init_sess_opts = staticmethod(without_spinning)


def read_lines(engine: Any, pixels: Pixels) -> list[RecognisedLine]:
    """Lines of a picture from top to bottom; small print is looked for on a finer grid."""
    import numpy as np

    shape = (pixels.height, pixels.width, pixels.channels)
    picture = np.frombuffer(pixels.data, dtype=np.uint8).reshape(shape)
    picture = np.repeat(picture, 3, axis=2) if pixels.channels == 1 else picture[:, :, ::-1]  # OpenCV wants BGR
    picture = np.ascontiguousarray(picture)
    side = max(pixels.width, pixels.height)
    lines = _detect(engine, picture, DETECTION_SIDE)
    if side > DETECTION_SIDE and _is_small_print(lines, DETECTION_SIDE / side):
        lines = _detect(engine, picture, min(FINE_SIDE, side))
    return lines


def _detect(engine: Any, picture: Any, side: int) -> list[RecognisedLine]:
    engine.text_det.limit_side_len = side
    recognition = engine(picture)
    if recognition.boxes is None or recognition.txts is None:
        return []
    return [
        RecognisedLine(
            text=text,
            score=round(float(score), 4),
            x0=float(box[:, 0].min()),
            y0=float(box[:, 1].min()),
            x1=float(box[:, 0].max()),
            y1=float(box[:, 1].max()),
        )
        for box, text, score in zip(recognition.boxes, recognition.txts, recognition.scores, strict=True)
        if text.strip()
    ]


def _is_small_print(lines: list[RecognisedLine], scale: float) -> bool:
    heights = sorted(min(line.y1 - line.y0, line.x1 - line.x0) * scale for line in lines)
    return bool(heights) and heights[len(heights) // 2] < SMALL_PRINT


def memory_meter() -> Callable[[], int]:
    """A function that tells the memory that this process uses, in bytes; 0 where the system does not tell.

    To be made before the process is confined, which closes /proc to it.
    """
    try:
        meter = os.open("/proc/self/statm", os.O_RDONLY)
    except OSError:
        return lambda: 0
    return lambda: int(os.pread(meter, 100, 0).split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _read(count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = os.read(CHANNEL, min(count - len(parts), 1 << 20))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)


def _write(message: bytes) -> None:
    view = memoryview(message)
    while view:
        view = view[os.write(CHANNEL, view) :]


if __name__ == "__main__":
    sys.exit(main())
