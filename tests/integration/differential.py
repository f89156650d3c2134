#!/usr/bin/env python3
"""usage: B=build/release tests/integration/differential.py

Sends the same commands, most of them wrong, to redis-server and to us, in RESP2
and RESP3: the same type of reply must come, and the same error text, because
clients match on it. Where we answer otherwise on purpose the table OURS says
how. (Broken bytes are in malformed_inputs.) Closes with `N passed, N failed`.
"""
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
SERVER = os.path.join(ROOT, os.environ.get('B', 'build/release'),
                      'belfry-server')
sys.path.insert(0, os.path.join(ROOT, 'tests', 'clients'))
os.environ.setdefault('PORT', '0')
os.environ.setdefault('AUTH_PORT', '0')
os.environ.setdefault('PASSWORD', '')
from lib import Connection, encode  # noqa: E402

# One session per line: commands parted by ` ; `, words by blanks; '' is empty.
SESSIONS = r"""
PING
PING hello
PING a b
PING ''
ECHO
ECHO a
ECHO a b
QUIT
QUIT now
SELECT
SELECT 0
SELECT 99999
SELECT -1
SELECT x
SELECT ''
SELECT 1.5
SELECT 99999999999999999999
SELECT 0 1
AUTH
AUTH a
AUTH default a
AUTH nobody a
AUTH a b c
HELLO
HELLO 2
HELLO 3
HELLO 1
HELLO 4
HELLO -1
HELLO x
HELLO ''
HELLO 3.0
HELLO 3 AUTH
HELLO 3 AUTH default
HELLO 3 AUTH default x
HELLO 3 AUTH nobody x
HELLO 3 SETNAME
HELLO 3 SETNAME a ; CLIENT GETNAME
HELLO 2 SETNAME a AUTH default x
HELLO 3 FOO
HELLO 3 SETNAME a FOO
RESET
RESET x
MULTI ; RESET ; EXEC
CLIENT
CLIENT FOO
CLIENT FOO bar
CLIENT ''
CLIENT ID
CLIENT ID x
CLIENT GETNAME
CLIENT GETNAME x
CLIENT SETNAME
CLIENT SETNAME a ; CLIENT GETNAME
CLIENT SETNAME a b
CLIENT SETNAME '' ; CLIENT GETNAME
CLIENT INFO
CLIENT INFO x
CLIENT LIST
CLIENT LIST TYPE
CLIENT LIST TYPE normal
CLIENT LIST TYPE pubsub
CLIENT LIST TYPE foo
CLIENT LIST ID
CLIENT LIST ID 1
CLIENT LIST ID x
CLIENT LIST ID -1
CLIENT LIST FOO
CLIENT LIST FOO bar
CLIENT KILL
CLIENT KILL x
CLIENT KILL 1.2.3.4:5
CLIENT KILL ID
CLIENT KILL ID 99999
CLIENT KILL ID x
CLIENT KILL ID 0
CLIENT KILL TYPE foo
CLIENT KILL TYPE replica
CLIENT KILL ADDR 1.2.3.4:5
CLIENT KILL LADDR 1.2.3.4:5
CLIENT KILL SKIPME foo
CLIENT KILL FOO bar
CLIENT KILL USER default SKIPME yes ID 99999
CLIENT REPLY
CLIENT REPLY FOO
CLIENT REPLY ON
CLIENT REPLY ON OFF
CLIENT REPLY SKIP ; PING ; PING a
CLIENT NO-EVICT
CLIENT NO-EVICT FOO
CLIENT NO-EVICT ON
CLIENT NO-EVICT OFF
CLIENT TRACKING
CLIENT TRACKING FOO
CLIENT TRACKING OFF
CLIENT TRACKING ON FOO
CLIENT TRACKINGINFO
CLIENT GETREDIR
CLIENT CACHING
CLIENT CACHING yes
CLIENT PAUSE
CLIENT PAUSE x
CLIENT PAUSE 0
CLIENT PAUSE 0 FOO
CLIENT PAUSE 0 WRITE
CLIENT PAUSE -1
CLIENT UNPAUSE
CLIENT UNPAUSE x
CLIENT UNBLOCK
CLIENT UNBLOCK 99999
CLIENT UNBLOCK x
CLIENT UNBLOCK 99999 FOO
CLIENT HELP
CLIENT HELP x
CLIENT MAINT_NOTIFICATIONS ON
COMMAND
COMMAND FOO
COMMAND COUNT
COMMAND COUNT x
COMMAND INFO
COMMAND INFO nosuch
COMMAND INFO ping
COMMAND DOCS nosuch
COMMAND DOCS ping
COMMAND LIST
COMMAND LIST FOO
COMMAND LIST FILTERBY
COMMAND LIST FILTERBY FOO
COMMAND LIST FILTERBY FOO bar
COMMAND LIST FILTERBY PATTERN pin*
COMMAND LIST FILTERBY ACLCAT foo
COMMAND LIST FILTERBY MODULE foo
COMMAND GETKEYS
COMMAND GETKEYS nosuch
COMMAND GETKEYS ping
COMMAND GETKEYS watch a b
COMMAND HELP
CONFIG
CONFIG FOO
CONFIG GET
CONFIG GET maxclients
CONFIG GET nosuch
CONFIG GET port bind
CONFIG SET
CONFIG SET maxclients
CONFIG SET nosuch 1
CONFIG SET maxclients x
CONFIG SET timeout 10 ; CONFIG GET timeout
CONFIG SET timeout 0 timeout 1
CONFIG SET port 1 2
CONFIG REWRITE
CONFIG REWRITE x
CONFIG RESETSTAT
CONFIG HELP
INFO
INFO server
INFO server clients
INFO nosuch
INFO all
INFO everything
TIME
TIME x
ROLE
ROLE x
DBSIZE
DBSIZE x
LASTSAVE
LASTSAVE x
SCAN
SCAN x
SCAN 0
SCAN 0 COUNT
SCAN 0 COUNT x
SCAN 0 COUNT 0
SCAN 0 MATCH *
SCAN 0 FOO
SCAN 0 FOO bar
SUBSCRIBE
SUBSCRIBE a
SUBSCRIBE a b
SUBSCRIBE a ; PING
SUBSCRIBE a ; PING x
SUBSCRIBE a ; ECHO x
SUBSCRIBE a ; GET x
SUBSCRIBE a ; CLIENT ID
SUBSCRIBE a ; MULTI
SUBSCRIBE a ; UNSUBSCRIBE ; ECHO x
SUBSCRIBE a ; UNSUBSCRIBE b
SUBSCRIBE a ; SUBSCRIBE a
SUBSCRIBE a ; RESET ; ECHO x
SUBSCRIBE a ; QUIT
PSUBSCRIBE
PSUBSCRIBE a*
PSUBSCRIBE a* ; PUNSUBSCRIBE
UNSUBSCRIBE
UNSUBSCRIBE a
UNSUBSCRIBE a b
PUNSUBSCRIBE
PUNSUBSCRIBE a*
PUBLISH
PUBLISH a
PUBLISH a b
PUBLISH a b c
PUBSUB
PUBSUB FOO
PUBSUB CHANNELS
PUBSUB CHANNELS a*
PUBSUB CHANNELS a b
PUBSUB NUMSUB
PUBSUB NUMSUB a b
PUBSUB NUMPAT
PUBSUB NUMPAT x
PUBSUB HELP
MULTI
MULTI x
MULTI ; MULTI
MULTI ; EXEC
MULTI ; PING ; EXEC
MULTI ; PING ; PING a b ; EXEC
MULTI ; NOSUCH ; EXEC
MULTI ; ECHO ; PING ; EXEC
MULTI ; SELECT 99 ; PING ; EXEC
MULTI ; DISCARD ; EXEC
MULTI ; DISCARD x ; EXEC
MULTI ; WATCH a ; EXEC
MULTI ; UNWATCH ; EXEC
MULTI ; CLIENT ID x ; EXEC
MULTI ; CLIENT FOO ; EXEC
MULTI ; PING ; QUIT
MULTI ; EXEC x ; EXEC
EXEC
EXEC x
DISCARD
DISCARD x
WATCH
WATCH a
UNWATCH
UNWATCH x
SLOWLOG
SLOWLOG FOO
SLOWLOG GET
SLOWLOG GET x
SLOWLOG GET 5
SLOWLOG GET -1
SLOWLOG GET -2
SLOWLOG GET 1 2
SLOWLOG LEN
SLOWLOG LEN x
SLOWLOG RESET
SLOWLOG HELP
LATENCY
LATENCY FOO
LATENCY LATEST
LATENCY LATEST x
LATENCY HISTORY
LATENCY HISTORY x
LATENCY RESET
LATENCY RESET x
LATENCY DOCTOR
LATENCY DOCTOR x
LATENCY HISTOGRAM
LATENCY HISTOGRAM nosuch
LATENCY HELP
MEMORY
MEMORY FOO
MEMORY DOCTOR
MEMORY USAGE
MEMORY USAGE nosuch
MEMORY USAGE nosuch SAMPLES
MEMORY USAGE nosuch SAMPLES 5
MEMORY STATS
MEMORY PURGE
MEMORY HELP
MODULE
MODULE FOO
MODULE LIST
MODULE LIST x
ACL
ACL FOO
ACL WHOAMI
ACL WHOAMI x
ACL USERS
ACL LIST
ACL CAT
ACL CAT nosuch
ACL CAT read
ACL GETUSER
ACL GETUSER default
ACL GETUSER nobody
ACL GENPASS
ACL GENPASS 5
ACL GENPASS 0
ACL GENPASS x
ACL HELP
CLUSTER
CLUSTER NODES
CLUSTER INFO
CLUSTER FOO
READONLY
READONLY x
READWRITE
READWRITE x
SHUTDOWN FOO
SHUTDOWN SAVE NOSAVE
SHUTDOWN ABORT
DEBUG
DEBUG FOO
DEBUG SLEEP 0
MONITOR x
NOSUCH
NOSUCH a
NOSUCH a b c
nosuch ''
JSON.GET a
FT.SEARCH a b
PING\r\nX
''
"" ''
"""

