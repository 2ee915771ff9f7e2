/** `npm run impolite`: programs of impolite callers, one after the other, for as long as asked. */
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { Ground } from './ground.js';
import { KINDS } from './kinds/index.js';
import { playAll, programTextOf, type Played, type Run, runFrom, storyOf, textOf } from './runs.js';

const USAGE = `npm run impolite -- [options]

Programs of impolite callers on a Postgres of their own; exit code 0 when every promise was kept.

  --minutes 1               for so long
  --seed TEXT               the choices follow from it (default: a random one, printed)
  --only callers,turns      only these kinds, of ${Object.keys(KINDS).join(', ')}
  --once callers:TEXT-7     only this one
  --help`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string', default: randomBytes(4).toString('hex') },
    only: { type: 'string', default: Object.keys(KINDS).join() },
    once: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

/** How often each kind comes round: those that wait for long come seldom. */
const ROUND = ['callers', 'callers', 'callers', 'callers', 'turns'];

/** A program waits more than it works. */
const LANES = 4;

let isStopped = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    isStopped = true;
  });
}

/** Endless, until the time is over. */
function sourceOf(minutes: number): () => Run | undefined {
  const endsAtMs = performance.now() + minutes * 60_000;
  const wanted = values.only.split(',');
  for (const kind of wanted) runFrom(`${kind}:`);
  const round = [...ROUND.filter((kind) => wanted.includes(kind)), ...wanted];
  let made = 0;
  return () => {
    if (isStopped || performance.now() > endsAtMs) return undefined;
    const kind = round[made % round.length] as string;
    made += 1;
    return { kind, seed: `${values.seed}-${made}` };
  };
}

function onceOf(text: string): () => Run | undefined {
  const runs = [runFrom(text)];
  return () => runs.shift();
}

async function impolite(): Promise<void> {
  const source = values.once ? onceOf(values.once) : sourceOf(Number(values.minutes));
  console.log(values.once ? programTextOf(runFrom(values.once)) : `seed ${values.seed}`);
  const ground = await Ground.open();
  let played = 0;
  let broken = 0;
  const onPlayed = (its: Played): void => {
    played += 1;
    if (its.faults.length > 0) broken += 1;
    const seconds = (its.tookMs / 1_000).toFixed(1);
    console.log(its.faults.length > 0 ? `✗ ${storyOf(its)}` : `✓ ${textOf(its)}, ${seconds} s`);
  };
  try {
    await playAll(ground, source, { lanes: LANES, onPlayed });
  } finally {
    await ground.close();
  }
  console.log(`${played} played, ${broken} with a broken promise`);
  if (broken > 0) process.exitCode = 1;
}

if (values.help) console.log(USAGE);
else await impolite();
