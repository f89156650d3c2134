"""Handshakes of clients that are not in the distribution, byte for byte as
their sources send them: what must not be refused, and what they check."""
from lib import AUTH_PORT, PASSWORD, Connection, check, contains, encode, \
    equal, finish, plain


def pipeline(c, *commands):
    c.raw(b''.join(encode(*words) for words in commands))
    return [c.value() for _ in commands]


def is_hello(value, proto, kind):
    equal(value[0], kind)
    flat = [plain(x) for x in value[1]]
    fields = dict(zip(flat[::2], flat[1::2]))
    equal(fields[b'proto'], proto)
    equal(type(fields[b'id']), int)
    for name in (b'server', b'version', b'mode', b'role'):
        equal(type(fields[name]), bytes)
    equal(fields[b'modules'], [])


def tolerated(value):
    """An error that the client expects from servers that do not know it."""
    equal(value[0], '-')
    contains(value[1], b'unknown subcommand')


def go_redis():
    c = Connection(AUTH_PORT)
    is_hello(c.do('hello', '3', 'auth', 'default', PASSWORD, 'setname', 'go'),
             3, '%')
    # One pipeline; errors of SELECT and SETNAME are fatal.
    equal([v[0] for v in pipeline(c, ('select', '0'),
                                  ('client', 'setname', 'go'))], ['+', '+'])
    tolerated(c.do('client', 'maint_notifications', 'on',
                   'moving-endpoint-type', 'internal-ip'))
    equal([v[0] for v in pipeline(
        c, ('client', 'setinfo', 'LIB-NAME', 'go-redis(,go1.24)'),
        ('client', 'setinfo', 'LIB-VER', '9.14.0'))], ['+', '+'])
    equal(c.do('ping'), ('+', b'PONG'))
    # multiplexed health check and a job
    job = plain(c.do('JOB.ADD', 'go', 'x'))
    leased = plain(c.do('JOB.LEASE', 'go'))
    equal(leased[0][b'id'], job)
    equal(plain(c.do('JOB.LEASE', 'go')), [])


def go_redis_resp2():
    """Protocol: 2 sends HELLO 2; without HELLO it would AUTH and SELECT."""
    c = Connection(AUTH_PORT)
    is_hello(c.do('hello', '2', 'auth', 'default', PASSWORD), 2, '*')
    d = Connection(AUTH_PORT)
    equal([v[0] for v in pipeline(d, ('auth', PASSWORD), ('select', '0'))],
          ['+', '+'])


def rueidis():
    c = Connection()
    replies = pipeline(
        c, ('HELLO', '3', 'SETNAME', 'rueidis'),
        ('CLIENT', 'TRACKING', 'ON', 'OPTIN'), ('SELECT', '0'),
        ('CLIENT', 'SETINFO', 'LIB-NAME', 'rueidis'),
        ('CLIENT', 'SETINFO', 'LIB-VER', '1.0.66'))
    is_hello(replies[0], 3, '%')
    equal([v[0] for v in replies[1:]], ['+', '+', '+', '+'])
    equal([v[0] for v in pipeline(c, ('CLIENT', 'CACHING', 'YES'),
                                  ('MULTI',), ('PING',), ('EXEC',))],
          ['+', '+', '+', '*'])


def jedis():
    c = Connection(AUTH_PORT)
    is_hello(c.do('HELLO', '3', 'AUTH', 'default', PASSWORD), 3, '%')
    equal(c.do('CLIENT', 'SETNAME', 'jedis')[0], '+')
    equal([v[0] for v in pipeline(
        c, ('CLIENT', 'SETINFO', 'LIB-NAME', 'jedis(a)'),
        ('CLIENT', 'SETINFO', 'lib-ver', '7.0.0'))], ['+', '+'])
    equal(c.do('SELECT', '0')[0], '+')
    equal(plain(c.do('HELLO', '3'))[b'proto'], 3)


def jedis_fallback():
    """It falls back only on ERR with "unknown command", or NOPROTO."""
    c = Connection()
    kind, text = c.do('HELLO', '9')
    equal((kind, text[:7]), ('-', b'NOPROTO'))
    kind, text = c.do('JSON.GET', 'a')
    equal((kind, text[:20]), ('-', b'ERR unknown command '))


def lettuce():
    c = Connection(AUTH_PORT)
    is_hello(c.do('HELLO', '3', 'AUTH', 'default', PASSWORD, 'SETNAME',
                  'lettuce'), 3, '%')
    replies = pipeline(
        c, ('CLIENT', 'SETINFO', 'lib-name', 'Lettuce'),
        ('CLIENT', 'SETINFO', 'lib-ver', '7.0.0.RELEASE/abc'),
        ('CLIENT', 'MAINT_NOTIFICATIONS', 'ON'), ('SELECT', '0'), ('PING',))
    equal([v[0] for v in replies[:2]], ['+', '+'])
    tolerated(replies[2])
    equal([v[0] for v in replies[3:]], ['+', '+'])


