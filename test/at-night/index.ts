/** `npm run test:at-night`: twelve faults in a shop of three processes, and how soon each is told. */
import { parseArgs } from 'node:util';
import { render } from '../../bench/report/table.js';
import { sayNotRun } from '../servers/support/programs.js';
import { Prometheus } from '../servers/support/prometheus.js';
import { type Fault, FAULTS } from './faults.js';
import { Night } from './night.js';
import { type Reason, type Told, toldOf } from './told.js';

const USAGE = `npm run test:at-night -- [options]

A shop of three processes, its database, and a Prometheus with the rules of docs/operations/alerts.yaml. Faults are planted
one after the other; exit code 0 when of each \`explain\`, \`DelayHealth\` and an alert said the true reason, no alert was
false, and all were calm again afterwards; 3 when there is no Prometheus here.

  --only NAME,NAME  only these
  --speed 20        how many times shorter the waits of DelayHealth and of the rules are
  --help

Faults:
${FAULTS.map(({ name, title }) => `  ${name.padEnd(12)}${title}`).join('\n')}`;

/** What a wait of ten minutes and the pauses between two looks come to, and as much again. */
const toldWithinMs = (speed: number): number => 120_000 + 2 * (1_200_000 / speed);

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: FAULTS.map(({ name }) => name).join(',') },
    speed: { type: 'string', default: '20' },
    help: { type: 'boolean', default: false },
  },
});

const say = (line: string): void => void process.stderr.write(`${line}\n`);

const seconds = (reason: Reason | undefined): string => reason?.s.toFixed(1) ?? '–';

const byHandOf = ({ mended }: Told): string => {
  if (mended === undefined) return '';
  return mended === 'failed' ? '–' : `${mended.clicks} · ${mended.s.toFixed(1)}`;
};

const rowOf = (told: Told): string[] => [
  told.fault.title,
  told.fault.explains === undefined ? '' : seconds(told.explain),
  seconds(told.health),
  seconds(told.alert),
  seconds(told.dashboard),
  String(told.clicks ?? '–'),
  byHandOf(told),
  seconds(told.calm),
  told.falseAlerts.join(', '),
];

const isBad = ({ fault, explain, falseAlerts, mended, ...told }: Told): boolean =>
  (fault.explains !== undefined && explain === undefined) ||
  [told.health, told.alert, told.dashboard, told.calm].includes(undefined) ||
  mended === 'failed' ||
  falseAlerts.length > 0;

function report(all: readonly Told[], speed: number): void {
  const title = `${all.length} faults, ${all.filter(isBad).length} not as promised`;
  const notes = [
    `seconds from the fault until each said its true reason; waits are ${speed} times shorter`,
  ];
  const columns = [
    'fault',
    'explain',
    'health',
    'alert',
    'dashboard',
    'clicks',
    'mended: clicks · s',
    'calm again',
    'false alerts',
  ];
  console.log(`\n${render({ title, notes, columns, rows: all.map(rowOf) })}`);
}

function chosen(): Fault[] {
  const names = values.only.split(',');
  const unknown = names.find((name) => !FAULTS.some((fault) => fault.name === name));
  if (unknown !== undefined) throw new Error(`There is no fault '${unknown}'.\n\n${USAGE}`);
  return FAULTS.filter(({ name }) => names.includes(name));
}

async function main(): Promise<void> {
  const speed = Number(values.speed);
  if (!(speed >= 1 && speed <= 60)) throw new Error('--speed takes a number from 1 to 60.');
  const faults = chosen();
  const all: Told[] = [];
  say('opening the shop …');
  const night = await Night.begin(speed);
  const stop = (): void => void night.end().then(() => process.exit(1));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, stop);
  try {
    for (const fault of faults) {
      say(`${fault.name}: ${fault.title}`);
      all.push(await toldOf(night, fault, { withinMs: toldWithinMs(speed), say }));
    }
  } finally {
    if (all.length > 0) report(all, speed);
    await night.end();
  }
  if (all.some(isBad)) process.exitCode = 1;
}

if (values.help) console.log(USAGE);
else if (Prometheus.program === undefined) {
  sayNotRun('test:at-night', 'There is no prometheus here.');
  process.exitCode = 3;
} else await main();
