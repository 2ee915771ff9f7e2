import { readFileSync } from 'node:fs';
import { UsageError } from '../run/command-line.js';

/** What the harness asks for, by the variables of its contract. */
export interface Environment {
  url: string;
  /** Of several processes only the first one tells what they have in common. */
  isFirst: boolean;
  instance: number;
  /** `depth-target`: jobs are added until so many wait. */
  mode: 'fixed' | 'depth-target';
  perSecond: number;
  /** A file with the rate that counts just now. */
  rateFile: string | undefined;
  targetDepth: number;
  batchMax: number;
  batchMs: number;
  workers: number;
  payloadBytes: number;
  workMs: number;
  sampleEveryS: number;
}

/** @throws UsageError when a variable is not what the contract says */
export function readEnvironment(env: NodeJS.ProcessEnv): Environment {
  const url = env.DATABASE_URL ?? '';
  if (url === '') throw new UsageError('DATABASE_URL is not set.');
  const scenario = env.SCENARIO ?? 'long_horizon';
  if (scenario !== 'long_horizon') {
    throw new UsageError(`SCENARIO is long_horizon, not '${scenario}'.`);
  }
  const mode = env.PRODUCER_MODE ?? 'fixed';
  if (mode !== 'fixed' && mode !== 'depth-target') {
    throw new UsageError(`PRODUCER_MODE is fixed or depth-target, not '${mode}'.`);
  }
  const number = (name: string, byDefault: number, least: number): number => {
    const value = Number(env[name] ?? byDefault);
    if (Number.isFinite(value) && value >= least) return value;
    throw new UsageError(`${name} is a number from ${least}, not '${env[name]}'.`);
  };
  const instance = number('BENCH_INSTANCE_ID', 0, 0);
  return {
    url,
    instance,
    isFirst: instance === 0,
    mode,
    perSecond: number('PRODUCER_RATE', 800, 0),
    rateFile: env.PRODUCER_RATE_CONTROL_FILE,
    targetDepth: number('TARGET_DEPTH', 1_000, 0),
    batchMax: number('PRODUCER_BATCH_MAX', 128, 1),
    batchMs: number('PRODUCER_BATCH_MS', 10, 1),
    workers: number('WORKER_COUNT', 32, 1),
    payloadBytes: number('JOB_PAYLOAD_BYTES', 256, 0),
    workMs: number('JOB_WORK_MS', 1, 0),
    sampleEveryS: number('SAMPLE_EVERY_S', 5, 1),
  };
}

/** The rate of this moment. The harness may be writing the file: then the rate of the start counts. */
export function rateOf({ rateFile, perSecond }: Environment): number {
  if (rateFile === undefined) return perSecond;
  try {
    const text = readFileSync(rateFile, 'utf8').trim();
    const rate = Number(text);
    return text !== '' && Number.isFinite(rate) && rate >= 0 ? rate : perSecond;
  } catch {
    return perSecond;
  }
}