def lettuce_resp2():
    c = Connection(AUTH_PORT)
    equal(c.do('AUTH', PASSWORD)[0], '+')
    equal(c.do('PING')[0], '+')


def redis_rs():
    """RESP2 by default, everything in one pipeline."""
    c = Connection(AUTH_PORT)
    replies = pipeline(c, ('AUTH', 'default', PASSWORD), ('SELECT', '0'),
                       ('CLIENT', 'SETINFO', 'LIB-NAME', 'redis-rs'),
                       ('CLIENT', 'SETINFO', 'LIB-VER', '1.6.0'))
    equal([v[0] for v in replies], ['+', '+', '+', '+'])
    d = Connection(AUTH_PORT)
    replies = pipeline(d, ('HELLO', '3', 'AUTH', 'default', PASSWORD),
                       ('CLIENT', 'SETINFO', 'LIB-NAME', 'redis-rs'))
    is_hello(replies[0], 3, '%')


def stack_exchange():
    c = Connection(AUTH_PORT)
    nonce = bytes(range(240, 256)) + b'\r\n\x00'
    replies = pipeline(
        c, ('AUTH', PASSWORD), ('HELLO', '3', 'AUTH', 'default', PASSWORD),
        ('CLIENT', 'SETNAME', 'host'),
        ('CLIENT', 'SETINFO', 'lib-name', 'SE.Redis'),
        ('CLIENT', 'SETINFO', 'lib-ver', '3.1.0'), ('CLIENT', 'ID'),
        ('CONFIG', 'GET', 'timeout'), ('CONFIG', 'GET', 'replica-read-only'),
        ('CONFIG', 'GET', 'databases'), ('SENTINEL', 'MASTERS'),
        ('INFO', 'replication'), ('INFO', 'server'), ('CLUSTER', 'NODES'),
        ('GET', '__Booksleeve_TieBreak'), ('ECHO', nonce))
    kinds = [v[0] for v in replies]
    equal(kinds[:9], ['+', '%', '+', '+', '+', ':', '%', '%', '%'])
    equal(kinds[9], '-')
    contains(replies[10][1], b'role:master')
    contains(replies[11][1], b'redis_version:')
    contains(replies[11][1], b'redis_mode:standalone')
    contains(replies[12][1], b'cluster support disabled')
    equal(kinds[13], '-')
    equal(replies[14], ('$', nonce))
    s = Connection(AUTH_PORT)
    replies = pipeline(s, ('AUTH', PASSWORD), ('CLIENT', 'SETNAME', 'host'),
                       ('ECHO', nonce),
                       ('SUBSCRIBE', '__Booksleeve_MasterChanged'), ('PING',))
    equal(replies[2], ('$', nonce))
    equal(plain(replies[3]), [b'subscribe', b'__Booksleeve_MasterChanged', 1])
    equal(plain(replies[4]), [b'pong', b''])


def redis_py_8():
    c = Connection(AUTH_PORT)
    is_hello(c.do('HELLO', '3', 'AUTH', 'default', PASSWORD), 3, '%')
    tolerated(c.do('CLIENT', 'MAINT_NOTIFICATIONS', 'ON',
                   'moving-endpoint-type', 'external-ip'))
    equal([v[0] for v in pipeline(
        c, ('CLIENT', 'SETNAME', 'py'),
        ('CLIENT', 'SETINFO', 'LIB-NAME', 'redis-py'),
        ('CLIENT', 'SETINFO', 'LIB-VER', '8.0.0'), ('SELECT', '0'))],
        ['+', '+', '+', '+'])


def refused_in_order():
    """A failing AUTH inside a pipeline has its one reply, in its place."""
    c = Connection(AUTH_PORT)
    replies = pipeline(c, ('AUTH', 'wrong'), ('SELECT', '0'), ('PING',),
                       ('AUTH', PASSWORD), ('PING',))
    equal([v[0] for v in replies], ['-', '-', '-', '+', '+'])
    contains(replies[0][1], b'WRONGPASS')
    contains(replies[1][1], b'NOAUTH')


check('go-redis v9', go_redis)
check('go-redis v9 in RESP2', go_redis_resp2)
check('rueidis, valkey-go', rueidis)
check('Jedis 7', jedis)
check('Jedis 7, falling back', jedis_fallback)
check('Lettuce 7', lettuce)
check('Lettuce in RESP2', lettuce_resp2)
check('redis-rs 1.6', redis_rs)
check('StackExchange.Redis 3', stack_exchange)
check('redis-py 8', redis_py_8)
check('a refusal in the middle of a pipeline', refused_in_order)
finish()
