import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, it } from '@jest/globals';
import { buildSync } from 'esbuild';

/** Its name until Node 23.5. */
const PERMISSION_MODEL = process.allowedNodeEnvironmentFlags.has('--permission')
  ? '--permission'
  : '--experimental-permission';
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** Inside the project, from where packages are found. */
const DATA = join(ROOT, '.data');

mkdirSync(DATA, { recursive: true });
const folder = mkdtempSync(join(DATA, 'compiled-'));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('a process that may start no threads wakes its wheel by timeouts', async () => {
  const outfile = join(folder, 'threadless-process.mjs');
  // As one file of JavaScript: such a process may load no compiler.
  const entryPoints = [join(ROOT, 'test/unit/timer-wheel/fixtures/threadless-process.ts')];
  buildSync({ entryPoints, outfile, bundle: true, packages: 'external', format: 'esm' });
  const options = [PERMISSION_MODEL, '--allow-fs-read=*', '--disable-warning=ExperimentalWarning'];
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...options, relative(ROOT, outfile)],
    { cwd: ROOT, timeout: 90_000 },
  );
  // On a slow machine the first timer may be too near for an alarm, which says so at the second.
  expect(stdout.split('\n').toSorted()).toEqual([
    '',
    'the first timer',
    'the second timer',
    expect.stringMatching(/^the wheel falls back to setTimeout: .*restricted/),
  ]);
});
