// What every client of Node.js is put through. `drive` is the client in a
// uniform shape: call(words) -> reply, pipeline([words]) -> replies,
// subscribe(channel, fn), close().
import assert from 'node:assert/strict';

let passed = 0;
let failed = 0;
const warnings = [];
process.on('warning', (w) => warnings.push(String(w)));

export async function check(name, body) {
  const before = warnings.length;
  let timer;
  try {
    await Promise.race([
      body(),
      new Promise((_, no) => {
        timer = setTimeout(() => no(new Error('nothing within 15 s')), 15000);
      }),
    ]);
    assert.deepEqual(warnings.slice(before), [], 'no warnings');
    passed++;
    console.log(`ok      ${name}`);
  } catch (e) {
    failed++;
    console.log(`FAILED  ${name}: ${e && e.stack ? e.stack.split('\n').slice(0, 6).join('\n') : e}`);
  } finally {
    clearTimeout(timer);
  }
}

export function finish() {
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed > 0 ? 1 : 0);
}

// Objects are maps in RESP3 and flat arrays in RESP2; both become objects.
export function object(reply) {
  if (reply instanceof Map) return Object.fromEntries(reply);
  if (!Array.isArray(reply)) return reply;
  if (reply.length > 0 && typeof reply[0] === 'object' && reply[0] !== null &&
      'key' in reply[0])
    return Object.fromEntries(reply.map((p) => [p.key, p.value]));
  const out = {};
  for (let i = 0; i < reply.length; i += 2) out[String(reply[i])] = reply[i + 1];
  return out;
}

async function fails(promise, pattern) {
  try {
    const reply = await promise;
    assert.fail(`no error but ${JSON.stringify(reply)}`);
  } catch (e) {
    assert.match(String(e.message ?? e), pattern);
  }
}

export async function exercise(drive, queue) {
  assert.equal(String(await drive.call(['PING'])), 'PONG');
  assert.equal(String(await drive.call(['ECHO', 'h\u00e9llo'])), 'h\u00e9llo');
  assert.match(String(await drive.call(['INFO', 'server'])), /belfry_version/);

  // The life of a job.
  const id = String(await drive.call(
    ['JOB.ADD', queue, '{"to":"a@b.c"}', 'PRIORITY', '700']));
  assert.match(id, /^[0-9A-Z]{26}$/);
  const leased = await drive.call(['JOB.LEASE', queue, 'COUNT', '5']);
  assert.equal(leased.length, 1);
  const job = object(leased[0]);
  assert.equal(String(job.id), id);
  assert.equal(String(job.payload), '{"to":"a@b.c"}');
  assert.equal(Number(job.priority), 700);
  await drive.call(['JOB.ACK', String(job.token), 'RESULT', 'done']);
  assert.equal(String(await drive.call(['JOB.STATE', id])), 'completed');
  assert.equal(String(await drive.call(['JOB.RESULT', id])), 'done');

  // Nothing there: an empty array, at once or after BLOCK.
  assert.deepEqual(await drive.call(['JOB.LEASE', queue]), []);
  assert.deepEqual(await drive.call(['JOB.LEASE', queue, 'BLOCK', '20']), []);

  // Errors keep their first word.
  await fails(drive.call(['NOSUCH', 'a']), /unknown command 'nosuch'/i);
  assert.equal(await drive.call(['JOB.STATE', `${'0'.repeat(26)}`]), null);
  await fails(drive.call(['JOB.ACK', `${'0'.repeat(26)}#1.1`]),
    /NOTFOUND|FINISHED/);
  await fails(drive.call(['JOB.ADD', queue, 'x', 'DELAY', 'abc']),
    /DELAY wants a duration/);

  // Pipelines stay in order.
  const commands = [];
  for (let i = 0; i < 200; i++) commands.push(['ECHO', `n${i}`]);
  const replies = await drive.pipeline(commands);
  assert.deepEqual(replies.map(String), commands.map((c) => c[1]));

  // Events: told when durable, to whoever subscribed.
  if (drive.subscribe) {
    const seen = [];
    const stop = await drive.subscribe(`belfry:ready:${queue}`,
      (message) => seen.push(String(message)));
    const next = String(await drive.call(['JOB.ADD', queue, 'x']));
    const end = Date.now() + 5000;
    while (seen.length === 0 && Date.now() < end)
      await new Promise((r) => setTimeout(r, 5));
    assert.deepEqual(seen, [next]);
    await stop();
  }
}
