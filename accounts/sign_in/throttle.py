"""Growing delays against guessing, without a way to lock a colleague out.

Browsers that have signed in before are counted by themselves (`known_browser`), so that what others do to a name never
touches them. All others wait for two counts: that of their address, and that of the name. The wait for a name runs for
each address on its own and ends after MAX_NAME_SECONDS whatever others do meanwhile: whoever knows the password always
comes in. Counted before the password is looked at, in one step, so that parallel attempts count as many.
"""

from __future__ import annotations

import hashlib
import ipaddress
import logging
import time
import unicodedata
from dataclasses import dataclass
from math import ceil
from typing import Any, cast

from redis.exceptions import RedisError

from accounts.redis_connection import connection

logger = logging.getLogger(__name__)

FREE_NAME, MAX_NAME_SECONDS = 5, 300
FREE_PAIR, MAX_PAIR_SECONDS = 5, 900
FREE_ADDRESS, MAX_ADDRESS_SECONDS = 20, 900  # an office may share an address
KEEP_SECONDS = 2 * 3600  # after the last attempt

# KEYS: one for a known browser; else address, name, name at this address. ARGV: now, then limits in the same order.
ATTEMPT = """
local now, keep = tonumber(ARGV[1]), tonumber(ARGV[2])
local function delay(count, free, most)
  if count < free then return 0 end
  return math.min(most, 2 ^ (count - free))
end
local function count(key) return tonumber(redis.call('HGET', key, 'count') or '0') end
local function add(key)
  redis.call('HINCRBY', key, 'count', 1)
  redis.call('HSET', key, 'at', ARGV[1])
  redis.call('EXPIRE', key, keep)
end
local wait = 0
local function consider(key, seconds)
  if seconds <= 0 then return end
  local at = redis.call('HGET', key, 'at')
  if not at then
    redis.call('HSET', key, 'at', ARGV[1])
    redis.call('EXPIRE', key, keep)
    at = now
  end
  wait = math.max(wait, tonumber(at) + seconds - now)
end
if #KEYS == 1 then
  consider(KEYS[1], delay(count(KEYS[1]), tonumber(ARGV[3]), tonumber(ARGV[4])))
else
  consider(KEYS[1], delay(count(KEYS[1]), tonumber(ARGV[3]), tonumber(ARGV[4])))
  local by_name = delay(count(KEYS[2]), tonumber(ARGV[5]), tonumber(ARGV[6]))
  local by_pair = delay(count(KEYS[3]), tonumber(ARGV[7]), tonumber(ARGV[8]))
  consider(KEYS[3], math.max(by_name, by_pair))
end
if wait > 0 then return tostring(wait) end
for _, key in ipairs(KEYS) do add(key) end
return '0'
"""

FORGIVE = """
for index, key in ipairs(KEYS) do
  if #KEYS == 1 or index == 3 then
    redis.call('DEL', key)
  elseif redis.call('HINCRBY', key, 'count', -1) <= 0 then
    redis.call('DEL', key)
  end
end
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """Who tries from where. `known_browser`: id of a browser in which this name has signed in before."""

    name: str
    address: str
    known_browser: str | None = None
    step: str = "password"

    def keys(self) -> list[str]:
        """The counts that this attempt waits for and adds to; names are stored as digests."""
        name = _digest(unicodedata.normalize("NFKC", self.name).casefold())
        prefix = f"sign-in:{self.step}"
        if self.known_browser:
            return [f"{prefix}:browser:{_digest(self.known_browser)}:{name}"]
        network = _network(self.address)
        return [f"{prefix}:address:{network}", f"{prefix}:name:{name}", f"{prefix}:pair:{name}:{network}"]


def attempt_seconds(attempt: Attempt, *, now: float | None = None) -> int:
    """0: go on, the attempt is counted; otherwise the seconds to wait, and nothing may be checked.

    Without Redis nothing is counted and everybody may go on.
    """
    limits = [FREE_ADDRESS, MAX_ADDRESS_SECONDS, FREE_NAME, MAX_NAME_SECONDS, FREE_PAIR, MAX_PAIR_SECONDS]
    if attempt.known_browser:
        limits = [FREE_PAIR, MAX_PAIR_SECONDS]
    keys = attempt.keys()
    at = time.time() if now is None else now
    try:
        answer = cast(Any, connection().eval(ATTEMPT, len(keys), *keys, at, KEEP_SECONDS, *limits))
    except RedisError as error:
        logger.warning("attempts to sign in are not counted: %s", error)
        return 0
    return ceil(float(answer))


def attempt_forgive(attempt: Attempt) -> None:
    """After success: this attempt no longer counts, and its browser or address begins anew with this name."""
    keys = attempt.keys()
    try:
        connection().eval(FORGIVE, len(keys), *keys)
    except RedisError as error:
        logger.warning("a successful attempt to sign in stays counted: %s", error)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _network(address: str) -> str:
    """An IPv6 customer has a whole /64, so that counts as one address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if parsed.version == 6:
        return str(ipaddress.ip_network((parsed, 64), strict=False).network_address)
    return str(parsed)
