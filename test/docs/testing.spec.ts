import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { Delay, TransactionalDelayContext } from 'nestjs-delay-queue';
import { DelayTesting } from 'nestjs-delay-queue/testing';
import { SWC_OPTIONS } from '../../tools/swc-options.mjs';
import { codeBlocks, readDocument, ROOT, tableUnder } from './documents.js';
import { Page } from './page.js';

/** A process that is still there then has left something open: the runners are not told to end it. */
const ENDS_WITHIN_MS = 60_000;

const DOCUMENT = readDocument('docs/testing.md');

let page: Page;

beforeAll(async () => {
  page = await Page.open(DOCUMENT.path, 'none');
});
afterAll(() => page.close());

/** @returns all that it said; throws when it fails, or does not end by itself */
async function node(...args: string[]): Promise<string> {
  const loader = pathToFileURL(join(ROOT, 'tools/swc-loader.mjs')).href;
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ['--import', loader, ...args],
    {
      cwd: page.blocks.folder,
      timeout: ENDS_WITHIN_MS,
      env: { ...process.env, NODE_OPTIONS: '', NODE_TEST_CONTEXT: '' },
    },
  );
  return stdout + stderr;
}

it('docs/testing.md has tests that Jest runs, and that end by themselves', async () => {
  // With what an application's own configuration would have.
  const config = {
    rootDir: page.blocks.folder,
    testMatch: [join(page.blocks.folder, '*.jest.spec.ts')],
    testEnvironment: 'node',
    extensionsToTreatAsEsm: ['.ts'],
    resolver: join(ROOT, 'test/support/jest.resolver.cjs'),
    moduleNameMapper: {
      '^nestjs-delay-queue$': join(ROOT, 'src/delay-queue/index.ts'),
      '^nestjs-delay-queue/testing$': join(ROOT, 'src/delay-queue/testing/index.ts'),
    },
    transform: { '^.+\\.ts$': ['@swc/jest', SWC_OPTIONS] },
    testTimeout: 30_000,
  };
  const bin = join(ROOT, 'node_modules/jest/bin/jest.js');
  const given = ['--config', JSON.stringify(config), '--runInBand', '--ci'];
  const said = await node('--experimental-vm-modules', bin, ...given);
  expect(said).toContain('Tests:       5 passed, 5 total');
  expect(said).not.toContain('did not exit');
});

it('docs/testing.md has the same for Vitest, but for one line with the same names', () => {
  const ofJest = codeBlocks(DOCUMENT, 'ts')
    .filter(({ code }) => code.startsWith('// orders.jest.spec.ts'))
    .flatMap(({ code }) => code.match(/^import .* from '@jest\/globals';\n/gm) ?? []);
  const ofVitest = codeBlocks(DOCUMENT, 'js').map(({ code }) => code);
  expect(ofVitest).toEqual(ofJest.map((line) => line.replace('@jest/globals', 'vitest')));
  expect(ofVitest).toHaveLength(1);
});

it('docs/testing.md calls a handler in a transaction', async () => {
  const { closeNow } = await page.load('handler-call.ts');
  const seen: unknown[] = [];
  const close = async ({ payload }: Delay<'order.close'>, ctx: TransactionalDelayContext) =>
    void seen.push(payload, ctx.manager.queryRunner?.isTransactionActive);
  await closeNow({ close }, page.dataSource, 'a');
  expect(seen).toEqual([{ orderId: 'a' }, true]);
});

it('docs/testing.md lists exactly the methods there are', () => {
  const listed = tableUnder(DOCUMENT, 'Methods')
    .slice(1)
    .map(([call = '']) => /`(?:DelayTesting\.)?(\w+)\(/.exec(call)?.[1] ?? call);
  const methods = [DelayTesting.prototype, DelayTesting].flatMap((from: object) =>
    Object.entries(Object.getOwnPropertyDescriptors(from))
      .filter(([name, { value }]) => name !== 'constructor' && typeof value === 'function')
      .map(([name]) => name),
  );
  expect(listed.toSorted()).toEqual(methods.toSorted());
});
