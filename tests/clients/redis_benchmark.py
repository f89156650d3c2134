"""redis-benchmark: it runs, warns of nothing, and takes our commands."""
import subprocess

from lib import AUTH_PORT, PASSWORD, PORT, check, contains, equal, finish


def benchmark(*words, port=PORT):
    done = subprocess.run(
        ['redis-benchmark', '-p', str(port), '-q', *words],
        capture_output=True, timeout=120)
    equal(done.stderr.decode(), '')
    equal(done.returncode, 0)
    text = done.stdout.decode()
    if 'WARN' in text or 'rror' in text:
        raise AssertionError(text)
    return text


def pings():
    for pipeline in ('1', '16', '64'):
        contains(benchmark('-t', 'ping', '-n', '20000', '-c', '50', '-P',
                           pipeline), 'requests per second')


def resp3():
    contains(benchmark('-3', '-t', 'ping', '-n', '5000'),
             'requests per second')


def password():
    contains(benchmark('-a', PASSWORD, '-t', 'ping', '-n', '5000',
                       port=AUTH_PORT), 'requests per second')


def jobs():
    contains(benchmark('-n', '5000', '-r', '100000', '-P', '16', 'JOB.ADD',
                       'bench', 'payload __rand_int__'),
             'requests per second')


check('PING, plain and pipelined', pings)
check('RESP3', resp3)
check('with a password', password)
check('JOB.ADD', jobs)
finish()
