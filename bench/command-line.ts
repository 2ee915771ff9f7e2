import { parseArgs } from 'node:util';
import { VACUUM_NAMES, type VacuumName } from './churn-settings.js';

/** What can be measured, in the order in which `npm run bench` does it. */
export const SCENARIOS = ['wheel', 'drain', 'lateness', 'churn', 'idle'] as const;
export type ScenarioName = (typeof SCENARIOS)[number];

/** What `churn` compares: fillfactors as fast as it goes, or vacuums at a steady rate. */
const CHURN_KINDS = ['fillfactor', 'vacuum'] as const;
export type ChurnKind = (typeof CHURN_KINDS)[number];

/** Sizes of a run; the defaults are those of the published figures. */
export interface Settings {
  scenarios: readonly ScenarioName[];
  rounds: number;
  /** Only systems whose name contains one of these; empty: all. */
  systems: readonly string[];
  /** Due delays that `drain` empties. */
  count: number;
  processes: readonly number[];
  /** Handlers at a time, where a system lets one choose. */
  concurrency: number;
  ratesPerSecond: readonly number[];
  /** How long `lateness` schedules, and `idle` watches. */
  seconds: number;
  idleSeconds: number;
  /** Rows far in the future that stand beside those of `lateness`. */
  pending: readonly number[];
  idlePending: number;
  /** Delays that pass through the table in one `churn`, and how many wait in it at a time. */
  churnCount: number;
  churnWaiting: number;
  fillfactors: readonly number[];
  churnKinds: readonly ChurnKind[];
  vacuums: readonly VacuumName[];
  /** Delays per second of `churn --churn vacuum`, for how long, and how long history keeps them. */
  churnRate: number;
  churnSeconds: number;
  churnKeepSeconds: number;
  /** File that gets the results as JSON. */
  json: string | undefined;
}

/** The command line cannot be understood; the message says why. */
export class UsageError extends Error {}

export const USAGE = `npm run bench -- [scenario …] [options]

Scenarios: ${SCENARIOS.join(' ')} (default: all)

  --rounds 5            interleaved rounds; results are median and range
  --systems ours,table  only systems whose name contains one of these
  --json FILE           the results as JSON, too
  --help

drain     --count 50000 --processes 1,2 --concurrency 1000
lateness  --rates 200,1000 --seconds 10 --pending 0,1000000
churn     --churn fillfactor,vacuum (default: fillfactor) --churn-waiting 20000
          --fillfactors 100,90,70,50
          fillfactor: --churn-count 200000
          vacuum: --vacuums ${VACUUM_NAMES.join()} --churn-rate 1000 --churn-seconds 60 --churn-keep 15
idle      --idle-pending 100000 --idle-seconds 30

BENCH_DATABASE_URL names a Postgres to use (a superuser's, databases are created and dropped there);
otherwise one is started, with fsync and synchronous_commit on, and removed at the end.`;

const OPTIONS = {
  rounds: { type: 'string', default: '5' },
  systems: { type: 'string', default: '' },
  count: { type: 'string', default: '50000' },
  processes: { type: 'string', default: '1' },
  concurrency: { type: 'string', default: '1000' },
  rates: { type: 'string', default: '200,1000' },
  seconds: { type: 'string', default: '10' },
  pending: { type: 'string', default: '0' },
  'churn-count': { type: 'string', default: '200000' },
  'churn-waiting': { type: 'string', default: '20000' },
  fillfactors: { type: 'string', default: '100,90,70,50' },
  churn: { type: 'string', default: 'fillfactor' },
  vacuums: { type: 'string', default: VACUUM_NAMES.join() },
  'churn-rate': { type: 'string', default: '1000' },
  'churn-seconds': { type: 'string', default: '60' },
  'churn-keep': { type: 'string', default: '15' },
  'idle-pending': { type: 'string', default: '100000' },
  'idle-seconds': { type: 'string', default: '30' },
  json: { type: 'string' },
  help: { type: 'boolean', default: false },
} as const;

/** @returns `'help'` when that is what was asked for. @throws UsageError */
export function parseCommandLine(args: string[]): Settings | 'help' {
  const { values, positionals } = parse(args);
  if (values.help) return 'help';
  return {
    scenarios: scenariosOf(positionals),
    rounds: whole('rounds', values.rounds, 1),
    systems: values.systems.split(',').filter((part) => part !== ''),
    count: whole('count', values.count, 1),
    processes: wholes('processes', values.processes, 1),
    concurrency: whole('concurrency', values.concurrency, 1),
    ratesPerSecond: wholes('rates', values.rates, 1),
    seconds: whole('seconds', values.seconds, 1),
    idleSeconds: whole('idle-seconds', values['idle-seconds'], 1),
    pending: wholes('pending', values.pending, 0),
    idlePending: whole('idle-pending', values['idle-pending'], 0),
    churnCount: whole('churn-count', values['churn-count'], 1_000),
    churnWaiting: whole('churn-waiting', values['churn-waiting'], 1_000),
    fillfactors: wholes('fillfactors', values.fillfactors, 10),
    churnKinds: words('churn', values.churn, CHURN_KINDS),
    vacuums: words('vacuums', values.vacuums, VACUUM_NAMES),
    churnRate: whole('churn-rate', values['churn-rate'], 1),
    churnSeconds: whole('churn-seconds', values['churn-seconds'], 3),
    churnKeepSeconds: whole('churn-keep', values['churn-keep'], 1),
    json: values.json,
  };
}

function parse(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function scenariosOf(names: readonly string[]): readonly ScenarioName[] {
  const unknown = names.find((name) => !SCENARIOS.some((scenario) => scenario === name));
  if (unknown !== undefined) {
    throw new UsageError(`There is no scenario '${unknown}'; there are ${SCENARIOS.join(', ')}.`);
  }
  if (names.length === 0) return SCENARIOS;
  return SCENARIOS.filter((scenario) => names.includes(scenario));
}

function whole(option: string, text: string, least: number): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isSafeInteger(value) && value >= least) return value;
  throw new UsageError(`--${option} takes a whole number from ${least}, not '${text}'.`);
}

const wholes = (option: string, text: string, least: number): number[] =>
  text.split(',').map((part) => whole(option, part, least));

const words = <Word extends string>(
  option: string,
  text: string,
  known: readonly Word[],
): readonly Word[] =>
  text.split(',').map((part) => {
    const word = known.find((each) => each === part);
    if (word !== undefined) return word;
    throw new UsageError(`--${option} takes some of ${known.join(', ')}, not '${part}'.`);
  });
