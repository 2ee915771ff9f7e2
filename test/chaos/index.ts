/** `npm run chaos`: many processes, many faults, and a verdict over everything that happened. */
import { randomBytes } from 'node:crypto';
import { inspect, parseArgs } from 'node:util';
import type { Verdict } from './checker/check.js';
import { FAULTS } from './faults/faults.js';
import { type ChaosResult, runChaos, violationsOf } from './run.js';
import { ChaosServer } from './server/chaos-server.js';

const KINDS = FAULTS.map(({ kind }) => kind);

const USAGE = `npm run chaos -- [options]

Load, faults, quiet, and a verdict over everything that happened; exit code 0 without violation.

  --minutes 2         load, with faults after a calm first part; may be a fraction
  --seed TEXT         the choices of the run follow from it (default: a random one, printed)
  --faults kill,cut   only these kinds, or none (default: all)
  --help

Kinds of faults:
${FAULTS.map(({ kind, title }) => `  ${kind.padEnd(18)}${title}`).join('\n')}`;

const OPTIONS = {
  minutes: { type: 'string', default: '2' },
  seed: { type: 'string', default: randomBytes(4).toString('hex') },
  faults: { type: 'string', default: KINDS.join(',') },
  help: { type: 'boolean', default: false },
} as const;

const stopping = new AbortController();
const say = (line: string): void => void process.stderr.write(`${line}\n`);

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    say('\nstopping what was started …');
    stopping.abort();
  });
}

/** @throws when the command line cannot be understood; the message says why */
function settings() {
  const { seed, help, ...given } = parseArgs({ options: OPTIONS }).values;
  const minutes = Number(given.minutes);
  if (!(minutes > 0)) throw new Error(`--minutes takes a number, not '${given.minutes}'.`);
  const faults = given.faults === 'none' ? [] : given.faults.split(',');
  const unknown = faults.find((kind) => !KINDS.includes(kind));
  if (unknown !== undefined) throw new Error(`There is no fault '${unknown}'.`);
  return { help, minutes, faults, seed };
}

type Settings = ReturnType<typeof settings>;

async function chaos({ minutes, faults, seed }: Settings): Promise<void> {
  const some = faults.length < KINDS.length ? ` --faults ${faults.join(',') || 'none'}` : '';
  say(`npm run chaos -- --minutes ${minutes} --seed ${seed}${some}`);
  const server = await ChaosServer.start();
  try {
    const result = await runChaos({
      minutes,
      rate: 60,
      faults,
      seed,
      calmMs: Math.min(10_000, minutes * 20_000),
      workers: 3,
      producers: 2,
      quietWithinMs: 90_000,
      server,
      log: say,
      signal: stopping.signal,
      keepsEvidence: true,
    });
    console.log(reportOf(result, faults));
    if (violationsOf(result) > 0) process.exitCode = 1;
  } finally {
    await server.stop();
  }
}

/** Told of each invariant; the count says how many there are. */
const EXAMPLES_MAX = 3;

/** What a run came to, for people. @param asked kinds of faults that it was to do */
function reportOf(result: ChaosResult, asked: readonly string[]): string {
  const { verdicts, odd, figures, evidence } = result;
  const violations = violationsOf(result);
  const done = figures['faults']?.split(/, |\s/) ?? [];
  const missed = asked.filter((kind) => !done.includes(kind));
  return [
    '',
    ...verdicts.flatMap(linesOf),
    `${mark(odd.length)}     no process ends by itself, every fault is mended`,
    ...odd.map((what) => `      - ${what}`),
    '',
    ...Object.entries(figures).map(([name, line]) => `${name.padEnd(22)}${line}`),
    ...(missed.length > 0 ? [`no time for           ${missed.join(', ')}`] : []),
    '',
    violations === 0 ? 'No violation.' : `Violations: ${violations}.`,
    ...(evidence === undefined ? [] : [`Logs and the record: ${evidence}`]),
  ].join('\n');
}

const mark = (violations: number): string => (violations === 0 ? 'ok ' : 'NOT');

function linesOf({ invariant, title, checked, violations, examples }: Verdict): string[] {
  const counts = `${checked} checked, violations: ${violations}`;
  return [
    `${mark(violations)} ${String(invariant).padStart(2)}. ${title} (${counts})`,
    ...examples.slice(0, EXAMPLES_MAX).map((example) => `      - ${example}`),
  ];
}

try {
  const asked = settings();
  if (asked.help) console.log(USAGE);
  else await chaos(asked);
} catch (error) {
  if (!stopping.signal.aborted) say(`${inspect(error)}\n\n${USAGE}`);
  process.exitCode ??= 1;
}
