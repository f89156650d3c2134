// The npm package `@valkey/valkey-glide`.
import { GlideClient, Logger } from '@valkey/valkey-glide';
import { check, exercise, finish } from './check.mjs';

const { PORT, AUTH_PORT, PASSWORD } = process.env;
Logger.setLoggerConfig('error');

function run(port, options) {
  return async () => {
    const c = await GlideClient.createClient({
      addresses: [{ host: '127.0.0.1', port: Number(port) }], ...options,
    });
    await exercise({
      call: (words) => c.customCommand(words),
      pipeline: (list) => Promise.all(list.map((w) => c.customCommand(w))),
    }, `glide-${Math.random()}`);
    c.close();
  };
}

await check('glide as it comes', run(PORT, {}));
await check('glide with a password, named',
  run(AUTH_PORT, { credentials: { password: PASSWORD },
    clientName: 'worker-1' }));
await check('glide with user and password, database 0',
  run(AUTH_PORT, { credentials: { username: 'default', password: PASSWORD },
    databaseId: 0 }));
finish();
