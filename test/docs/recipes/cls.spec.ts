import { expect, it } from '@jest/globals';
import { NodeProcess } from '../../support/node-process.js';
import { recipe } from '../page.js';

const of = (tenant: string) =>
  ['sent', 'reminded'].map((what) => ({
    tenant,
    invoice: `${tenant}-1`,
    what,
    request_id: `request of ${tenant}`,
  }));

it('around-handlers.md: in nestjs-cls, a handler has the request id and the tenant of who scheduled it, and no other', async () => {
  const [page] = await recipe('around-handlers.md', ['cls.ts']);
  await page.sql('CREATE TABLE journal (tenant text, invoice text, what text, request_id text)');
  const application = NodeProcess.start<{ journal: unknown[] }>(
    'test/docs/fixtures/cls-application.ts',
    { args: [page.blocks.folder], env: { DATABASE_URL: page.database.url } },
  );
  const { journal } = await application.waitFor((message) => 'journal' in message);
  await application.exited;
  expect(journal).toEqual([...of('shop-1'), ...of('shop-2')]);
});
