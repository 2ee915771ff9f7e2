import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { readFile } from 'node:fs/promises';
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
import { HOST } from '../../../src/embedded-postgres/free-port.js';
import { sayNotRun } from '../../servers/support/programs.js';
import { Prometheus, RULES } from '../../servers/support/prometheus.js';
import { signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { DelayMetrics } from '../../../docs/operations/delay-metrics.js';
import { ROOT } from '../documents.js';
import { type App, type Page, recipe } from '../page.js';

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

  @OnDelay('order.fail' as DelayName)
  fail(): never {
    throw new Error('the provider is down');
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
  const [page] = await recipe('prometheus.md');
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
    // Of the look that the scrape before it began.
    (text) => text.includes('delay_unhealthy{'),
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
    'delay_unhealthy{reason="unserved",status="degraded",name="order.gone",task=""}',
    'delay_unhealthy{reason="held",status="degraded",name="order.paused",task=""}',
  ];
  expect(figures.map((line) => [line, valueOf(text, line)])).toEqual(
    [1, 0, 1, 1, 1, 1, 1, 2, 1, 1].map((value, index) => [figures[index], value]),
  );
  expect(
    valueOf(text, 'delay_oldest_overdue_seconds{name="order.hold",held_by="nothing"}'),
  ).toBeGreaterThan(86_400);
});

it('prometheus.md: after the end of its node a process shows no figure of before', async () => {
  const { app, metrics } = await openShop();
  await until(
    () => metrics.text(),
    (text) => text.includes('delay_overdue{') && text.includes('delay_running{'),
  );
  await app.stop();
  const text = await metrics.text();
  expect(text).not.toMatch(/^delay_(overdue|oldest_overdue_seconds|running|concurrency)\{/m);
  expect(valueOf(text, 'delay_dead_letters')).toBeNaN();
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

const isInstalled = Prometheus.program !== undefined;
if (!isInstalled) sayNotRun('alerts.yaml in a Prometheus', 'There is no prometheus here.');

interface Exporter {
  port: number;
  close(): Promise<unknown>;
}

async function serve(text: () => Promise<string>): Promise<Exporter> {
  const server: Server = createServer((_request, answer) => {
    text().then(
      (body) => answer.setHeader('Content-Type', 'text/plain; version=0.0.4').end(body),
      () => answer.writeHead(500).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  const close = (): Promise<unknown> => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  opened.push(close);
  return { port: (server.address() as AddressInfo).port, close };
}

const firingAt = async (prometheus: Prometheus): Promise<string[]> =>
  (await prometheus.alerts())
    .filter(({ state }) => state === 'firing')
    .map(({ labels: { alertname, name, reason } }) =>
      [alertname, name ?? reason].filter(Boolean).join(' '),
    );

(isInstalled ? describe : describe.skip)('a Prometheus with alerts.yaml', () => {
  it('raises the alert of each fault that is planted', async () => {
    const { page, app, metrics } = await openShop();
    await page.sql('ALTER TABLE delay_queue.history SET (autovacuum_enabled = off)');
    const exporter = await serve(() => metrics.text());
    const prometheus = await Prometheus.start([exporter.port], (rules) =>
      rules.replaceAll(/for: \w+/g, 'for: 0s'),
    );
    opened.push(() => prometheus.stop());
    const untilFiring = (expected: string[]): Promise<string[]> =>
      until(
        () => firingAt(prometheus),
        (now) => expected.every((alert) => now.includes(alert)),
      );
    await untilFiring(['DelaysLate order.hold']);
    await app.scheduleNow('order.die', ['1'], () => ({}));
    await app.scheduleNow('order.fail', ['1'], () => ({}));
    const expected = [
      'DelayAttemptsFail order.fail',
      'DelayDatabaseNeglected autovacuumOff',
      'DelayDied order.die',
      'DelayHandlersFull order.hold',
      'DelayNameUnserved order.gone',
      'DelaysHeld order.paused',
      'DelaysLate order.gone',
      'DelaysLate order.hold',
    ];
    expect((await untilFiring(expected)).toSorted()).toEqual(expected);
    await exporter.close();
    await untilFiring(['DelayNodeGone', 'DelayNodesAllGone']);
  }, 120_000);
});
