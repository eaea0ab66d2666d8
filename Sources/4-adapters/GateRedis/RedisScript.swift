// SPDX-License-Identifier: Apache-2.0

/// The scripts that run in Redis; each has one key, and running it twice has the same effect as running it once.
///
/// Times to live are in milliseconds. Scores that are compared with the present are of the clock of Redis, which is the
/// same for all gateways.
enum RedisScript: String, CaseIterable {
    /// Adds a record: version, family, times, sealed session, labels, card, time to live; 0 if there is another one.
    case addRecord = """
        local sealed = redis.call('HGET', KEYS[1], 'd')
        if sealed then return sealed == ARGV[6] and 1 or 0 end
        redis.call('HSET', KEYS[1], 'v', ARGV[1], 'f', ARGV[2], 'c', ARGV[3], 'u', ARGV[4], 'e', ARGV[5], 'd', ARGV[6],
            'l', ARGV[7], 'k', ARGV[8])
        redis.call('PEXPIRE', KEYS[1], ARGV[9])
        return 1
        """

    /// Replaces the sealed session and the card of a record; returns its family, nil if it has another session.
    case replaceRecord = """
        local fields = redis.call('HMGET', KEYS[1], 'd', 'f')
        if fields[1] ~= ARGV[1] and fields[1] ~= ARGV[2] then return false end
        if not fields[2] then return false end
        redis.call('HSET', KEYS[1], 'd', ARGV[2], 'k', ARGV[3])
        return fields[2]
        """

    /// Removes a record, of this family unless that is empty; returns its family and labels, nil if absent.
    ///
    /// A value other than a hash is removed as well.
    case removeRecord = """
        local fields = redis.pcall('HMGET', KEYS[1], 'f', 'l')
        if fields.err then redis.call('DEL', KEYS[1]) end
        if not fields[1] or (ARGV[1] ~= '' and ARGV[1] ~= fields[1]) then return false end
        redis.call('DEL', KEYS[1])
        return {fields[1], fields[2] or ''}
        """

    /// Records a use of a record and extends it: time, idle time-out (0 if unknown); 0 if there is no record.
    case useRecord = """
        local times = redis.call('HMGET', KEYS[1], 'u', 'e')
        local seen, expires = tonumber(times[1]), tonumber(times[2])
        if not seen or not expires then return 0 end
        if tonumber(ARGV[1]) > seen then redis.call('HSET', KEYS[1], 'u', ARGV[1]) end
        local left = (expires - tonumber(ARGV[1])) * 1000
        local idle = tonumber(ARGV[2])
        if idle > 0 and idle < left then left = idle end
        if left > 0 then redis.call('PEXPIRE', KEYS[1], left) end
        return 1
        """

    /// Removes a record whose end or last use is not after these times; returns its times if it stays.
    ///
    /// A value other than a hash is removed as well; times are returned as numbers, whatever the record has.
    case sweepRecord = """
        local times = redis.pcall('HMGET', KEYS[1], 'u', 'e')
        local seen, expires = tonumber(times[1]), tonumber(times[2])
        if not times.err and (not seen or not expires) then return false end
        if seen and expires and expires > tonumber(ARGV[1]) and seen > tonumber(ARGV[2]) then
            return {tostring(seen), tostring(expires)}
        end
        redis.call('DEL', KEYS[1])
        return false
        """

    /// Adds a member to a set that lives at least this long.
    case addMember = """
        redis.call('SADD', KEYS[1], ARGV[1])
        if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
        return 1
        """

    /// Adds a member to an index of all records by a time; a new index is marked, since it may lack others.
    case addIndexed = """
        if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('ZADD', KEYS[1], '+inf', 'partial') end
        redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
        return 1
        """

    /// Adds a member to a sorted set for this long, and removes those whose time is over.
    case addExpiring = """
        local time = redis.call('TIME')
        local now = time[1] * 1000 + (time[2] - time[2] % 1000) / 1000
        redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
        local expires = now + tonumber(ARGV[2])
        local before = redis.call('ZSCORE', KEYS[1], ARGV[1])
        if not before or tonumber(before) < expires then redis.call('ZADD', KEYS[1], expires, ARGV[1]) end
        if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
        return 1
        """

    /// Adds a member with a score to a sorted set that does not expire.
    case addPermanent = """
        redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
        redis.call('PERSIST', KEYS[1])
        return 1
        """

    /// The members of a sorted set after a score and a member, with their scores; from the start if that is empty.
    ///
    /// Members with the same score are in the order of their bytes. The member itself may have been removed, so its place is
    /// searched for; nothing is written, so that revocations find their sessions in a Redis that is full.
    case page = """
        local function follows(a, b)
            for i = 1, math.min(#a, #b) do
                local x, y = a:byte(i), b:byte(i)
                if x ~= y then return x > y end
            end
            return #a > #b
        end
        local start = 0
        if ARGV[2] ~= '' then
            start = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. ARGV[1])
            local stop = redis.call('ZCOUNT', KEYS[1], '-inf', ARGV[1])
            while start < stop do
                local middle = (start + stop - (start + stop) % 2) / 2
                if follows(redis.call('ZRANGE', KEYS[1], middle, middle)[1], ARGV[2]) then
                    stop = middle
                else
                    start = middle + 1
                end
            end
        end
        return redis.call('ZRANGE', KEYS[1], start, start + tonumber(ARGV[3]) - 1, 'WITHSCORES')
        """

    /// Writes a value for this long if the present one is as expected: value, time to live (0 for no end), expected value (empty for none),
    /// time; 0 if there is another one. A value begins with its end; one that has ended by the time does not count.
    case replaceValue = """
        local known = redis.call('GET', KEYS[1])
        if known == ARGV[1] then return 1 end
        local expires = known and tonumber(string.match(known, '^(-?%d+)\\n'))
        if expires and expires <= tonumber(ARGV[4]) then known = false end
        if (known or '') ~= ARGV[3] then return 0 end
        if ARGV[2] == '0' then
            redis.call('SET', KEYS[1], ARGV[1])
        else
            redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
        end
        return 1
        """

    /// Takes what is free for this long, with a token that is of this call only; 0 if it is taken.
    case claim = """
        local token = redis.call('GET', KEYS[1])
        if token then return token == ARGV[1] and 1 or 0 end
        redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
        return 1
        """

    /// Frees what was taken with this token.
    case release = """
        if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
        return 0
        """

    /// The command that runs the script on a key.
    func command(_ key: String) -> RedisCommand {
        RedisCommand(self == .page ? "EVAL_RO" : "EVAL", self.rawValue, "1", key)
    }
}
