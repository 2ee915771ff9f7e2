import { parseArgs } from 'node:util';
import { DRAIN_HANDLERS } from '../adapters/adapter.js';

/** What can be measured, in the order in which `npm run bench` does it. */
export const SCENARIOS = [
  'main-job',
  'wheel',
  'enqueue',
  'cancel',
  'drain',
  'groups',
  'tenants',
  'shop',
  'lateness',
  'in-transaction',
  'endurance',
  'idle',
] as const;
export type ScenarioName = (typeof SCENARIOS)[number];

/**
 * Whether the workers of `drain` have never run anything, have done so and start when the delays are due, or are up and
 * wait for them.
 */
const WORKERS = ['cold', 'starting', 'standing'] as const;
export type Workers = (typeof WORKERS)[number];

/** The command line cannot be understood; the message says why. */
export class UsageError extends Error {}

/** An option that takes a value. */
interface Option<Value> {
  /** What counts where it is left out; undefined: its value is undefined then. */
  byDefault: string | undefined;
  /** @throws UsageError */
  read: (flag: string, text: string) => Value;
}

const one = (byDefault: number, least = 1): Option<number> => ({
  byDefault: String(byDefault),
  read: (flag, text) => whole(flag, text, least),
});
const some = (byDefault: string, least = 1): Option<number[]> => ({
  byDefault,
  read: (flag, text) => text.split(',').map((part) => whole(flag, part, least)),
});
const words = <Word extends string>(
  byDefault: string,
  known: readonly Word[],
): Option<readonly Word[]> => ({
  byDefault,
  read: (flag, text) => text.split(',').map((part) => wordOf(flag, part, known)),
});
const list = (byDefault = ''): Option<readonly string[]> => ({
  byDefault,
  read: (_flag, text) => text.split(',').filter((part) => part !== ''),
});
const perhaps = <Value>({ read }: Option<Value>): Option<Value | undefined> => ({
  byDefault: undefined,
  read,
});
const text: Option<string> = { byDefault: '', read: (_flag, given) => given };

/** Sizes of a run; the defaults are those of the published figures. `inFlight` is `--in-flight`. */
const OPTIONS = {
  rounds: one(5),
  /** Only systems whose name contains one of these; empty: all. */
  systems: list(),
  /** Servers: `embedded`, `distribution`, or folders of programs. All but `main-job` take the first. */
  postgres: perhaps(list()),
  /** File that gets the results as JSON. */
  json: perhaps(text),
  /** Results of earlier runs to be drawn, and the folder of the drawings; then nothing is measured. */
  charts: list(),
  chartsInto: { ...text, byDefault: 'docs/performance' },
  /** Due delays that `drain` empties. */
  count: one(50_000),
  processes: some('1'),
  workers: words('cold', WORKERS),
  handlers: words('async', DRAIN_HANDLERS),
  /** Handlers at a time, where a system has such an option; undefined: its default. All but `drain` take the last. */
  concurrency: {
    byDefault: 'default,1000',
    read: (flag, given) =>
      given.split(',').map((part) => (part === 'default' ? undefined : whole(flag, part, 1))),
  } as Option<readonly (number | undefined)[]>,
  /** Delays far in the future beside a second drain; 0: no second one. */
  backlog: one(0, 0),
  /** Calls of `enqueue` and `cancel`, and how many of them wait for their answer at a time. */
  calls: one(20_000),
  inFlight: one(50),
  /** Delays of one call, and of all calls together, when `enqueue` schedules many at once. */
  bulk: some('1000,10000'),
  bulkCount: one(100_000),
  /** Delays a second of `lateness`. */
  rates: some('200,1000'),
  /** How long `lateness` schedules, and `shop` orders; each has its own default. */
  seconds: perhaps(one(0)),
  ordersPerSecond: one(100),
  connections: some('50'),
  /** Delays far in the future beside those of `lateness` and `cancel`, and of `idle`. */
  pending: some('0', 0),
  idlePending: some('100000', 0),
  idleSeconds: one(30),
  /** Orders that `main-job` closes, and those of one batch. */
  orders: one(10_000),
  batch: one(200, 2),
  /** How long a measurement of `tenants` may take, and groups that wait in it. */
  tenantSeconds: one(20, 2),
  waiting: some('0,1000,10000,160000', 0),
  /** Sizes of `wheel`. */
  timers: some('10000,100000,1000000,10000000', 1_000),
  /** Delays a second of `endurance`, for how long, and how far ahead they are due. */
  enduranceRate: one(2_000),
  enduranceSeconds: one(1_800, 6),
  ahead: some('60,600'),
};

