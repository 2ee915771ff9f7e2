import { appendFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ClientLog } from '../../chaos/record/client-log.js';
import { loadClientLogs } from '../../chaos/record/client-logs.js';
import { clientRunner } from '../../support/other-node.js';
import { Scene } from './support/scene.js';

let scene: Scene;
let folder: string;
let file: string;

beforeEach(async () => {
  scene = await Scene.open();
  folder = await mkdtemp(join(tmpdir(), 'chaos-log-'));
  file = join(folder, 'client.jsonl');
});

afterEach(async () => {
  await rm(folder, { recursive: true });
  await scene.close();
});

const asked = {
  verb: 'schedule',
  name: 'chaos.plain',
  key: null,
  token: 't',
  inTransaction: false,
} as const;

describe('the clients’ log', () => {
  it('keeps what each call was told, and takes no answer for an unknown one', async () => {
    const log = ClientLog.open(file, 'p1');
    log.ok(log.invoke(asked), { verdict: 'scheduled', id: '7', dueMs: 1_760_000_000_123 });
    log.fail(log.invoke(asked), new Error('refused'));
    log.unknown(log.invoke(asked), new Error('terminated'));
    log.invoke(asked);
    log.close();
    await loadClientLogs(scene.sql, [file]);
    expect(
      await scene.sql(
        `SELECT call, outcome, verdict, id, error, due_at = 'epoch'::timestamptz + 1760000000123 * interval '1 ms' AS due
         FROM chaos.client ORDER BY call`,
      ),
    ).toEqual([
      { call: 'p1-1', outcome: 'ok', verdict: 'scheduled', id: '7', error: null, due: true },
      {
        call: 'p1-2',
        outcome: 'fail',
        verdict: null,
        id: null,
        error: 'Error: refused',
        due: null,
      },
      {
        call: 'p1-3',
        outcome: 'unknown',
        verdict: null,
        id: null,
        error: 'Error: terminated',
        due: null,
      },
      { call: 'p1-4', outcome: 'unknown', verdict: null, id: null, error: 'no answer', due: null },
    ]);
  });

  it('forgives a torn last line, and no other', async () => {
    const log = ClientLog.open(file, 'p1');
    log.invoke(asked);
    log.close();
    appendFileSync(file, '{"kind":"ok","call":"p1');
    await loadClientLogs(scene.sql, [file]);
    expect(await scene.sql(`SELECT outcome FROM chaos.client`)).toEqual([{ outcome: 'unknown' }]);
    appendFileSync(file, '\n');
    await expect(loadClientLogs(scene.sql, [file])).rejects.toThrow(':2 is no line of a client');
  });
});

describe('the trigger', () => {
  it('numbers the writes of a row without a gap, and forgets what was rolled back', async () => {
    const made = await scene.schedule({ key: 'k', afterMs: 60_000 });
    const app = clientRunner(await scene.session(''));
    await scene.sql('BEGIN');
    await scene.clients().cancel(app, made.name, 'k');
    await scene.sql('ROLLBACK');
    const claimless = { kind: 'after' as const, ms: 60_000 };
    await scene.clients().reschedule(app, made.name, 'k', claimless);
    await scene.clients().cancel(app, made.name, 'k');
    expect(
      await scene.sql(
        `SELECT revision, op, was_epoch::int, epoch::int, token, was_token FROM chaos.transition
         WHERE delay_id = $1 ORDER BY revision`,
        [made.id],
      ),
    ).toEqual([
      { revision: 1, op: 'insert', was_epoch: null, epoch: 0, token: 't1', was_token: null },
      { revision: 2, op: 'update', was_epoch: 0, epoch: 1, token: 't1', was_token: 't1' },
      { revision: 3, op: 'delete', was_epoch: 1, epoch: null, token: null, was_token: 't1' },
    ]);
  });
});
