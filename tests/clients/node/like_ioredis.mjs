// ioredis and its relatives.
import assert from 'node:assert/strict';
import { exercise } from './check.mjs';

const { PORT, AUTH_PORT, PASSWORD } = process.env;

function run(Redis, options) {
  return async () => {
    const c = new Redis({
      host: '127.0.0.1', lazyConnect: true, retryStrategy: null, ...options,
    });
    c.on('error', () => {});
    await c.connect();
    await exercise({
      call: (words) => c.call(...words),
      pipeline: async (list) => {
        const p = c.pipeline();
        for (const words of list) p.call(...words);
        return (await p.exec()).map(([e, reply]) => {
          if (e) throw e;
          return reply;
        });
      },
      subscribe: async (channel, fn) => {
        const s = c.duplicate();
        s.on('message', (_, message) => fn(message));
        await s.connect();
        await s.subscribe(channel);
        return () => s.quit();
      },
    }, `ioredis-${Math.random()}`);
    assert.deepEqual(await c.multi().ping().echo('x').exec(),
      [[null, 'PONG'], [null, 'x']]);
    await c.quit();
  };
}

export async function like_ioredis(name, Redis, check) {
  const open = { port: Number(PORT) };
  const locked = { port: Number(AUTH_PORT), password: PASSWORD };
  await check(`${name} as it comes`, run(Redis, open));
  await check(`${name} with a password`, run(Redis, locked));
  await check(`${name} with user, password, name, database 0`, run(Redis,
    { ...locked, username: 'default', connectionName: 'worker-1', db: 0 }));
  await check(`${name} asked for RESP3`, run(Redis,
    { ...open, protocol: 3, connectionName: 'worker-2' }));
  await check(`${name} asked for RESP2`, run(Redis, { ...open, protocol: 2 }));
}
