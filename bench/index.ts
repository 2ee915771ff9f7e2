/** `npm run bench`: measures the delay queue beside what people would use instead. */
import { writeFile } from 'node:fs/promises';
import { drawCharts } from './report/charts.js';
import { machineFacts } from './report/machine.js';
import { render, type Results, type Table } from './report/table.js';
import { parseCommandLine, type Settings, USAGE, UsageError } from './run/command-line.js';
import type { Bench, ScenarioModule } from './run/scenario.js';
import { isStopping, stopAll, stopOnSignals } from './run/shutdown.js';
import { openServers } from './server/bench-server.js';

const progress = (line: string): void => void process.stderr.write(`${line}\n`);

async function bench(settings: Settings): Promise<void> {
  const facts = await machineFacts();
  const tables: Table[] = [];
  for (const line of facts) console.log(line);
  const servers = openServers(settings.postgres?.[0], progress, (fact) => {
    facts.push(fact);
    console.log(fact);
  });
  const context: Bench = { settings, progress, server: servers };

  for (const name of settings.scenarios) {
    const scenario = (await import(`./${name}.js`)) as ScenarioModule;
    for (const table of await scenario.run(context)) {
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
