/**
 * Which suite finds which mutant, each suite alone:
 *
 *     npm run mutants:suites -- --only never-seals,renews-by-id --suites unit,interleavings
 *
 * `named` are the specs that a mutant names itself.
 *
 * One line for each mutant and suite: name, suite, seconds, and the first test that failed. `control` is the
 * engine as it is.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { MUTANTS as CHAOS } from '../chaos/mutants/mutants.js';
import { MUTANTS as IMPOLITE } from '../impolite/mutants/mutants.js';
import { RECURRENCES } from './recurrences.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CONFIG = fileURLToPath(new URL('./jest.config.mjs', import.meta.url));

/** Stands for the specs that the mutant names. */
const NAMED: readonly string[] = ['named'];

/** What Jest is given. Not those of the shop, of the harnesses, and of files and their names. */
const SUITES: Readonly<Record<string, readonly string[]>> = {
  interleavings: ['/test/integration/interleavings/'],
  unit: ['/test/unit/', '--testPathIgnorePatterns', '/(shop|demo|bench|terminal|chaos|impolite)/'],
  integration: ['/test/integration/', '--testPathIgnorePatterns', '/(interleavings|chaos|bench)'],
  hostile: ['/test/hostile/'],
  cluster: ['/test/cluster/'],
  named: NAMED,
};

/** Those whose sources are changed. */
const PATCHED = { ...IMPOLITE, ...RECURRENCES };

const ALL = ['control', ...Object.keys(PATCHED), ...Object.keys(CHAOS)];

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: ALL.join() },
    suites: { type: 'string', default: Object.keys(SUITES).join() },
  },
});

interface Result {
  passed: number;
  failed?: { path: string; test: string };
}

/** Ends at the first file that fails. */
async function run(suite: readonly string[], env: NodeJS.ProcessEnv): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'delay-queue-mutants-'));
  const file = join(folder, 'result.json');
  const child = spawn('npm', ['test', '--', ...suite, '--config', CONFIG, '--bail', '-w', '1'], {
    cwd: ROOT,
    stdio: 'ignore',
    env: { ...process.env, ...env, RESULT_FILE: file },
  });
  await once(child, 'close');
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Result;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function chosen<Value>(kind: string, names: string, from: (name: string) => Value | undefined) {
  return names.split(',').map((name): [string, Value] => {
    const value = from(name);
    if (value === undefined) throw new Error(`no ${kind} is called ${name}`);
    return [name, value];
  });
}

/** What makes a process that mutant. */
function envOf(name: string): NodeJS.ProcessEnv | undefined {
  if (name === 'control') return {};
  if (name in CHAOS) return { CHAOS_MUTANT: name };
  const mutant = PATCHED[name];
  return mutant && { SOURCE_PATCHES: JSON.stringify(mutant.patches) };
}

/** The suite as this mutant has it; none where it names no specs. */
function suiteOf(suite: readonly string[], name: string): readonly string[] {
  return suite === NAMED ? (PATCHED[name]?.tests ?? []).map((test) => `/test/${test}`) : suite;
}

const suites = chosen('suite', values.suites, (name) => SUITES[name]);
for (const [name, env] of chosen('mutant', values.only, envOf)) {
  for (const [suite, some] of suites) {
    const files = suiteOf(some, name);
    if (files.length === 0) continue;
    const beganAtMs = performance.now();
    const { passed, failed } = await run(files, env);
    const seconds = Math.round((performance.now() - beganAtMs) / 1_000);
    const what = failed
      ? `found by ${failed.path.slice(ROOT.length)}: ${failed.test}`
      : `not found, ${passed} passed`;
    console.log([name, suite, `${seconds} s`, what.split('\n', 1)[0]].join('\t'));
  }
}
