"""redis-cli: one command, RESP2 and RESP3, JSON, --pipe, --stat, and its
interactive mode in a terminal, where it makes hints of COMMAND DOCS and aborts
on types that it does not expect."""
import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

from lib import AUTH_PORT, PASSWORD, PORT, check, contains, encode, equal, \
    finish


def cli(*words, port=PORT, data=None, env=None):
    done = subprocess.run(
        ['redis-cli', '-p', str(port), *words], input=data,
        capture_output=True, timeout=30, env={**os.environ, **(env or {})})
    equal(done.stderr.decode(), '')
    return done.stdout.decode()


def one_shot(flag):
    equal(cli(*flag, 'PING').strip(), 'PONG')
    equal(cli(*flag, 'ECHO', 'a b').strip(), 'a b')
    contains(cli(*flag, 'INFO', 'server'), 'belfry_version')
    job = cli(*flag, 'JOB.ADD', 'cli' + ''.join(flag), 'x').strip()
    contains(cli(*flag, 'JOB.LEASE', 'cli' + ''.join(flag)), job)
    contains(cli(*flag, 'NOSUCH', 'a'), 'unknown command')


def as_json():
    hello = json.loads(cli('--json', 'HELLO', '3'))
    equal(list(hello), ['server', 'version', 'proto', 'id', 'mode', 'role',
                        'modules'])
    job = cli('JOB.ADD', 'json', '{"a":1}').strip()
    leased = json.loads(cli('--json', 'JOB.LEASE', 'json'))
    equal(leased[0]['id'], job)
    equal(leased[0]['payload'], '{"a":1}')
    equal(json.loads(cli('--json', 'JOB.LEASE', 'json')), [])
    docs = json.loads(cli('--json', 'COMMAND', 'DOCS', 'client'))
    contains(docs['client']['subcommands'], 'client|list')


def with_password():
    contains(cli('PING', port=AUTH_PORT), 'NOAUTH')
    for flag in ([], ['-3']):
        equal(cli(*flag, '-a', PASSWORD, '--no-auth-warning', 'PING',
                  port=AUTH_PORT).strip(), 'PONG')
        equal(cli(*flag, '--user', 'default', '--pass', PASSWORD,
                  '--no-auth-warning', '-n', '0', 'PING',
                  port=AUTH_PORT).strip(), 'PONG')
    equal(cli('PING', port=AUTH_PORT,
              env={'REDISCLI_AUTH': PASSWORD}).strip(), 'PONG')


def mass_insertion():
    data = b''.join(encode('JOB.ADD', 'pipe', 'payload %d' % i)
                    for i in range(1000))
    contains(cli('--pipe', data=data), 'errors: 0, replies: 1000')


def from_stdin():
    equal(cli(data=b'PING\nECHO "a\\x00b"\nSELECT 0\n').split('\n')[0], 'PONG')


def statistics():
    process = subprocess.Popen(
        ['redis-cli', '-p', str(PORT), '--stat', '-i', '0.1'],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    text = b''
    end = time.monotonic() + 10
    while text.count(b'\n') < 4 and time.monotonic() < end:
        if select.select([process.stdout], [], [], 0.1)[0]:
            text += os.read(process.stdout.fileno(), 4096)
    process.terminate()
    _, err = process.communicate()
    equal(err, b'')
    contains(text, b'clients')
    assert re.search(rb'\n\d+ +\S+ +\d+', text), text


def latency():
    text = cli('--latency', '-i', '1', '--raw')
    equal(len(text.split()), 4)


class Terminal:
    def __init__(self, *words):
        pid, self.fd = pty.fork()
        if pid == 0:
            # A terminal without a size is asked for one.
            fcntl.ioctl(0, termios.TIOCSWINSZ,
                        struct.pack('HHHH', 50, 200, 0, 0))
            os.environ['TERM'] = 'xterm'
            os.environ['HOME'] = '/nonexistent'
            os.execvp('redis-cli', ['redis-cli', '-p', str(PORT), *words])
        self.pid = pid

    def expect(self, pattern):
        text = b''
        end = time.monotonic() + 10
        while not re.search(pattern, text):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise AssertionError(f'no {pattern!r} in {text!r}')
            try:
                text += os.read(self.fd, 65536)
            except OSError as e:
                raise AssertionError(f'ended, no {pattern!r} in {text!r}'
                                     ) from e
        return text

    def type(self, text):
        os.write(self.fd, text)

    def run(self, line, pattern):
        """Until the next prompt: what is typed before it is lost."""
        self.type(b'\x15' + line + b'\r')
        return self.expect(rb'(?s)\r\n.*' + pattern + rb'.*\r\n[^\r\n]*> $')

    def end(self):
        self.type(b'\x15exit\r')
        end = time.monotonic() + 10
        pid = 0
        while pid == 0 and time.monotonic() < end:
            # A terminal that nobody reads holds its program up.
            if select.select([self.fd], [], [], 0.01)[0]:
                try:
                    os.read(self.fd, 65536)
                except OSError:
                    pass
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        os.close(self.fd)
        if pid == 0:
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
            raise AssertionError('redis-cli does not exit')
        equal(os.waitstatus_to_exitcode(status), 0)


def hints(*flags):
    t = Terminal(*flags)
    t.expect(rb'> ')
    t.type(b'job.add ')
    t.expect(rb'queue payload \[.*DELAY')
    t.type(b'\x15client kill ')
    t.expect(rb'ID')
    t.run(b'job.lease nothing', rb'\(empty array\)')
    t.run(b'help job.add', rb'summary.*since.*group')
    t.run(b'help @connection', rb'CLIENT KILL')
    t.run(b'hello 3', rb'proto')
    t.end()


def monitor():
    t = Terminal('MONITOR')
    t.expect(rb'OK')
    cli('ECHO', 'seen-by-monitor')
    t.expect(rb'"ECHO" "seen-by-monitor"')
    os.kill(t.pid, 15)
    os.waitpid(t.pid, 0)


check('one command, RESP2', one_shot, ['-2'])
check('one command, RESP3', one_shot, ['-3'])
check('JSON', as_json)
check('with a password', with_password)
check('--pipe', mass_insertion)
check('commands on standard input', from_stdin)
check('--stat', statistics)
check('--latency', latency)
check('hints and help in a terminal', hints)
check('hints and help in a terminal, RESP3', hints, '-3')
check('MONITOR', monitor)
finish()
