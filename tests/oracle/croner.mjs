// Random patterns x zones x instants: our next time against croner's.
//
// Where the two are known to mean different things a disagreement is counted
// under the name of its reason (docs/decisions/ has the page that decides
// each); any other one fails.
//
// usage: node croner.mjs <folder of programs> <folder with node_modules>
//                        <how many> [seed]
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [programs, modules, count, seed = "1"] = process.argv.slice(2);
const { Cron } = createRequire(resolve(modules, "x.js"))("croner");
const HOUR = 3600;
const FROM = Date.UTC(1975, 0, 1) / 1000, TO = Date.UTC(2037, 0, 1) / 1000;

// mulberry32: small, seeded, good enough to pick with.
let state = Number(seed) >>> 0;
function below(n) {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = state;
  t = Math.imul(t ^ (t >>> 15), t | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) % n;
}
const pick = (list) => list[below(list.length)];

function ask(program, lines) {
  const done = spawnSync(resolve(programs, program), {
    input: lines.join("\n") + "\n", encoding: "utf8", maxBuffer: 1 << 28,
  });
  if (done.status !== 0) throw new Error(`${program}: ${done.stderr}`);
  return done.stdout.trimEnd().split("\n");
}

// --- zones: those whose data Node's ICU and the system agree on ------------

const formats = new Map();
function icuOffset(zone, t) {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone, year: "numeric", month: "numeric", day: "numeric",
      hour: "numeric", minute: "numeric", second: "numeric",
      hourCycle: "h23",
    });
    formats.set(zone, format);
  }
  const p = {};
  for (const { type, value } of format.formatToParts(t * 1000))
    p[type] = Number(value);
  const wall = Date.UTC(p.year, p.month - 1, p.day, p.hour, p.minute, p.second);
  return wall / 1000 - t;
}

function usableZones() {
  const usable = [], differing = [];
  for (const name of ["UTC", ...Intl.supportedValuesOf("timeZone")]) {
    let changes;
    try {
      changes = ask("zone_answers", [`z ${name}`, `c ${FROM} ${TO}`])[0];
    } catch {
      continue; // not a name of the system's
    }
    changes = changes.trim() === "" ? [] : changes.trim().split(" ").map(Number);
    const near = changes.flatMap((t) => [t - 1, t]);
    // ICU may also know of changes that the system's data no longer has.
    for (let t = FROM; t < TO; t += 30 * 86400) near.push(t);
    const ours = ask("zone_answers", [`z ${name}`, ...near.map((t) => `u ${t}`)]);
    if (near.every((t, i) => icuOffset(name, t) === Number(ours[i])))
      usable.push({ name, changes });
    else differing.push(name);
  }
  return { usable, differing };
}

// --- patterns ---------------------------------------------------------------

const MONTHS = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split(" ");
const DAYS = "SUN MON TUE WED THU FRI SAT".split(" ");

function field(min, max, name) {
  const n = max - min + 1, value = () => min + below(n);
  const shown = (v) => (name && below(2) ? name(v) : String(v));
  switch (below(8)) {
    case 0: case 1: return "*";
    case 2: return `*/${1 + below(n)}`;
    case 3: case 4: {
      const a = value(), b = a + below(max - a + 1);
      return below(2) ? `${a}-${b}` : `${a}-${b}/${1 + below(n)}`;
    }
    case 5: return Array.from({ length: 1 + below(4) }, value).join(",");
    default: return shown(value());
  }
}

function dayOfMonth() {
  switch (below(10)) {
    case 0: return "L";
    case 1: return "LW";
    case 2: return `${1 + below(31)}W`;
    case 3: case 4: case 5: return "*";
    case 6: return "?";
    default: return field(1, 31);
  }
}

function dayOfWeek() {
  const plus = below(8) === 0 ? "+" : "";
  switch (below(10)) {
    case 0: return `${plus}${below(8)}#${1 + below(5)}`;
    case 1: return `${plus}${pick(DAYS)}#L`;
    case 2: return `${plus}${below(7)}L`;
    case 3: case 4: case 5: case 6: return "*";
    default: return plus + field(0, 6, (v) => DAYS[v]);
  }
}

function randomPattern() {
  const f = [field(0, 59), field(0, 23), dayOfMonth(),
    below(2) ? "*" : field(1, 12, (v) => MONTHS[v - 1]), dayOfWeek()];
  if (below(3) === 0) f.unshift(below(2) ? "0" : field(0, 59));
  if (f.length === 6 && below(4) === 0)
    f.push(below(2) ? String(1990 + below(60)) : "2000-2036/4");
  return f.join(" ");
}

