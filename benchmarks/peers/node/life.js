// usage: node life.js belfry|bullmq|graphile|pgboss [seconds] [bytes]
//
// Whole lives through a Node client: each library adds 100 at a time, until the
// time is up, and works in the batches that it offers itself, with at most
// WINDOW jobs on the way; what was added is finished and counts.
// Prints one JSON object: jobs/s, and the time from add to acknowledged.
// BELFRY_PORT, REDIS_PORT and PG_URL say where the servers are.
'use strict'
const { Belfry } = require('./belfry.js')

const which = process.argv[2]
const seconds = Number(process.argv[3] || 3)
const bytes = Number(process.argv[4] || 150)
const BATCH = 100
const WINDOW = 2000
const WORKERS = 4
const LIMIT_S = 120
// Each job has another slice of random text, as belfry-bench gives it: what is
// the same in all of them flatters a server that compresses.
const PLACES = 1 << 20
const pool = require('crypto').randomBytes(PLACES + bytes).toString('base64')
const body = () => {
  const at = Math.floor(Math.random() * PLACES)
  return pool.slice(at, at + bytes)
}

const now = () => Number(process.hrtime.bigint()) / 1e6
const since = []
const latencies = []
let done = 0
let producing = true
let finished
const allDone = new Promise(resolve => { finished = resolve })
const over = () => !producing && done === since.length

function settled (i) {
  latencies.push(now() - since[i])
  done++
  if (over()) finished()
}

async function produce (add) {
  const end = now() + seconds * 1e3
  while (now() < end) {
    while (since.length - done >= WINDOW) {
      await new Promise(resolve => setTimeout(resolve, 1))
    }
    const i = since.length
    for (let k = 0; k < BATCH; k++) since.push(now())
    await add(i, BATCH)
  }
  producing = false
  if (over()) finished()
}

const range = (from, n, make) => Array.from({ length: n }, (_, k) => make(from + k))

const peers = {
  async belfry () {
    const port = Number(process.env.BELFRY_PORT)
    const queue = 'node-' + process.pid
    const producer = await Belfry.connect(port)
    const workers = await Promise.all(range(0, WORKERS, () => Belfry.connect(port)))
    const work = async client => {
      while (!over()) {
        const leased = await client.lease(queue, BATCH, 100)
        if (leased.length === 0) continue
        await client.ack(leased.map(j => j.token))
        for (const j of leased) settled(JSON.parse(j.payload).i)
      }
    }
    const start = now()
    const working = workers.map(work)
    await produce((from, n) => producer.addMany(
      queue, range(from, n, i => JSON.stringify({ i, text: body() }))))
    await allDone
    const took = now() - start
    await Promise.all(working)
    for (const c of [producer, ...workers]) c.close()
    return took
  },

  async bullmq () {
    const { Queue, Worker } = require('bullmq')
    const connection = {
      host: '127.0.0.1', port: Number(process.env.REDIS_PORT), maxRetriesPerRequest: null
    }
    const queue = new Queue('node-' + process.pid, { connection })
    await queue.waitUntilReady()
    const opts = { removeOnComplete: true, removeOnFail: true }
    const start = now()
    const workers = range(0, WORKERS, () => {
      const w = new Worker(queue.name, async () => {}, { connection, concurrency: 100 })
      w.on('completed', job => settled(job.data.i))
      return w
    })
    await produce((from, n) => queue.addBulk(
      range(from, n, i => ({ name: 'j', data: { i, text: body() }, opts }))))
    await allDone
    const took = now() - start
    for (const w of workers) await w.close(true)
    await queue.close()
    return took
  },

  async graphile () {
    const { run, makeWorkerUtils, Logger } = require('graphile-worker')
    const connectionString = process.env.PG_URL
    const logger = new Logger(() => () => {})
    const utils = await makeWorkerUtils({ connectionString, logger })
    await utils.migrate()
    const preset = {
      worker: {
        connectionString,
        concurrentJobs: 24,
        maxPoolSize: 25,
        localQueue: { size: 500 },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
        pollInterval: 100
      }
    }
    const start = now()
    // Its latency is to the start of work: completions are batched out of sight.
    const runner = await run({
      preset, noHandleSignals: true, logger, taskList: { t: p => settled(p.i) }
    })
    await produce((from, n) => utils.addJobs(
      range(from, n, i => ({ identifier: 't', payload: { i, text: body() } }))))
    await allDone
    const took = now() - start
    await runner.stop()
    await utils.release()
    return took
  },

  async pgboss () {
    const PgBoss = require('pg-boss')
    const boss = new PgBoss({ connectionString: process.env.PG_URL, max: 8 })
    boss.on('error', () => {})
    await boss.start()
    const queue = 'node' + process.pid
    await boss.createQueue(queue)
    const work = async () => {
      while (!over()) {
        const batch = await boss.fetch(queue, { batchSize: BATCH })
        if (batch.length === 0) {
          await new Promise(resolve => setTimeout(resolve, 2))
          continue
        }
        await boss.complete(queue, batch.map(j => j.id))
        for (const j of batch) settled(j.data.i)
      }
    }
    const start = now()
    const working = range(0, 3, work)
    await produce((from, n) => boss.insert(
      range(from, n, i => ({ name: queue, data: { i, text: body() } }))))
    await allDone
    const took = now() - start
    await Promise.all(working)
    await boss.stop({ graceful: false })
    return took
  }
}

if (!peers[which]) {
  console.error('usage: node life.js ' + Object.keys(peers).join('|') + ' [seconds] [bytes]')
  process.exit(2)
}
setTimeout(() => {
  console.error(which + ': ' + done + ' of ' + since.length + ' jobs in ' + LIMIT_S + ' s')
  process.exit(1)
}, LIMIT_S * 1000).unref()

peers[which]().then(took => {
  latencies.sort((a, b) => a - b)
  const at = p => Number(latencies[Math.floor((latencies.length - 1) * p)].toFixed(2))
  console.log(JSON.stringify({
    peer: which, jobs: done, jobs_per_s: Math.round(done / took * 1e3), p50_ms: at(0.5), p99_ms: at(0.99)
  }))
  process.exit(0)
}).catch(e => {
  console.error(which + ': ' + e.message)
  process.exit(1)
})
