"""Counting acts in the last minute with Redis, in one piece, for limits of rate."""

from __future__ import annotations

from typing import Final

WINDOW_SECONDS: Final = 60

# The acts of the last minute, each with its time in microseconds, by the clock of Redis: every web process counts in
# the same ones. Arguments: the window in microseconds, how many acts, and the limit of each key. Answers the
# microseconds after which so many acts have a place under all limits, and the number of the limit; 0: they have, and
# are counted under each.
COUNT_OR_WAIT: Final = """
local now = redis.call('TIME')
local at = now[1] * 1000000 + now[2]
local window, asked = tonumber(ARGV[1]), tonumber(ARGV[2])
local wait, which = 0, 0
for number, key in ipairs(KEYS) do
  redis.call('ZREMRANGEBYSCORE', key, '-inf', at - window)
  local over = redis.call('ZCARD', key) + asked - tonumber(ARGV[number + 2])
  if over > 0 then
    local last = redis.call('ZRANGE', key, over - 1, over - 1, 'WITHSCORES')
    if last[2] + window - at > wait then wait, which = last[2] + window - at, number end
  end
end
if wait > 0 then return {wait, which} end
for _, key in ipairs(KEYS) do
  for number = 1, asked do redis.call('ZADD', key, at, string.format('%.0f-%d', at, number)) end
  redis.call('PEXPIRE', key, math.ceil(window / 1000))
end
return {0, 0}
"""
