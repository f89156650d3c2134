// As benchmarks/micro/cron_next.c, of croner.
// usage: node croner.mjs <folder with node_modules> patterns.tsv zone
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [modules, patterns, zone] = process.argv.slice(2);
const { Cron } = createRequire(resolve(modules, "x.js"))("croner");
const INSTANTS = 60, TRIES = 3;
const instant = (i) =>
  new Date((1704067200 + ((i * 2654435761) % 4294967296) % (8 * 365 * 86400)) * 1000);

for (const line of readFileSync(patterns, "utf8").trim().split("\n")) {
  const [kind, pattern] = line.split("\t");
  const cron = new Cron(pattern, { timezone: zone });
  const costs = [];
  for (let i = 0; i < INSTANTS; i++) {
    let best = Infinity;
    for (let t = 0; t < TRIES && !(t > 0 && best > 1e8); t++) {
      const begin = process.hrtime.bigint();
      cron.nextRun(instant(i));
      best = Math.min(best, Number(process.hrtime.bigint() - begin));
    }
    costs.push(best);
    if (best > 1e8) break; // a search that gives up after seconds: once is enough
  }
  costs.sort((a, b) => a - b);
  console.log([kind, pattern, costs[costs.length >> 1], costs.at(-1)].join("\t"));
}
