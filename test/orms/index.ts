/**
 * `npm run test:orms`: calls in the transactions of other libraries. Installs them, generates Prisma's
 * client, and runs the tests on the Node that is installed with them: the LTS, which some need.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from '../apps/command.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const HERE = fileURLToPath(new URL('.', import.meta.url));
const PRISMA = join(HERE, 'node_modules/.bin/prisma');

await run(['npm', 'ci', '--prefer-offline', '--no-audit', '--no-fund'], HERE, {});
await run([PRISMA, 'generate', '--schema', 'schema.prisma'], HERE, {
  // Else it would fetch an engine, which it does not use.
  PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
});
await run(['npx', 'tsc', '-p', 'test/orms'], ROOT, {});
const tests = ['test', '-s', '--', '--config', 'test/orms/jest.config.mjs'];
const child = spawn('npm', [...tests, ...process.argv.slice(2)], {
  cwd: ROOT,
  env: {
    ...process.env,
    PATH: [join(HERE, 'node_modules/node/bin'), process.env['PATH']].join(delimiter),
  },
  stdio: 'inherit',
});
const [code] = (await once(child, 'close')) as [number | null];
process.exitCode = code ?? 1;
