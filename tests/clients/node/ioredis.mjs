// The npm package `ioredis`, versions 4 to 6.
import { check, finish } from './check.mjs';
import { like_ioredis } from './like_ioredis.mjs';

for (const version of [4, 5, 6]) {
  const module = await import(`ioredis${version}`);
  const Redis = module.Redis ?? module.default;
  await like_ioredis(`ioredis ${version}`, Redis, check);
}
finish();
