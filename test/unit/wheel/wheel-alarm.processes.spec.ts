import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { compile, type Compiled } from './compiled.js';

const run = promisify(execFile);
/** Its name until Node 23.5. */
const PERMISSION_MODEL = process.allowedNodeEnvironmentFlags.has('--permission')
  ? '--permission'
  : '--experimental-permission';
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

describe('a process that may start no threads', () => {
  let threadless: Compiled;

  beforeAll(() => {
    threadless = compile('test/unit/wheel/fixtures/threadless-process.ts');
  });

  afterAll(() => threadless.remove());

  it('wakes its wheel by timeouts', async () => {
    const { stdout } = await run(
      process.execPath,
      [
        PERMISSION_MODEL,
        '--allow-fs-read=*',
        '--disable-warning=ExperimentalWarning',
        threadless.path,
      ],
      { cwd: ROOT, timeout: 30_000 },
    );
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(/^the wheel wakes by setTimeout alone: .*restricted/),
      'the first timer',
      'the second timer',
      '',
    ]);
  });
});
