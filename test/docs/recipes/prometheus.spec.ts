import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { AddressInfo } from 'node:net';
import {
  DelayAdmin,
  type DelayContext,
  type DelayName,
  DiscardDelay,
  OnDelay,
} from 'nestjs-delay-queue';
import { freePort, HOST } from '../../../src/embedded-postgres/free-port.js';
import { Leashed } from '../../servers/support/leashed.js';
import { findProgram, sayNotRun } from '../../servers/support/programs.js';
import { signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { ROOT } from '../documents.js';
import { type App, type Page, recipe } from '../page.js';

const RULES = join(ROOT, 'docs/operations/alerts.yaml');
const DASHBOARD = join(ROOT, 'docs/operations/grafana.json');

const opened: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close();
});

class Handlers {
  readonly began = signal();

  /** Until the application closes. */
  @OnDelay('order.hold' as DelayName, { concurrency: 1 })
  async hold(_delay: unknown, { signal: closing }: DelayContext): Promise<void> {
    this.began.resolve();
    await once(closing, 'abort');
  }

  @OnDelay('order.die' as DelayName)
  die(): never {
    throw new DiscardDelay('no');
  }
}

interface Shop {
  page: Page;
  app: App;
  metrics: { text(): Promise<string> };
}

/** Two overdue delays of a name that runs one at a time, two that no node serves, two that a pause holds. */
async function openShop(): Promise<Shop> {
  const [page, { DelayMetrics }] = await recipe('prometheus.md');
  await page.sql(
    `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at)
     SELECT name, 'null', at, at, at FROM date_trunc('milliseconds', now() - interval '2 days') at,
       (VALUES ('order.hold'), ('order.gone'), ('order.paused')) n(name), generate_series(1, 2)`,
  );
  const app = await page.start([Handlers, DelayMetrics]);
  await app.get(DelayAdmin).pause('order.paused' as DelayName);
  await app.get(Handlers).began.promise;
  return { page, app, metrics: app.get(DelayMetrics) };
}

/** The value of a line of the text format. */
const valueOf = (text: string, line: string): number => {
  const found = text.split('\n').find((each) => each.startsWith(`${line} `));
  return Number(found?.slice(line.length));
};

it('prometheus.md: exports how late delays are, how they ended, what waits and what is wrong', async () => {
  const { app, metrics } = await openShop();
  await until(
    () => metrics.text(),
    (text) => valueOf(text, 'delay_dead_letters') === 0,
  );
  const dead = app.next('dead', 'order.die', '1');
  await app.scheduleNow('order.die', ['1'], () => ({}));
  await dead;
  const text = await metrics.text();
  const figures = [
    'delay_attempts_total{name="order.die",end="dead"}',
    'delay_attempts_total{name="order.hold",end="completed"}',
    'delay_lateness_seconds_count{name="order.die"}',
    'delay_duration_seconds_count{name="order.die"}',
    'delay_running{name="order.hold"}',
    'delay_concurrency{name="order.hold"}',
    'delay_overdue{name="order.hold",held_by="nothing"}',
    'delay_overdue{name="order.paused",held_by="pause"}',
    'delay_unhealthy{reason="unserved",status="degraded"}',
    'delay_unhealthy{reason="held",status="degraded"}',
  ];
  expect(figures.map((line) => [line, valueOf(text, line)])).toEqual(
    [1, 0, 1, 1, 1, 1, 1, 2, 1, 1].map((value, index) => [figures[index], value]),
  );
  expect(
    valueOf(text, 'delay_oldest_overdue_seconds{name="order.hold",held_by="nothing"}'),
  ).toBeGreaterThan(86_400);
});

it('alerts.yaml and grafana.json ask for nothing that is not exported', async () => {
  const { metrics } = await openShop();
  const text = await until(
    () => metrics.text(),
    (exported) => valueOf(exported, 'delay_dead_letters') === 0,
  );
  const exported = new Set([...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name));
  for (const file of [RULES, DASHBOARD]) {
    const source = await readFile(file, 'utf8');
    const asked = new Set([...source.matchAll(/\bdelay_[a-z_]+/g)].map(([name]) => name));
    const unknown = [...asked].filter(
      (name) => !exported.has(name) && !exported.has(name.replace(/_bucket$/, '')),
    );
    expect(asked.size).toBeGreaterThan(5);
    expect(unknown).toEqual([]);
  }
});

const isInstalled = findProgram('prometheus') !== undefined;
if (!isInstalled) sayNotRun('alerts.yaml in a Prometheus', 'There is no prometheus here.');

async function serve(text: () => Promise<string>): Promise<number> {
  const server: Server = createServer((_request, answer) => {
    text().then(
      (body) => answer.setHeader('Content-Type', 'text/plain; version=0.0.4').end(body),
      () => answer.writeHead(500).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  opened.push(() => new Promise((resolve) => server.close(resolve)));
  return (server.address() as AddressInfo).port;
}

/** A Prometheus that scrapes every half second, and lets no alert wait. @returns its URL */
async function startPrometheus(target: number): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'delay-queue-prometheus-'));
  opened.push(() => rm(folder, { recursive: true, force: true }));
  const rules = (await readFile(RULES, 'utf8')).replaceAll(/for: \w+/g, 'for: 0s');
  await writeFile(join(folder, 'rules.yaml'), rules);
  await writeFile(
    join(folder, 'prometheus.yaml'),
    `global: { scrape_interval: 500ms, evaluation_interval: 500ms }
rule_files: [rules.yaml]
scrape_configs:
  - job_name: shop
    static_configs: [{ targets: ['${HOST}:${target}'] }]
`,
  );
  const address = `${HOST}:${await freePort(0)}`;
  const prometheus = Leashed.start(
    findProgram('prometheus') ?? '',
    [
      `--config.file=${join(folder, 'prometheus.yaml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=${address}`,
    ],
    { user: undefined, lastSignal: 'KILL' },
  );
  opened.push(() => prometheus.end('SIGKILL'));
  return `http://${address}`;
}

interface Firing {
  labels: { alertname: string; name?: string; reason?: string };
  state: string;
}

const firingAt = async (url: string): Promise<string[]> => {
  const answer = await fetch(`${url}/api/v1/alerts`).catch(() => undefined);
  if (answer?.ok !== true) return [];
  const { data } = (await answer.json()) as { data: { alerts: Firing[] } };
  return data.alerts
    .filter(({ state }) => state === 'firing')
    .map(({ labels }) =>
      [labels.alertname, labels.name ?? labels.reason].filter(Boolean).join(' '),
    );
};

(isInstalled ? describe : describe.skip)('a Prometheus with alerts.yaml', () => {
  it('raises the alert of each fault that is planted', async () => {
    const { page, app, metrics } = await openShop();
    await page.sql('ALTER TABLE delay_queue.history SET (autovacuum_enabled = off)');
    const url = await startPrometheus(await serve(() => metrics.text()));
    await until(
      () => firingAt(url),
      (firing) => firing.includes('DelaysLate order.hold'),
    );
    await app.scheduleNow('order.die', ['1'], () => ({}));
    const expected = [
      'DelayDatabaseNeglected autovacuumOff',
      'DelayDied order.die',
      'DelayHandlersFull order.hold',
      'DelayNameUnserved',
      'DelaysHeld order.paused',
      'DelaysLate order.gone',
      'DelaysLate order.hold',
    ];
    const firing = await until(
      () => firingAt(url),
      (now) => expected.every((alert) => now.includes(alert)),
    );
    expect(firing.toSorted()).toEqual(expected);
  }, 120_000);
});
