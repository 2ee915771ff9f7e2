/** Mutants drawn at random, each tried against the specs that reach it: `npm run mutants:random`. */
import { parseArgs } from 'node:util';
import { judge } from './judge.js';
import { Reach } from './reach.js';
import { draw, type Drawn, sources } from './sample.js';
import { equivalence, report, Verdicts } from './verdict.js';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '60' },
    at: { type: 'string', default: '2' },
    workers: { type: 'string', default: '2' },
    minutes: { type: 'string', default: '5' },
    again: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    map: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const USAGE = `npm run mutants:random -- [options]

Draws small changes to the library, evenly over its lines, and runs with one at a time the specs that reach it, those that
are named after its file first. What was interrupted goes on where it was. The first run takes as long as the
suite: it finds out which spec reaches what.

  --seed N      what is drawn follows from it (default 1)
  --count N     how many (default 60); more of a seed begin with fewer
  --at N        how many mutants at a time (default 2)
  --workers N   files of tests at a time, of each (default 2)
  --minutes N   the longest for one (default 5)
  --again       those that were not found are tried again
  --only TEXT   those alone whose file has that in its path
  --map         finds out anew which spec reaches what
  --report      tells of those that were tried, and tries none
  --help`;

async function main(): Promise<void> {
  const stopped = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(name, () => stopped.abort());
  }
  const { signal } = stopped;
  const [seed, count, at, workers, minutes] = [
    values.seed,
    values.count,
    values.at,
    values.workers,
    values.minutes,
  ].map(Number) as [number, number, number, number, number];
  const texts = sources();
  const drawn = draw(texts, seed, count).filter(({ file }) => file.includes(values.only));
  const verdicts = new Verdicts(seed);
  const isOpen = (mutant: Drawn): boolean => {
    const known = verdicts.of(mutant);
    if (known === undefined) return true;
    const isFound = known.outcome === 'found' || known.outcome === 'hangs';
    return values.again && !isFound && equivalence(mutant) === undefined;
  };
  const open = values.report ? [] : drawn.filter(isOpen);
  if (open.length > 0) {
    const reach = await Reach.of(texts, { anew: values.map, signal, workers: at * workers });
    if (reach.bad.length > 0) console.log(`fail without a mutant: ${reach.bad.join(', ')}`);
    const options = { reach, workers, withinMs: minutes * 60_000, signal };
    const one = async (): Promise<void> => {
      for (let next = open.shift(); next && !signal.aborted; next = open.shift()) {
        const verdict = await judge(next, { ...options, text: texts.get(next.file) ?? '' });
        if (verdict === undefined) return;
        verdicts.set(verdict);
        const { outcome, seconds, file, line, kind, was, spec = '', test = '' } = verdict;
        console.log(
          `${outcome} in ${seconds} s: ${file}:${line} [${kind}] ${was}\n    ${spec} ${test}`,
        );
      }
    };
    await Promise.all(Array.from({ length: at }, one));
  }
  const judged = drawn.flatMap((mutant) => verdicts.of(mutant) ?? []);
  console.log(`\nseed ${seed}\n${report(judged)}`);
  process.exitCode = judged.length === drawn.length && !signal.aborted ? 0 : 1;
}

if (values.help) console.log(USAGE);
else await main();
