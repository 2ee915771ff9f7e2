import { until } from '../../../support/until.js';
import { clientRunner } from '../../../support/other-node.js';
import { type Claimed, type Made, type Scene } from './scene.js';

const LEASE_MS = 60_000;

/** One claim of several, as one batch takes them; waits until all of them can be had. */
export async function claimTogether(
  scene: Scene,
  made: readonly Made[],
  node: string,
): Promise<Claimed[]> {
  const ids = made.map(({ id }) => id);
  await until(
    () =>
      scene.sql<{ due: boolean }>(
        `SELECT bool_and(GREATEST(wake_at, leased_until) <= clock_timestamp()) AS due
         FROM delay_queue.delay WHERE id = ANY ($1)`,
        [ids],
      ),
    ([row]) => row?.due === true,
  );
  const items = made.map(({ id, epoch }) => ({
    id: Number(id),
    epoch,
    leaseMs: LEASE_MS,
    maxAttempts: 5,
  }));
  const rows = await (await scene.work(node)).claim(items);
  return made.map((each) => {
    const row = rows.find(({ id }) => String(id) === each.id);
    if (row === undefined) throw new Error(`delay ${each.id} was not claimed`);
    return { ...each, node, epoch: row.epoch, attempt: row.attempts };
  });
}

/** The effects of a batch and the removal of its delays, but those that are left, in one transaction. */
export async function commitTogether(
  scene: Scene,
  batch: readonly Claimed[],
  left: readonly Claimed[] = [],
): Promise<void> {
  const [first] = batch as [Claimed];
  await scene.sql('BEGIN');
  for (const each of [...batch, ...left]) await scene.effect(each, { fenced: true });
  const items = batch.map(({ id, epoch }) => ({ id: Number(id), epoch, latenessMs: 0 }));
  const store = await scene.work(first.node);
  await store.complete(items, clientRunner(await scene.session('')));
  await scene.sql('COMMIT');
}
