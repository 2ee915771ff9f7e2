/**
 * `npm run test:old-stack`: the database suites on the oldest Nest and TypeORM lines that have users,
 * Nest 11 and TypeORM 0.3, which are installed beside this file. What follows goes to Jest.
 *
 * Left out are the tests of the shop, which is an application of Nest 12.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const STACK = fileURLToPath(new URL('.', import.meta.url)).replace(/.$/, '');
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SUITES = ['test/unit', 'test/integration', 'test/hostile', 'test/security', 'test/cluster'];
const OF_THE_SHOP = [
  'unit/shop',
  'hostile/http',
  'security/shop-http',
  'integration/database.spec',
  'integration/bench',
];

/** Its libraries find the Nest of this project. */
const OF_NEST_12 = ['integration/cls-transactional', 'integration/scheduler-registry'];

const shell = process.platform === 'win32';
execFileSync('npm', ['ci', '--loglevel', 'error'], { cwd: STACK, stdio: 'inherit', shell });
const given = process.argv.slice(2);
const chosen = given.some((word) => !word.startsWith('-')) ? given : [...SUITES, ...given];
const ignored = [
  '/node_modules/',
  ...[...OF_THE_SHOP, ...OF_NEST_12].map((file) => `/test/${file}`),
];
const parameters = ['test', '--', ...chosen, '--testPathIgnorePatterns', ...ignored];
const child = spawn('npm', parameters, {
  cwd: ROOT,
  stdio: 'inherit',
  env: { ...process.env, DELAY_QUEUE_STACK: STACK },
  shell,
});
const [code] = (await once(child, 'exit')) as [number | null];
process.exitCode = code ?? 1;
