import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { FAULTS } from './faults/faults.js';
import { type ChaosOptions, DEFAULTS } from './options.js';

/** What the command line says of a run. */
export type Settings = Pick<ChaosOptions, 'minutes' | 'seed' | 'faults' | 'rate'>;

/** The command line cannot be understood; the message says why. */
export class UsageError extends Error {}

const KINDS = FAULTS.map(({ kind }) => kind);

/** In the place of kinds: load alone. */
const NO_FAULTS = 'none';

export const USAGE = `npm run chaos -- [options]

Load, faults, quiet, and a verdict over everything that happened; exit code 0 without violation.

  --minutes ${DEFAULTS.minutes}         load, with faults after a calm first part; may be a fraction
  --seed TEXT         the choices of the run follow from it (default: a random one, printed)
  --faults kill,cut   only these kinds, or ${NO_FAULTS} (default: all)
  --rate ${DEFAULTS.rate}           delays per second, of all producers together
  --help

Kinds of faults:
${FAULTS.map(({ kind, title }) => `  ${kind.padEnd(18)}${title}`).join('\n')}`;

const OPTIONS = {
  minutes: { type: 'string', default: String(DEFAULTS.minutes) },
  seed: { type: 'string' },
  faults: { type: 'string', default: KINDS.join(',') },
  rate: { type: 'string', default: String(DEFAULTS.rate) },
  help: { type: 'boolean', default: false },
} as const;

/** Shorter ones have no room for load; a day is longer than anybody waits. */
const MINUTES = { min: 0.05, max: 1_440 };
const RATE = { min: 1, max: 10_000 };

/** @returns `'help'` when that is what was asked for. @throws UsageError */
export function parseCommandLine(args: string[]): Settings | 'help' {
  const { help, minutes, seed, faults, rate } = parse(args);
  if (help) return 'help';
  return {
    minutes: numberOf('minutes', minutes, MINUTES),
    seed: seedOf(seed),
    faults: faultsOf(faults),
    rate: numberOf('rate', rate, RATE),
  };
}

/** The command that does it again. */
export function commandOf({ minutes, seed, faults, rate }: Settings): string {
  const options = [`--minutes ${minutes}`, `--seed ${seed}`];
  if (faults.length === 0) options.push(`--faults ${NO_FAULTS}`);
  else if (faults.length < KINDS.length) options.push(`--faults ${faults.join(',')}`);
  if (rate !== DEFAULTS.rate) options.push(`--rate ${rate}`);
  return `npm run chaos -- ${options.join(' ')}`;
}

function parse(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function numberOf(option: string, text: string, { min, max }: { min: number; max: number }) {
  const value = Number(text);
  if (text.trim() !== '' && value >= min && value <= max) return value;
  throw new UsageError(`--${option} takes a number from ${min} to ${max}, not '${text}'.`);
}

/** Such as can be pasted into a shell as it is. */
function seedOf(text: string | undefined): string {
  if (text === undefined) return randomBytes(4).toString('hex');
  if (/^[\w.:-]{1,64}$/.test(text)) return text;
  throw new UsageError(
    `--seed takes 1 to 64 letters, digits, dots, colons or dashes, not '${text}'.`,
  );
}

function faultsOf(text: string): string[] {
  if (text === NO_FAULTS) return [];
  const asked = text.split(',').filter((kind) => kind !== '');
  const unknown = asked.find((kind) => !KINDS.includes(kind));
  if (unknown !== undefined) {
    throw new UsageError(`There is no fault '${unknown}'; there are ${KINDS.join(', ')}.`);
  }
  if (asked.length === 0) {
    throw new UsageError(`--faults takes kinds of faults, or '${NO_FAULTS}' for load alone.`);
  }
  return KINDS.filter((kind) => asked.includes(kind));
}
