"""What is done inside Redis, in dramatiq's keys (see the top of its ``dispatch.lua``).

Each script is safe to repeat after a lost answer, but for TAKE: what it took then stays in the worker's
set of unacknowledged messages, and ``RedisIntake._look`` finds it there.
"""

#: KEYS: list, bodies. ARGV: id, body, id, body … An id that is there already is not put on the list again.
PUBLISH = """
for i = 1, #ARGV, 2 do
    if redis.call('hsetnx', KEYS[2], ARGV[i], ARGV[i + 1]) == 1 then
        redis.call('rpush', KEYS[1], ARGV[i])
    end
end
"""

#: KEYS: heartbeats, then list, bodies, unacknowledged for each queue. ARGV: most, largest body, now, worker.
#: One message of each queue in turn, until there are enough or all are empty. Answers with rows of queue
#: number (from 0), id, size and body; the body is empty where it is larger than we read. An id without a
#: body was acknowledged before and is dropped.
TAKE = """
redis.call('zadd', KEYS[1], ARGV[3], ARGV[4])
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

#: KEYS: unacknowledged, bodies. ARGV: ids. A message that was given to somebody else meanwhile stays his.
ACKNOWLEDGE = """
for i = 1, #ARGV do
    if redis.call('srem', KEYS[1], ARGV[i]) == 1 then
        redis.call('hdel', KEYS[2], ARGV[i])
    end
end
"""

#: KEYS: list, bodies. Drops what waits; what workers hold and the dead letters stay.
PURGE = """
for _, id in ipairs(redis.call('lrange', KEYS[1], 0, -1)) do
    redis.call('hdel', KEYS[2], id)
end
redis.call('del', KEYS[1])
"""
