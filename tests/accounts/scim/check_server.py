"""Checks a service with scim2-tester; runs in its own environment and prints a line of JSON a check.

check_server.py ADDRESS KEY: the address is that of the service, with /scim/v2.
"""

from __future__ import annotations

import json
import sys

from httpx2 import Client
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import check_server


def main() -> None:
    address, key = sys.argv[1:]
    http = Client(base_url=address, headers={"Authorization": f"Bearer {key}"}, timeout=60)
    for result in check_server(SyncSCIMClient(http)):
        line = {
            "check": result.title,
            "status": result.status.name,
            "of": result.resource_type,
            "reason": result.reason,
        }
        print(json.dumps(line))


main()
