import { parseArgs } from 'node:util';

/** What closes the orders: this library, timers in memory, or a scan once a minute. */
export const CLOSERS = ['delay-queue', 'naive', 'cron'] as const;
export type Closer = (typeof CLOSERS)[number];

export interface RaceOptions {
  closer: Closer;
  /** Orders that are paid at their deadline. */
  orders: number;
  processes: number;
  /** Seed of every random choice. */
  seed: number;
}

/** The command line is invalid; the message names the option and a valid value. */
export class RaceUsageError extends Error {
  override readonly name = 'RaceUsageError';
}

interface Range {
  min: number;
  max: number;
}

export const ORDERS: Range = { min: 10, max: 5_000 };
export const PROCESSES: Range = { min: 2, max: 8 };
export const SEED: Range = { min: 0, max: 999_999 };

export const USAGE = `npm run demo:race -- [options]

Orders are paid within milliseconds of the moment at which they close, half of them just before it and
half just after. In the middle one process of the shop is stopped for a while, and another one is killed.
At the end the database is compared with the shop's answers.

  --naive          timers in memory, and "look whether it is paid, then write", instead of this library
  --cron           the same with a scan once a minute instead of timers
  --orders N       orders that are paid, ${ORDERS.min} to ${ORDERS.max} (500); a fifth as many more are not paid at all
  --processes N    processes of the shop, ${PROCESSES.min} to ${PROCESSES.max} (3)
  --seed N         repeats the same orders, payments and faults, ${SEED.min} to ${SEED.max}
  --help           this text

It uses a temporary Postgres, or with DATABASE_URL a temporary database on that server.
Exit code: 0 if everything holds, 1 if something is broken, 2 if the race could not be run.`;

const OPTIONS = {
  naive: { type: 'boolean', default: false },
  cron: { type: 'boolean', default: false },
  orders: { type: 'string', default: '500' },
  processes: { type: 'string', default: '3' },
  seed: { type: 'string' },
  help: { type: 'boolean', default: false },
} as const;

/** @returns `'help'` if help was requested. @throws RaceUsageError */
export function parseCommandLine(args: readonly string[]): RaceOptions | 'help' {
  const given = parse(args);
  if (given.help) return 'help';
  if (given.naive && given.cron) {
    throw new RaceUsageError('--naive and --cron are two different races: choose one');
  }
  return {
    closer: given.naive ? 'naive' : given.cron ? 'cron' : 'delay-queue',
    orders: whole('orders', given.orders, ORDERS),
    processes: whole('processes', given.processes, PROCESSES),
    seed: given.seed === undefined ? anySeed() : whole('seed', given.seed, SEED),
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS }).values;
  } catch (error) {
    throw new RaceUsageError(error instanceof Error ? error.message : String(error));
  }
}

function whole(option: string, text: string, { min, max }: Range): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new RaceUsageError(`--${option} takes a whole number from ${min} to ${max}, not '${text}'`);
}

const anySeed = (): number => Math.floor(Math.random() * 1_000);