MARK = 'the-end-of-the-session'

# What we say instead of Redis' text, by what Redis says. Our sentences name the
# word that was wrong and what is allowed.
OURS = [
    # Redis' words, then our pattern
    (r'ERR syntax error', r'ERR ([A-Z]+( [A-Z-]+)?: .*|wrong number of .*)'),
    (r'ERR Syntax error in .*', r'ERR HELLO: .*'),
    (r'ERR value is not an integer or out of range', r'ERR [A-Z ]+: .* wants .*'),
    (r'ERR (client-id|count|id|timeout|value|min-).*', r'ERR [A-Z ]+: .* wants .*'),
    (r'ERR Unknown client type .*', r'ERR CLIENT [A-Z]+: TYPE wants .*'),
    (r'ERR timeout .*', r'ERR CLIENT PAUSE: .* wants a duration.*'),
    (r'ERR CLIENT PAUSE mode must be .*', r'ERR CLIENT PAUSE: what wants .*'),
    (r'ERR CLIENT UNBLOCK reason .*', r'ERR CLIENT UNBLOCK: how wants .*'),
    (r'ERR ACL GENPASS argument .*', r'ERR ACL GENPASS: bits wants .*'),
    (r'ERR Unknown option or number of arguments for CONFIG SET .*', r'ERR .*nosuch.*'),
    (r'ERR CONFIG SET failed .*', r'ERR .*'),
    (r'ERR DEBUG command not allowed.*', r'ERR DEBUG command not allowed.*'),
    (r'ERR Unknown client .*', r'ERR CLIENT .* wants .*'),
    (r'ERR Errors trying to SHUTDOWN.*', r'.*'),
]

