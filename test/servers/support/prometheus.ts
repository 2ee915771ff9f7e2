import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, HOST } from '../../../src/embedded-postgres/free-port.js';
import { ROOT } from '../../docs/documents.js';
import { until } from '../../support/until.js';
import { Leashed } from './leashed.js';
import { findProgram } from './programs.js';

/** The alerts that the documents hand out. */
export const RULES = join(ROOT, 'docs/operations/alerts.yaml');

export interface Alert {
  labels: { alertname: string; [label: string]: string };
  annotations: { summary: string; runbook: string };
  state: 'pending' | 'firing';
}

/** A Prometheus that scrapes these ports of this machine every half second. */
export class Prometheus {
  static readonly program = findProgram('prometheus');

  /** @param inTime what becomes of the rules, which wait for minutes */
  static async start(
    ports: readonly number[],
    inTime: (rules: string) => string,
  ): Promise<Prometheus> {
    const folder = await mkdtemp(join(tmpdir(), 'delay-queue-prometheus-'));
    const targets = ports.map((port) => `'${HOST}:${port}'`).join(', ');
    await writeFile(join(folder, 'rules.yaml'), inTime(await readFile(RULES, 'utf8')));
    await writeFile(
      join(folder, 'prometheus.yaml'),
      `global: { scrape_interval: 500ms, evaluation_interval: 500ms }
rule_files: [rules.yaml]
scrape_configs:
  - job_name: shop
    static_configs: [{ targets: [${targets}] }]
`,
    );
    const address = `${HOST}:${await freePort(0)}`;
    const process = Leashed.start(
      Prometheus.program ?? '',
      [
        `--config.file=${join(folder, 'prometheus.yaml')}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=${address}`,
      ],
      { user: undefined, lastSignal: 'KILL' },
    );
    return new Prometheus(folder, `http://${address}`, process);
  }

  private constructor(
    private readonly folder: string,
    private readonly url: string,
    private readonly process: Leashed,
  ) {}

  async alerts(): Promise<Alert[]> {
    return (await this.#ask<{ alerts: Alert[] }>('alerts'))?.alerts ?? [];
  }

  /** Resolves when each target was scraped: a counter has not increased before. */
  async hasScraped(): Promise<void> {
    const query = new URLSearchParams({ query: 'min(count_over_time(delay_watched[1m]))' });
    await until(
      () =>
        this.#ask<{ result: { value: [at: number, text: string] }[] }>(`query?${query.toString()}`),
      (answer) => Number(answer?.result[0]?.value[1]) > 1,
    );
  }

  /** Undefined until it is ready. */
  async #ask<Data>(path: string): Promise<Data | undefined> {
    if (!this.process.running) throw new Error(`Prometheus has ended:\n${this.process.output}`);
    const answer = await fetch(`${this.url}/api/v1/${path}`).catch(() => undefined);
    if (answer?.ok !== true) return undefined;
    return ((await answer.json()) as { data: Data }).data;
  }

  async stop(): Promise<void> {
    await this.process.end('SIGKILL');
    await rm(this.folder, { recursive: true, force: true });
  }
}
