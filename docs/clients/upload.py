"""Put a file into a knowledge set and wait until it can be found. Usage: SITE=… KEY=… python upload.py FILE SET_ID"""

# ruff: noqa: T201 (it prints)

import os
import sys
import time
from pathlib import Path

import httpx

SITE, KEY = os.environ["SITE"], os.environ["KEY"]


def main(file: Path, knowledge_set: str) -> None:
    with httpx.Client(base_url=SITE, headers={"Authorization": f"Bearer {KEY}"}, timeout=60) as client:
        data = {"sets": knowledge_set, "external_id": file.name}
        response = client.post("/api/v1/documents", files={"file": (file.name, file.read_bytes())}, data=data)
        if response.is_error:
            error = response.json()["error"]
            sys.exit(f"{error['code']}: {error['message']}")
        uploaded = response.json()
        while uploaded["job_id"] is not None:  # null: the same bytes were here already
            job = client.get(f"/api/v1/jobs/{uploaded['job_id']}").json()
            print(f"{job['state']}: {job['done']} of {job['total']}")
            if job["state"] not in ("queued", "running"):
                break
            time.sleep(1)
        document = client.get(f"/api/v1/documents/{uploaded['document_id']}").json()
        print(f"document {document['id']} is {document['state']}")
        if document["error"]:
            sys.exit(f"{document['error']['code']}: {document['error']['message']}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