# Sessions whose difference is meant: only the number of replies is compared.
MEANT = {
    # Arguments are checked by the table, before anything is looked up.
    'AUTH a b c', 'HELLO 3 AUTH', 'HELLO 3 AUTH default', 'HELLO 3 SETNAME',
    'CLIENT KILL ID', 'PUBSUB CHANNELS a b', 'SLOWLOG GET 1 2',
    # 7.0 wants an argument more than the command needs (later corrected).
    'COMMAND GETKEYS nosuch', 'COMMAND GETKEYS ping',
    # There is no such command here.
    'SUBSCRIBE a ; GET x',
    # What is wrong is refused when it is queued, not when it runs.
    'MULTI ; PING ; PING a b ; EXEC',
    'CLUSTER FOO', 'DEBUG FOO',
}


class Server:
    def __init__(self, argv, port):
        self.port = port
        self.process = subprocess.Popen(argv, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        end = time.monotonic() + 20
        while True:
            try:
                c = Connection(port)
                kind, _ = c.do('DBSIZE')
                if kind == ':':
                    return
            except OSError:
                pass
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError(f'{argv[0]} does not start')
            time.sleep(0.02)

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


def free_port():
    s = socket.socket()
    s.bind(('127.0.0.1', 0))
    port = s.getsockname()[1]
    s.close()
    return port


def split(line):
    """Commands of words; \\r and \\n are themselves, '' and "" are empty."""
    return [[w.replace("''", '').replace('""', '').encode()
             .replace(b'\\r', b'\r').replace(b'\\n', b'\n')
             for w in command.split()]
            for command in line.split(' ; ')]


def run(port, proto, commands):
    """What comes back, up to a mark behind the last command."""
    c = Connection(port, timeout=10)
    if proto == 3:
        c.do('HELLO', '3')
    c.raw(b''.join(encode(*words) for words in commands) +
          encode('PING', MARK))
    out = []
    try:
        while True:
            value = c.value()
            # An open transaction keeps the mark, too.
            if MARK in repr(value) or (len(out) >= len(commands) and
                                       value[1] == b'QUEUED'):
                break
            out.append(value)
    except (EOFError, ConnectionError, TimeoutError):
        pass
    c.close()
    return out


def kind(value):
    """Types that clients see as the same are the same."""
    k, v = value
    if k == '-':
        return '-', v.decode(errors='replace')
    return {'~': '*', '=': '='}.get(k, k), ''


def same(theirs, ours):
    if len(theirs) != len(ours):
        return False
    for t, o in zip(map(kind, theirs), map(kind, ours)):
        if t[0] != o[0]:
            return False
        if t == o:
            continue
        # A suggestion may stand behind Redis' text.
        if o[1].startswith(t[1].rstrip()) and ' you mean ' in o[1]:
            continue
        if not any(re.fullmatch(a, t[1]) and re.fullmatch(b, o[1])
                   for a, b in OURS):
            return False
    return True


def main():
    folder = tempfile.mkdtemp(prefix='belfry-diff.')
    port, redis_port = free_port(), free_port()
    passed = failed = 0
    servers = []
    try:
        servers.append(Server(
            ['redis-server', '--port', str(redis_port), '--save', '',
             '--dir', folder], redis_port))
        servers.append(Server(
            [SERVER, '--port', str(port), '--http-port', '0', '--dir',
             os.path.join(folder, 'data'), '--logfile',
             os.path.join(folder, 'log')], port))
        lines = [line for line in SESSIONS.split('\n') if line]
        for line in lines:
            for proto in (2, 3):
                theirs = run(redis_port, proto, split(line))
                ours = run(port, proto, split(line))
                if same(theirs, ours) or (line in MEANT and
                                          len(theirs) == len(ours)):
                    passed += 1
                    continue
                failed += 1
                print(f'FAILED  RESP{proto} {line}')
                print('        | redis: ', str(theirs)[:300])
                print('        | belfry:', str(ours)[:300])
    finally:
        for server in servers:
            server.stop()
        shutil.rmtree(folder)
    print(f'{passed} passed, {failed} failed')
    sys.exit(1 if failed else 0)


main()
