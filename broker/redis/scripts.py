"""Scripts that run inside Redis, on the keys that dramatiq uses (see the top of its ``dispatch.lua``).

The time is always that of Redis. dramatiq's scripts trust the caller's clock. One caller with a wrong clock would have
all others taken for dead, or never be taken for dead itself.

Each script is safe to repeat after a lost answer, except TAKE: the messages that it took then stay in the worker's set
of unacknowledged messages, and ``RedisIntake._look`` finds them there.
"""

_NOW = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
"""

#: The messages that a worker holds of a queue wait again, and are held no more. An id without a body was acknowledged
#: before.
_GIVE_BACK_ALL = """
local function give_back_all(held, bodies, list)
    for _, id in ipairs(redis.call('smembers', held)) do
        if redis.call('hexists', bodies, id) == 1 then
            redis.call('rpush', list, id)
        end
    end
    redis.call('del', held)
end
"""

#: KEYS: list, bodies. ARGV: channel of signals, queue, then id, body, id, body … An id that exists already is not put
#: on the list again. The signal is a part of the script because a request of its own would be another round trip.
PUBLISH = """
for i = 3, #ARGV, 2 do
    if redis.call('hsetnx', KEYS[2], ARGV[i], ARGV[i + 1]) == 1 then
        redis.call('rpush', KEYS[1], ARGV[i])
    end
end
redis.call('publish', ARGV[1], ARGV[2])
"""

#: KEYS: heartbeats, then list, bodies, unacknowledged for each queue. ARGV: most, largest body, worker. Takes one
#: message of each queue in turn, until there are enough or all are empty. Returns rows of queue number (from 0), id,
#: size and body. The body is empty if it is larger than the largest body. An id without a body was acknowledged before
#: and is dropped.
TAKE = (
    _NOW
    + """
redis.call('zadd', KEYS[1], now, ARGV[3])
local taken, most, found = {}, tonumber(ARGV[1]), true
while found and #taken < most do
    found = false
    for key = 2, #KEYS, 3 do
        local id = #taken < most and redis.call('lpop', KEYS[key])
        if id then
            found = true
            local size = redis.call('hstrlen', KEYS[key + 1], id)
            if size > 0 then
                redis.call('sadd', KEYS[key + 2], id)
                local body = size <= tonumber(ARGV[2]) and redis.call('hget', KEYS[key + 1], id) or ''
                taken[#taken + 1] = {(key - 2) / 3, id, size, body}
            end
        end
    end
end
return taken
"""
)

#: KEYS: unacknowledged, bodies. ARGV: ids. A message that another worker holds by now is left to that worker.
ACKNOWLEDGE = """
for i = 1, #ARGV do
    if redis.call('srem', KEYS[1], ARGV[i]) == 1 then
        redis.call('hdel', KEYS[2], ARGV[i])
    end
end
"""

#: KEYS: unacknowledged, bodies, list. ARGV: ids. They go to the end of the list, and only if they were still held.
GIVE_BACK = """
for i = 1, #ARGV do
    if redis.call('srem', KEYS[1], ARGV[i]) == 1 and redis.call('hexists', KEYS[2], ARGV[i]) == 1 then
        redis.call('rpush', KEYS[3], ARGV[i])
    end
end
"""

#: KEYS: unacknowledged, bodies, dead letters, their bodies. ARGV: ids.
REJECT = (
    _NOW
    + """
for i = 1, #ARGV do
    local body = redis.call('srem', KEYS[1], ARGV[i]) == 1 and redis.call('hget', KEYS[2], ARGV[i])
    if body then
        redis.call('zadd', KEYS[3], now, ARGV[i])
        redis.call('hset', KEYS[4], ARGV[i], body)
        redis.call('hdel', KEYS[2], ARGV[i])
    end
end
"""
)

#: KEYS: heartbeats, then list, bodies, dead letters, their bodies for each queue. ARGV: worker, milliseconds without a
#: heartbeat after which a worker is dead, milliseconds for which dead letters are kept, prefix of keys of held ids,
#: queues. Gives back the messages that dead workers hold of these queues, and removes dead workers that hold nothing of
#: any queue. Drops dead letters that are too old.
LOOK = (
    _NOW
    + _GIVE_BACK_ALL
    + """
redis.call('zadd', KEYS[1], now, ARGV[1])
local dead = redis.call('zrangebyscore', KEYS[1], '-inf', now - ARGV[2])
for key = 2, #KEYS, 4 do
    local queue = ARGV[5 + (key - 2) / 4]
    for _, worker in ipairs(dead) do
        give_back_all(ARGV[4] .. worker .. '.' .. queue, KEYS[key + 1], KEYS[key])
    end
    for _, id in ipairs(redis.call('zrangebyscore', KEYS[key + 2], '-inf', now - ARGV[3], 'LIMIT', 0, 1000)) do
        redis.call('zrem', KEYS[key + 2], id)
        redis.call('hdel', KEYS[key + 3], id)
    end
end
for _, worker in ipairs(dead) do
    if #redis.call('keys', ARGV[4] .. worker .. '.*') == 0 then
        redis.call('zrem', KEYS[1], worker)
    end
end
"""
)

#: KEYS: heartbeats, then list, bodies, unacknowledged for each queue. ARGV: worker. Gives back all that the worker
#: holds, including messages of an answer that was lost, and removes the worker. A TAKE that is late enters it again,
#: and then it is found dead later.
LEAVE = (
    _GIVE_BACK_ALL
    + """
for key = 2, #KEYS, 3 do
    give_back_all(KEYS[key + 2], KEYS[key + 1], KEYS[key])
end
redis.call('zrem', KEYS[1], ARGV[1])
"""
)

#: KEYS: list, bodies. Drops the waiting messages. Messages that workers hold and dead letters stay.
PURGE = """
for _, id in ipairs(redis.call('lrange', KEYS[1], 0, -1)) do
    redis.call('hdel', KEYS[2], id)
end
redis.call('del', KEYS[1])
"""
