/** `npm run bench`: measures the delay queue beside what people would use instead. */
import { writeFile } from 'node:fs/promises';
import type { Bench, ScenarioModule } from './bench.js';
import { drawCharts } from './charts.js';
import { parseCommandLine, type ScenarioName, type Settings, UsageError } from './command-line.js';
import { machineFacts, serverFacts } from './report/machine.js';
import type { Results } from './report/results.js';
import { render, type Table } from './report/table.js';
import { BenchServer } from './server/bench-server.js';
import { isStopping, stopAll, stopOnSignals } from './shutdown.js';
import { USAGE } from './usage.js';

const MODULES: { [name in ScenarioName]: () => Promise<ScenarioModule> } = {
  wheel: () => import('./wheel.js'),
  enqueue: () => import('./enqueue.js'),
  cancel: () => import('./cancel.js'),
  drain: () => import('./drain.js'),
  overdue: () => import('./overdue.js'),
  groups: () => import('./groups.js'),
  tenants: () => import('./tenants.js'),
  'rate-limit': () => import('./rate-limit.js'),
  admin: () => import('./admin.js'),
  burst: () => import('./burst.js'),
  shop: () => import('./shop.js'),
  lateness: () => import('./lateness.js'),
  commit: () => import('./commit.js'),
  attempt: () => import('./attempt.js'),
  'main-job': () => import('./main-job.js'),
  'in-transaction': () => import('./in-transaction.js'),
  plans: () => import('./plans.js'),
  churn: () => import('./churn.js'),
  endurance: () => import('./endurance.js'),
  idle: () => import('./idle.js'),
};

const progress = (line: string): void => void process.stderr.write(`${line}\n`);

async function bench(settings: Settings): Promise<void> {
  let opening: Promise<BenchServer> | undefined;
  const facts = await machineFacts();
  const tables: Table[] = [];
  for (const line of facts) console.log(line);

  const openServer = async (): Promise<BenchServer> => {
    const server = await BenchServer.open(progress);
    const found = await serverFacts(server.client);
    facts.push(...found);
    for (const line of found) console.log(line);
    return server;
  };
  const context: Bench = { settings, progress, server: () => (opening ??= openServer()) };

  for (const name of settings.scenarios) {
    const scenario = await MODULES[name]();
    for (const table of (await scenario.run(context)) ?? []) {
      tables.push(table);
      console.log(`\n${render(table)}`);
    }
    // After each scenario: a run takes hours, and what is measured is not to be lost.
    const results: Results = { facts, settings, tables };
    if (settings.json) await writeFile(settings.json, JSON.stringify(results, null, 2));
  }
}

stopOnSignals();
try {
  const settings = parseCommandLine(process.argv.slice(2));
  if (settings === 'help') console.log(USAGE);
  else if (settings.charts.length > 0) {
    for (const path of await drawCharts(settings.charts, settings.chartsInto)) console.log(path);
  } else await bench(settings);
} catch (error) {
  process.exitCode = 1;
  if (error instanceof UsageError) progress(`${error.message}\n\n${USAGE}`);
  else if (!isStopping()) progress(error instanceof Error ? String(error.stack) : String(error));
} finally {
  await stopAll();
}
