/**
 * An adapter for the public harness of queues in Postgres, https://github.com/hardbyte/postgresql-job-queue-benchmarking:
 * a process that adds jobs and works on them, told by environment variables and telling by lines of JSON. Of the
 * delay queue it uses what applications use.
 */
import { readFileSync } from 'node:fs';
import { DelayAdmin, DelayEvents, DelayService } from 'nestjs-delay-queue';
import { compile, prepare } from '../adapters/ours.js';
import { UsageError } from '../run/command-line.js';
import { readEnvironment } from './environment.js';
import { Jobs, workerOf } from './jobs.js';
import { Depth, Producer } from './producer.js';
import { Sampler } from './sampler.js';

const jsonOf = (file: string): Record<string, unknown> =>
  JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8')) as Record<string, unknown>;

async function main(): Promise<void> {
  const environment = readEnvironment(process.env);
  const stopped = new AbortController();
  const stop = stopped.signal;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopped.abort());
  // The harness also writes how many jobs to add; here the producer counts itself. Unread, it fills the pipe within a
  // minute, and the harness waits for it for ever instead of sending SIGTERM.
  process.stdin.resume();

  const { system, db_name, event_tables, extensions } = jsonOf('./adapter.json');
  const { version } = jsonOf('../../package.json');
  await prepare(environment.url);
  const jobs = new Jobs(environment);
  const app = await compile(environment.url, {}, [workerOf(jobs, environment)]);
  app.get(DelayEvents).on('completed', () => (jobs.completed += 1));
  await app.init();

  const depth = new Depth(app.get(DelayAdmin));
  const producer = new Producer(app.get(DelayService), jobs, environment, depth);
  const sampler = new Sampler(String(system), environment, jobs, {
    depth: () => depth.value,
    rate: () => producer.rate,
  });
  const started_at = new Date().toISOString();
  sampler.tell({ kind: 'descriptor', event_tables, extensions, version, db_name, started_at });
  const counts = environment.isFirst && environment.mode === 'fixed';
  await Promise.all([producer.run(stop), sampler.run(stop), ...(counts ? [depth.run(stop)] : [])]);
  await app.close();
  process.stdin.destroy();
}

main().catch((error: unknown) => {
  process.stderr.write(error instanceof UsageError ? `${error.message}\n` : `${String(error)}\n`);
  process.exitCode = 1;
});
