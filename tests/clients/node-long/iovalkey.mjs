// The npm package `iovalkey`.
import { check, finish } from './check.mjs';
import { like_ioredis } from './like_ioredis.mjs';

const module = await import('iovalkey');
await like_ioredis('iovalkey', module.Redis ?? module.default.default ??
  module.default, check);
finish();
