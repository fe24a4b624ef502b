"""Counting acts in the last minute with Redis, in one piece, for limits of rate."""

from __future__ import annotations

from typing import Final

WINDOW_SECONDS: Final = 60

# The acts of the last minute, each with its time in microseconds, by the clock of Redis: every web process counts in
# the same one. Answers the microseconds after which so many acts have a place; 0: they have, and are counted.
COUNT_OR_WAIT: Final = """
local now = redis.call('TIME')
local at = now[1] * 1000000 + now[2]
local window, limit, asked = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', at - window)
local over = redis.call('ZCARD', KEYS[1]) + asked - limit
if over > 0 then
  local last = redis.call('ZRANGE', KEYS[1], over - 1, over - 1, 'WITHSCORES')
  return last[2] + window - at
end
for number = 1, asked do
  redis.call('ZADD', KEYS[1], at, string.format('%.0f-%d', at, number))
end
redis.call('PEXPIRE', KEYS[1], math.ceil(window / 1000))
return 0
"""
