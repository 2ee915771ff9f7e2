/** `npm run test:patroni`: an application behind Patroni, etcd and HAProxy, and what goes wrong there. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { render } from '../../bench/report/table.js';
import { sayNotRun } from '../servers/support/programs.js';
import { PatroniCluster } from './cluster.js';
import { findPrograms, type Programs } from './programs.js';
import { type Findings, migrate, play } from './run.js';
import { SCENARIOS } from './scenarios.js';

const USAGE = `npm run test:patroni -- [options]

Three Postgres under Patroni with synchronous replication, etcd, HAProxy, two processes of an application, 25 orders a second;
exit code 0 when nothing was lost, doubled or closed though it was paid. Two minutes for each scenario.

  --only NAME,NAME    only these
  --times 1           how often each
  --help

Scenarios:
${SCENARIOS.map(({ name, title }) => `  ${name.padEnd(18)}${title}`).join('\n')}`;

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: SCENARIOS.map(({ name }) => name).join(',') },
    times: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
});

const say = (line: string): void => void process.stderr.write(`${line}\n`);

const seconds = (ms: number): string => (ms / 1_000).toFixed(ms < 10_000 ? 2 : 1);

const rowOf = (of: Findings): string[] => [
  of.scenario,
  of.outageS.toFixed(1),
  of.firstCloseS?.toFixed(1) ?? '',
  `${seconds(of.p50Ms)} · ${seconds(of.p99Ms)} · ${seconds(of.maxMs)}`,
  String(of.placed),
  `${of.lost} · ${of.doubled} · ${of.closedThoughPaid}`,
  String(of.logLines),
  [...of.errors].map(([code, count]) => `${code} ${count}`).join(', '),
];

const isBad = ({ lost, doubled, closedThoughPaid, odd }: Findings): boolean =>
  !(lost === 0 && doubled === 0 && closedThoughPaid === 0) || odd.length > 0;

const versionOf = (program: string, ...args: string[]): string =>
  execFileSync(program, args, { encoding: 'utf8' }).split('\n', 1)[0] ?? '';

function report(
  all: readonly Findings[],
  { patroni, etcd, haproxy, postgresFolder }: Programs,
): void {
  const versions = [
    versionOf(join(postgresFolder, 'postgres'), '--version'),
    versionOf(patroni, '--version'),
    versionOf(etcd, '--version'),
    versionOf(haproxy, '-v'),
  ];
  const columns = ['scenario', 'outage s', 'first close s', 'late p50 · p99 · max s', 'orders'];
  const more = ['lost · doubled · closed though paid', 'log lines', 'errors'];
  const title = `${all.length} scenarios, ${all.filter(isBad).length} not as promised`;
  console.log(
    `\n${render({ title, notes: [versions.join('; ')], columns: [...columns, ...more], rows: all.map(rowOf) })}`,
  );
  for (const { scenario, odd } of all) for (const what of odd) console.log(`${scenario}: ${what}`);
}

async function main(programs: Programs): Promise<void> {
  const names = values.only.split(',');
  const unknown = names.find((name) => !SCENARIOS.some((scenario) => scenario.name === name));
  if (unknown !== undefined) throw new Error(`There is no scenario '${unknown}'.\n\n${USAGE}`);
  const chosen = SCENARIOS.filter(({ name }) => names.includes(name));
  const all: Findings[] = [];
  say('starting three Postgres …');
  const cluster = await PatroniCluster.start(programs);
  const stop = (): void => void cluster.stop().then(() => process.exit(1));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, stop);
  try {
    await cluster.proxy('left');
    await migrate(cluster.url);
    await cluster.endProxies();
    for (let times = 0; times < Number(values.times); times += 1) {
      for (const scenario of chosen) {
        const findings = await play(cluster, scenario, say);
        all.push(findings);
        say(rowOf(findings).join(' | '));
      }
    }
  } finally {
    if (all.length > 0) report(all, programs);
    await cluster.stop();
  }
  if (all.some(isBad)) process.exitCode = 1;
}

const programs = findPrograms();
if (values.help) console.log(USAGE);
else if ('missing' in programs) {
  sayNotRun('test:patroni', `Not installed: ${programs.missing.join(', ')}.`);
} else await main(programs);
