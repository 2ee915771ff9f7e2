/** Plays programs on the engine of this process until one finds the mutant that it is, or one program alone. */
import { parseArgs } from 'node:util';
import { Ground } from '../ground.js';
import { playAll, type Played, type Run, runFrom } from '../runs.js';
import { CONTROL, type Told } from './told.js';
import { MUTANTS } from './mutants.js';

/** A program waits more than it works. */
const LANES = 3;

const { values } = parseArgs({
  options: {
    mutant: { type: 'string' },
    seed: { type: 'string', default: '' },
    once: { type: 'string' },
  },
});
const how = values.mutant === undefined ? CONTROL : MUTANTS[values.mutant];
if (how === undefined) throw new Error(`no mutant is called ${values.mutant}`);
const { kinds, blamedBy } = how;
const programs = values.once === undefined ? how.programs : 1;

/** What goes on when the mutant is found may be left alone. */
let leave = (): void => {};
const left = new Promise<void>((resolve) => {
  // But for those that have a server of their own to remove.
  if (!kinds.includes('hung-commits')) leave = resolve;
});

let made = 0;
const told: Told = { played: 0, others: [] };

function next(): Run | undefined {
  if (told.found !== undefined || made === programs) return undefined;
  made += 1;
  if (values.once !== undefined) return runFrom(values.once);
  return { kind: kinds[(made - 1) % kinds.length] as string, seed: `${values.seed}-${made}` };
}

function note({ kind, seed, faults }: Played): void {
  told.played += 1;
  const reason = faults.find((fault) => blamedBy.some((word) => fault.startsWith(`${word}:`)));
  if (reason !== undefined && told.found === undefined) {
    told.found = { run: `${kind}:${seed}`, fault: reason };
    leave();
  } else {
    told.others.push(...faults.map((fault) => `${kind}:${seed} ${fault}`));
  }
}

// What a mutant lets go wrong beside its programs ends none of them.
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    told.others.push(`uncaught: ${error instanceof Error ? error.stack : String(error)}`);
  });
}

const ground = await Ground.open();
try {
  await Promise.race([playAll(ground, next, { lanes: LANES, onPlayed: note }), left]);
} finally {
  await ground.close();
}
// Not by itself: a mutant may have left something behind that waits for ever.
process.send?.(told, () => process.exit());
