"""prometheus-redis-exporter: what it reads of INFO, CONFIG, SLOWLOG and
LATENCY becomes metrics, and redis_up is 1."""
import os
import socket
import subprocess
import time
import urllib.request

from lib import AUTH_PORT, PASSWORD, PORT, check, contains, finish


def scrape(*flags, env=None):
    probe = socket.socket()
    probe.bind(('127.0.0.1', 0))
    address = '127.0.0.1:%d' % probe.getsockname()[1]
    probe.close()
    process = subprocess.Popen(
        ['prometheus-redis-exporter', '-web.listen-address', address, *flags],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, **(env or {})})
    try:
        end = time.monotonic() + 20
        while True:
            try:
                with urllib.request.urlopen(f'http://{address}/metrics',
                                            timeout=10) as page:
                    return page.read().decode()
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)
    finally:
        process.terminate()
        process.wait()


def figures(*flags, env=None):
    text = scrape(*flags, env=env)
    for line in ('\nredis_up 1\n', '\nredis_connected_clients ',
                 '\nredis_commands_total{cmd="', '\nredis_memory_used_bytes ',
                 '\nredis_slowlog_length ', '\nredis_uptime_in_seconds ',
                 'redis_exporter_last_scrape_error{err=""} 0'):
        contains(text, line)


check('without a password',
      lambda: figures('-redis.addr', f'redis://127.0.0.1:{PORT}'))
check('with a password',
      lambda: figures('-redis.addr', f'redis://127.0.0.1:{AUTH_PORT}',
                      env={'REDIS_PASSWORD': PASSWORD}))
check('with the list of clients',
      lambda: figures('-redis.addr', f'redis://127.0.0.1:{PORT}',
                      '-export-client-list'))
finish()
