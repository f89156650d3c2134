// The npm package `redis`, versions 3 to 6.
import { check, exercise, finish } from './check.mjs';

const { PORT, AUTH_PORT, PASSWORD } = process.env;

function later(name, version, options) {
  return async () => {
    const { createClient } = await import(name);
    const make = () => {
      const c = createClient(options);
      c.on('error', (e) => { throw e; });
      return c;
    };
    const c = make();
    await c.connect();
    const drive = {
      call: (words) => c.sendCommand(words),
      pipeline: (list) => Promise.all(list.map((w) => c.sendCommand(w))),
      subscribe: async (channel, fn) => {
        const s = make();
        await s.connect();
        await s.subscribe(channel, (message) => fn(message));
        return () => (version < 5 ? s.quit() : s.close());
      },
    };
    await exercise(drive, `${name}-${Math.random()}`);
    const replies = await c.multi().ping().addCommand(['ECHO', 'x']).exec();
    if (String(replies) !== 'PONG,x') throw new Error(`EXEC: ${replies}`);
    if (version < 5) await c.quit();
    else await c.close();
  };
}

function three(options) {
  return async () => {
    const { createClient } = (await import('redis3')).default;
    const c = createClient(options);
    await new Promise((yes, no) => {
      c.on('ready', yes);
      c.on('error', no);
    });
    const call = (words, to = c) => new Promise((yes, no) => {
      to.send_command(words[0], words.slice(1),
        (e, reply) => (e ? no(e) : yes(reply)));
    });
    await exercise({
      call,
      pipeline: (list) => Promise.all(list.map((w) => call(w))),
      subscribe: async (channel, fn) => {
        const s = c.duplicate();
        s.on('message', (_, message) => fn(message));
        await new Promise((yes, no) => {
          s.subscribe(channel, (e) => (e ? no(e) : yes()));
        });
        return () => new Promise((yes) => s.quit(yes));
      },
    }, `redis3-${Math.random()}`);
    await new Promise((yes) => c.quit(yes));
  };
}

await check('redis 3', three({ port: PORT }));
await check('redis 3 with a password, database 0',
  three({ port: AUTH_PORT, password: PASSWORD, db: 0 }));

for (const version of [4, 5, 6]) {
  const name = `redis${version}`;
  const open = { socket: { host: '127.0.0.1', port: Number(PORT) } };
  const locked = {
    socket: { host: '127.0.0.1', port: Number(AUTH_PORT) },
    password: PASSWORD,
  };
  await check(`redis ${version} as it comes`, later(name, version, open));
  await check(`redis ${version} with a password`,
    later(name, version, locked));
  await check(`redis ${version} with user, password, name, database 0`,
    later(name, version,
      { ...locked, username: 'default', name: 'worker-1', database: 0 }));
  if (version >= 5) {
    await check(`redis ${version} in RESP2`,
      later(name, version, { ...open, RESP: 2 }));
    await check(`redis ${version} in RESP3, named`,
      later(name, version, { ...open, RESP: 3, name: 'worker-2' }));
  }
}
finish();