function croners(pattern, zone, after) {
  return new Cron(pattern, { timezone: zone.name })
    .nextRun(new Date(after * 1000))?.getTime() ?? null;
}

// --- what is known ----------------------------------------------------------

function reasonFor(pattern, zone, after, ours, theirs) {
  const f = pattern.split(" ");
  if (f.length === 5) f.unshift("0");
  const [second, minute, hour, dom, , dow] = f;
  const bare = dow.replace(/^\+/, "");
  const star = (s) => /^[*?]/.test(s) && s.length > 1;
  if ((star(dom) || star(bare)) && !dow.startsWith("+")) {
    // With + croner, too, wants both fields to match.
    f[5] = `+${dow}`;
    const joined = f.join(" ");
    theirs = croners(joined, zone, after);
    return ours === theirs ? "leading star"
      : reasonFor(joined, zone, after, ours, theirs);
  }
  const times = [second, minute, hour];
  const fixed = times.every((s) => !/[*/]/.test(s));
  const single = times.every((s) => /^\d+$/.test(s));
  const jumps = zone.changes.filter((c) => [ours, theirs].some(
    (t) => t !== null && Math.abs(t / 1000 - c) <= 25 * HOUR));
  if (jumps.some((c) => Math.abs(icuOffset(zone.name, c) -
      icuOffset(zone.name, c - 1)) > 3 * HOUR))
    return "a jump of more than three hours";
  if (ours !== null && (theirs === null || ours < theirs)) {
    const wall = (t) => new Date((t + icuOffset(zone.name, t)) * 1000);
    // Asked again from the month itself, croner must find what it missed.
    if (wall(ours / 1000).getUTCDate() <= 3 &&
        croners(pattern, zone, ours / 1000 - 1) === ours)
      return "croner looks behind the end of a short month";
    // The second before the jump is on another day than the one after.
    if (fixed && jumps.includes(ours / 1000) &&
        wall(ours / 1000 - 1).getUTCDate() !== wall(ours / 1000).getUTCDate())
      return "a gap up to midnight";
  }
  if (jumps.length > 0 && fixed && !single) return "several fixed times at a jump";
  return null;
}

// --- the comparison ---------------------------------------------------------

const { usable, differing } = usableZones();
const questions = [];
for (let i = 0; i < Number(count); i++) {
  const zone = pick(usable);
  let after = FROM + below(TO - FROM - 400 * 86400);
  if (below(2) && zone.changes.length)
    after = pick(zone.changes) - below(36 * HOUR);
  questions.push({ zone, pattern: randomPattern(), after });
}
const answers = ask("cron_answers", questions.map(
  (q) => `${q.pattern}\t${q.zone.name}\t${q.after * 1000}`));

const known = new Map();
let same = 0, failed = 0;
questions.forEach((q, i) => {
  let theirs, error = null;
  try {
    theirs = croners(q.pattern, q.zone, q.after);
  } catch (e) {
    error = e.message;
  }
  const mine = answers[i];
  const ours = /^\d+$/.test(mine) ? Number(mine) : null;
  if (error === null ? !mine.startsWith("error") && ours === theirs
    : mine.startsWith("error")) {
    same++;
    return;
  }
  const reason = error === null && !mine.startsWith("error")
    ? reasonFor(q.pattern, q.zone, q.after, ours, theirs) : null;
  if (reason !== null) {
    known.set(reason, (known.get(reason) ?? 0) + 1);
    return;
  }
  if (failed++ < 20) {
    const show = (t) => (t === null ? mine : new Date(t).toISOString());
    console.log(`'${q.pattern}' ${q.zone.name} after ` +
      `${new Date(q.after * 1000).toISOString()}: ours ${show(ours)}, ` +
      `croner ${error ?? (theirs === null ? "never" : show(theirs))}`);
  }
});
console.log(`${usable.length} zones; left out because Node's zone data ` +
  `(${process.versions.tz}) differs: ${differing.join(" ") || "none"}`);
for (const [reason, n] of known)
  console.log(`known disagreement, ${reason}: ${n}`);
console.log(`seed ${seed}`);
if (failed > 0)
  console.log(`repeat: make test-cron-croner CRONER_QUESTIONS=${count} ` +
    `CRONER_SEED=${seed}`);
console.log(`${questions.length} questions, ${same} same, ${failed} unexplained`);
console.log(`${questions.length - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
