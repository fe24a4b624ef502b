"""A server that lists made-up objects as Amazon S3 does, page by page, in a program of its own.

`python -m bench.sources.objects NUMBER` prints its port, then serves until it is ended. It signs nobody in, and has
no contents: a run over objects that have not changed reads none.
"""

from __future__ import annotations

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

PAGE = 1000  # objects, as S3 sends them
A_FOLDER = 1000  # objects of each
DAY = "2026-11-02T03:04:05.000Z"


def name_of(place: int) -> str:
    return f"{place // A_FOLDER:04}/{place:06}.txt"


def tag_of(place: int) -> str:
    return f"{place:032x}"


class ObjectLists(BaseHTTPRequestHandler):
    """GET /BUCKET?list-type=2; the token of a page is the number of its first object."""

    protocol_version = "HTTP/1.1"
    objects = 0

    def do_GET(self) -> None:
        token = parse_qs(urlsplit(self.path).query).get("continuation-token", ["0"])[0]
        start = int(token)
        end = min(start + PAGE, self.objects)
        more = f"<NextContinuationToken>{end}</NextContinuationToken>" if end < self.objects else ""
        entries = "".join(
            f"<Contents><Key>{name_of(place)}</Key><LastModified>{DAY}</LastModified>"
            f"<ETag>&quot;{tag_of(place)}&quot;</ETag><Size>24</Size><StorageClass>STANDARD</StorageClass></Contents>"
            for place in range(start, end)
        )
        body = (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>bench</Name><Prefix></Prefix>'
            f"<KeyCount>{end - start}</KeyCount><MaxKeys>{PAGE}</MaxKeys>"
            f"<IsTruncated>{'true' if more else 'false'}</IsTruncated>{more}{entries}</ListBucketResult>"
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *values: Any) -> None:
        """Quiet."""


def main() -> None:
    ObjectLists.objects = int(sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", 0), ObjectLists)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
