// A client of Belfry over ioredis, which BullMQ brings along and which most
// users would take: what is measured is what they would get.
'use strict'
const Redis = require('ioredis')

class Belfry {
  static async connect (port, host = '127.0.0.1') {
    const redis = new Redis({ host, port, maxRetriesPerRequest: null })
    await redis.ping()
    return new Belfry(redis)
  }

  constructor (redis) {
    this.redis = redis
  }

  addMany (queue, payloads) {
    return this.redis.call('JOB.ADDM', queue, payloads.length, ...payloads)
  }

  // [{ token, payload }], or what else is asked for: objects are names and values
  // in turn.
  async lease (queue, count, blockMs, fields = ['payload']) {
    const reply = await this.redis.call(
      'JOB.LEASE', queue, 'COUNT', count, 'BLOCK', blockMs,
      'FIELDS', fields.length, ...fields)
    return (reply || []).map(flat => {
      const job = {}
      for (let i = 0; i < flat.length; i += 2) job[flat[i]] = flat[i + 1]
      return job
    })
  }

  ack (tokens) {
    const [first, ...also] = tokens
    return this.redis.call('JOB.ACK', first, ...(also.length ? ['ALSO', ...also] : []))
  }

  close () {
    this.redis.disconnect()
  }
}

module.exports = { Belfry }
