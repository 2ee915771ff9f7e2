import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { Test, type TestingModule, type TestingModuleBuilder } from '@nestjs/testing';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { type DelayName, DelayService } from 'nestjs-delay-queue';
import { DelayTesting } from 'nestjs-delay-queue/testing';
import { DataSource } from 'typeorm';
import { SWC_OPTIONS } from '../../tools/swc-options.mjs';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { appModule } from '../support/delay-node.js';
import { codeBlocks, readDocument, ROOT, tableUnder } from './documents.js';
import { unpack, type Unpacked } from './unpacked.js';

/** A process that is still there then has left something open: the runners are not told to end it. */
const ENDS_WITHIN_MS = 60_000;

const PAGE = readDocument('docs/testing.md');

let database: TestDatabase;
let blocks: Unpacked;

beforeAll(async () => {
  database = await createEmptyDatabase();
  blocks = unpack(PAGE);
  const tables = await new DataSource({ type: 'postgres', url: database.url }).initialize();
  for (const { code } of codeBlocks(PAGE, 'sql')) await tables.query(code);
  await tables.destroy();
});

beforeEach(async () => {
  const orders = await new DataSource({ type: 'postgres', url: database.url }).initialize();
  await orders.query('TRUNCATE orders');
  await orders.destroy();
});

afterAll(async () => {
  blocks?.remove();
  await database?.drop();
});

/** @returns all that it said; throws when it fails, or does not end by itself */
async function node(...args: string[]): Promise<string> {
  const loader = pathToFileURL(join(ROOT, 'tools/swc-loader.mjs')).href;
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ['--import', loader, ...args],
    {
      cwd: blocks.folder,
      timeout: ENDS_WITHIN_MS,
      env: { ...process.env, DATABASE_URL: database.url, NODE_OPTIONS: '', NODE_TEST_CONTEXT: '' },
    },
  );
  return stdout + stderr;
}

/** With what an application's own configuration would have; `vitest` has what Jest has of that name. */
function jest(spec: string): Promise<string> {
  const config = {
    rootDir: blocks.folder,
    testMatch: [join(blocks.folder, spec)],
    testEnvironment: 'node',
    extensionsToTreatAsEsm: ['.ts'],
    resolver: join(ROOT, 'test/support/jest.resolver.cjs'),
    moduleNameMapper: {
      '^nestjs-delay-queue$': join(ROOT, 'src/delay-queue/index.ts'),
      '^nestjs-delay-queue/testing$': join(ROOT, 'src/delay-queue/testing/index.ts'),
      '^vitest$': join(blocks.folder, 'vitest.ts'),
    },
    transform: { '^.+\\.ts$': ['@swc/jest', SWC_OPTIONS] },
    testTimeout: 30_000,
  };
  const bin = join(ROOT, 'node_modules/jest/bin/jest.js');
  const given = ['--config', JSON.stringify(config), '--runInBand', '--ci'];
  return node('--experimental-vm-modules', bin, ...given);
}

const load = <Exports>(file: string): Promise<Exports> =>
  import(pathToFileURL(join(blocks.folder, file)).href);

describe('docs/testing.md', () => {
  it('has tests that Jest runs, and that end by themselves', async () => {
    const said = await jest('orders.jest.spec.ts');
    expect(said).toContain('Tests:       3 passed, 3 total');
    expect(said).not.toContain('did not exit');
  });

  it('has the same for Vitest, but for one line', async () => {
    const [line] = codeBlocks(PAGE, 'js');
    const ofJest = readFileSync(join(blocks.folder, 'orders.jest.spec.ts'), 'utf8');
    const ofVitest = ofJest.replace(/^import .* from '@jest\/globals';\n/m, line?.code ?? '');
    expect(ofVitest).toMatch(/^import .* from 'vitest';$/m);
    expect(ofVitest).not.toContain('@jest');
    writeFileSync(join(blocks.folder, 'orders.vitest.spec.ts'), ofVitest);
    const [taken = ''] = /\{.*\}/.exec(line?.code ?? '') ?? [];
    writeFileSync(join(blocks.folder, 'vitest.ts'), `export ${taken} from '@jest/globals';\n`);
    expect(await jest('orders.vitest.spec.ts')).toContain('Tests:       3 passed, 3 total');
  });

  it('has tests that node:test runs, and that end by themselves', async () => {
    expect(await node(join(blocks.folder, 'orders.node.spec.ts'))).toMatch(/# pass 1\n|ℹ pass 1\n/);
  });

  it('has a clock that goes with the time of the delays', async () => {
    const { Clock, Invoices } = await load<Record<string, Type>>('clock.ts');
    const { startWithClock } = await load<{
      startWithClock: (
        builder: TestingModuleBuilder,
      ) => Promise<{ app: TestingModule; testing: DelayTesting }>;
    }>('clock-of-tests.ts');
    const { app, testing } = await startWithClock(
      Test.createTestingModule({
        imports: [appModule({ url: database.url })],
        providers: [Clock!, Invoices!],
      }),
    );
    try {
      const dataSource = app.get(DataSource);
      await dataSource.query(
        `INSERT INTO invoices VALUES ('1', now() + interval '30 days', false)`,
      );
      const remind = { after: '31d', key: '1' } as const;
      const payload = { invoiceId: '1' } as never;
      await app.get(DelayService).schedule('invoice.remind' as DelayName, payload, remind);
      await testing.advance('31d');
      expect(await dataSource.query('SELECT reminded FROM invoices')).toEqual([{ reminded: true }]);
    } finally {
      await app.close();
    }
  });

  it('lists exactly the methods there are', () => {
    const listed = tableUnder(PAGE, 'What there is')
      .slice(1)
      .map(([call = '']) => /`(?:DelayTesting\.)?(\w+)\(/.exec(call)?.[1] ?? call);
    const own = Object.getOwnPropertyNames(DelayTesting.prototype);
    const ofClass = Object.entries(Object.getOwnPropertyDescriptors(DelayTesting))
      .filter(([, { value }]) => typeof value === 'function')
      .map(([name]) => name);
    const methods = [...own, ...ofClass].filter((name) => name !== 'constructor');
    expect(listed.toSorted()).toEqual(methods.toSorted());
  });
});
