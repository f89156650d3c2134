"""python3-redis, the package of the distribution."""
import uuid

import redis

from lib import AUTH_PORT, PASSWORD, PORT, check, contains, equal, finish


def life(r, payload):
    queue = 'py-' + uuid.uuid4().hex
    equal(r.ping(), True)
    contains(r.info('server'), 'redis_version')
    equal(r.client_getname() in (None, 'worker-1'), True)
    job = r.execute_command('JOB.ADD', queue, payload, 'RETRIES', 5)
    leased = r.execute_command('JOB.LEASE', queue, 'COUNT', 10)
    equal(len(leased), 1)
    fields = dict(zip(leased[0][::2], leased[0][1::2]))
    fields = {(k if isinstance(k, str) else k.decode()): v
              for k, v in fields.items()}
    equal(fields['id'], job)
    equal(fields['retries'], 5)
    equal(fields['payload'], payload)
    r.execute_command('JOB.ACK', fields['token'])
    equal(r.execute_command('JOB.LEASE', queue, 'BLOCK', 20), [])
    try:
        r.execute_command('JOB.ADD', queue, 'x', 'DELAY', 'abc')
        raise AssertionError('no error')
    except redis.ResponseError as e:
        contains(str(e), 'DELAY wants a duration')


def pipelines(r):
    with r.pipeline(transaction=True) as p:
        for i in range(100):
            p.echo(f'n{i}')
        replies = p.execute()
    equal([x if isinstance(x, str) else x.decode() for x in replies],
          [f'n{i}' for i in range(100)])
    with r.pipeline(transaction=False) as p:
        p.ping().echo('x')
        equal(len(p.execute()), 2)


def subscriber(r):
    p = r.pubsub(ignore_subscribe_messages=True)
    p.subscribe('belfry:ready:py-events')
    p.get_message(timeout=5)
    job = r.execute_command('JOB.ADD', 'py-events', 'x')
    message = None
    for _ in range(100):
        message = p.get_message(timeout=0.1)
        if message:
            break
    equal(message['data'], job)
    p.close()


def admin(r):
    contains(r.config_get('max*'), 'maxclients')
    equal(r.slowlog_len() >= 0, True)
    equal(len(r.client_list()) > 0, True)
    contains(r.command(), 'PING' if 'PING' in r.command() else 'ping')
    equal(r.dbsize() >= 0, True)
    equal(r.memory_stats()['total.allocated'] > 0, True)
    equal(r.time()[0] > 0, True)
    equal(r.role()[0] in (b'master', 'master'), True)
    equal(r.acl_whoami() in (b'default', 'default'), True)


def everything(**options):
    r = redis.Redis(host='127.0.0.1', health_check_interval=1, **options)
    text = options.get('decode_responses', False)
    life(r, 'h\u00e9llo' if text else b'\x00\xffpayload')
    pipelines(r)
    if not text:
        subscriber(r)
    admin(r)
    r.close()


check('as it comes', lambda: everything(port=PORT))
check('with a password',
      lambda: everything(port=AUTH_PORT, password=PASSWORD))
check('with user, password, name, database 0',
      lambda: everything(port=AUTH_PORT, username='default',
                         password=PASSWORD, client_name='worker-1', db=0))
check('text instead of bytes',
      lambda: everything(port=PORT, decode_responses=True))
finish()