type OptionName = keyof typeof OPTIONS;

export type Settings = {
  [Name in OptionName]: (typeof OPTIONS)[Name] extends Option<infer Value> ? Value : never;
} & {
  scenarios: readonly ScenarioName[];
  /** Of `endurance`: in the middle third. */
  holdSnapshot: boolean;
};

const flagOf = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** @returns `'help'` when that is what was asked for. @throws UsageError */
export function parseCommandLine(args: string[]): Settings | 'help' {
  const names = Object.keys(OPTIONS) as OptionName[];
  const { values, positionals } = parse(args, names);
  if (values['help'] === true) return 'help';
  const read = names.map((name) => {
    const { byDefault, read: readText } = OPTIONS[name] as Option<unknown>;
    const given = (values[flagOf(name)] as string | undefined) ?? byDefault;
    return [name, given === undefined ? undefined : readText(flagOf(name), given)];
  });
  const settings = {
    ...Object.fromEntries(read),
    scenarios: scenariosOf(positionals),
    holdSnapshot: values['hold-snapshot'] === true,
  } as Settings;
  const [from = 0, to = 0, ...more] = settings.ahead;
  if (from >= to || more.length > 0) {
    throw new UsageError('--ahead takes two numbers of seconds, the smaller one first.');
  }
  return settings;
}

function parse(
  args: string[],
  names: readonly OptionName[],
): { values: Record<string, unknown>; positionals: string[] } {
  const takesText = names.map((name) => [flagOf(name), { type: 'string' }] as const);
  const flags = ['help', 'hold-snapshot'].map((name) => [name, { type: 'boolean' }] as const);
  try {
    const options = Object.fromEntries([...takesText, ...flags]);
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function whole(flag: string, given: string, least: number): number {
  const value = Number(given);
  if (given.trim() !== '' && Number.isSafeInteger(value) && value >= least) return value;
  throw new UsageError(`--${flag} takes a whole number from ${least}, not '${given}'.`);
}

function wordOf<Word extends string>(flag: string, given: string, known: readonly Word[]): Word {
  const word = known.find((each) => each === given);
  if (word !== undefined) return word;
  throw new UsageError(`--${flag} takes some of ${known.join(', ')}, not '${given}'.`);
}

function scenariosOf(names: readonly string[]): readonly ScenarioName[] {
  const unknown = names.find((name) => !SCENARIOS.some((scenario) => scenario === name));
  if (unknown !== undefined) {
    throw new UsageError(`There is no scenario '${unknown}'; there are ${SCENARIOS.join(', ')}.`);
  }
  if (names.length === 0) return SCENARIOS;
  return SCENARIOS.filter((scenario) => names.includes(scenario));
}

export const USAGE = `npm run bench -- [scenario …] [options]

Scenarios: ${SCENARIOS.join(' ')} (default: all)

  --rounds 5            interleaved rounds; results are median and range
  --systems ours,table  only systems whose name contains one of these
  --postgres embedded   the server: embedded, distribution (the newest in /usr/lib/postgresql, as initdb
                        leaves it), or a folder of programs; main-job measures on all that are named
  --json FILE           the results as JSON, too, with the figures of each round
  --help

main-job  --orders 10000 --batch 200 --postgres embedded,distribution
wheel     --timers 10000,100000,1000000,10000000
enqueue   --calls 20000 --in-flight 50 --bulk 1000,10000 --bulk-count 100000
cancel    --calls 20000 --in-flight 50 --pending 0 (or 0,10000000)
drain     --count 50000 --processes 1 --concurrency default,1000 --handlers async (or plain,async)
          --workers cold (or cold,starting,standing: also with workers that have run before, or are up)
          --backlog 0 (delays of the far future beside a second drain, as 1000000)
tenants   --tenant-seconds 20 --waiting 0,1000,10000,160000
shop      --orders-per-second 100 --seconds 120 --connections 50
lateness  --rates 200,1000 --seconds 10 --pending 0 (or 0,1000000,10000000)
endurance --endurance-seconds 1800 --endurance-rate 2000 --ahead 60,600 (seconds)
          --hold-snapshot (in the middle third)
idle      --idle-pending 100000 (or 100000,1000000) --idle-seconds 30 (takes the last --concurrency, as lateness)

npm run bench -- --charts FILE[,FILE …] [--charts-into docs/performance]
draws what --json wrote, as SVG, and measures nothing.

BENCH_DATABASE_URL names a Postgres to use instead (a superuser's, databases are created and dropped there).
Those that the run starts are removed at its end; the embedded one has fsync and synchronous_commit on.`;
