/** Which suite finds which mutant, each suite alone: `npm run mutants:suites`, `chaos:mutants`, `impolite:mutants`. */
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { render } from '../../bench/report/table.js';
import { MUTANTS } from './catalogue.js';
import { chaosSuite } from './chaos-suite.js';
import { impoliteSuite } from './impolite-suite.js';
import { jestSuite, namedSuite } from './jest-suite.js';
import type { Mutant } from './mutant.js';
import type { Judged } from './outcome.js';
import type { Suite } from './suite.js';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    suites: { type: 'string', default: 'interleavings,unit,integration,hostile,cluster,named' },
    seed: { type: 'string', default: randomBytes(4).toString('hex') },
    tests: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const stopped = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => stopped.abort());
}

/** Tests not of the shop, of the harnesses, and of files and their names. */
const SUITES: Readonly<Record<string, Suite>> = {
  interleavings: jestSuite(stopped.signal, '/test/integration/interleavings/'),
  unit: jestSuite(
    stopped.signal,
    '/test/unit/',
    '--testPathIgnorePatterns',
    '/(shop|demo|bench|terminal|chaos|impolite)/',
  ),
  integration: jestSuite(
    stopped.signal,
    '/test/integration/',
    '--testPathIgnorePatterns',
    '/(interleavings|chaos|bench)',
  ),
  hostile: jestSuite(stopped.signal, '/test/hostile/'),
  cluster: jestSuite(stopped.signal, '/test/cluster/'),
  named: namedSuite(stopped.signal),
  impolite: impoliteSuite(values.seed),
  chaos: chaosSuite(values.seed, stopped.signal),
};

const USAGE = `npm run mutants:suites -- [options]

Runs suites on the engine with one rule taken out at a time; exit code 0 when each finds each.

  --suites NAME,NAME  of ${Object.keys(SUITES).join(', ')}
  --only NAME,NAME    only these mutants; 'control' is the engine as it is
  --seed TEXT         chaos runs and programs follow from it (default: a random one, printed)
  --tests             the specs that each mutant names, too
  --help`;

function chosen<Value>(kind: string, from: Readonly<Record<string, Value>>, names: string) {
  const list = names.split(',');
  const unknown = list.filter((name) => !(name in from));
  const known = Object.keys(from).join(', ');
  if (unknown.length > 0) throw new Error(`no ${kind} is called ${unknown.join()}; of ${known}`);
  return list.map((name): [string, Value] => [name, from[name] as Value]);
}

async function judge(suite: Suite, name: string, mutant: Mutant | undefined): Promise<Judged> {
  try {
    return await suite.judge(name, mutant);
  } catch (error) {
    const { message, stack = '' } = error as Error;
    return { asExpected: false, by: `did not run: ${message}`, details: [stack] };
  }
}

async function judgeAll(): Promise<void> {
  const suites = chosen('suite', SUITES, `${values.suites}${values.tests ? ',named' : ''}`);
  const all = { control: undefined, ...MUTANTS };
  const mutants = chosen('mutant', all, values.only ?? Object.keys(all).join());
  const rows: string[][] = [];
  let good = 0;
  console.log(`seed ${values.seed}`);
  for (const [name, mutant] of mutants) {
    for (const [of, suite] of suites) {
      if (stopped.signal.aborted || !suite.isAbout(name, mutant)) continue;
      const beganAtMs = performance.now();
      const { asExpected, by, details } = await judge(suite, name, mutant);
      const seconds = ((performance.now() - beganAtMs) / 1_000).toFixed(0);
      const row = [`${asExpected ? '✓' : '✗'} ${name}`, of, by.split(':')[0] ?? '', seconds];
      rows.push(row);
      console.log(`${row[0]}: ${of}, ${seconds} s: ${by}`);
      if (asExpected) good += 1;
      else for (const detail of details) console.log(`    ${detail}`);
    }
  }
  for (const [, { close }] of suites) await close?.();
  const title = `${good} of ${rows.length} as expected, seed ${values.seed}`;
  const columns = ['mutant', 'suite', 'found by', 'seconds'];
  console.log(`\n${render({ title, notes: [], columns, rows })}`);
  process.exitCode = good === rows.length && !stopped.signal.aborted ? 0 : 1;
}

if (values.help) console.log(USAGE);
else await judgeAll();
