/** The node of `endurance`: runs what becomes due, and tells how late, part by part. */
import { type Delay, OnDelay, type TransactionalDelayContext } from 'nestjs-delay-queue';
import { compile } from '../adapters/ours.js';
import { ITEMS } from '../adapters/adapter.js';
import { CLOSE, ITEMS_MAX, type Name, PLAIN } from './delays.js';

const [url = '', before = '', after = ''] = process.argv.slice(2);

/** What is told of one part. */
export interface NodePart {
  latenessMs: number[];
  early: number;
  memoryMiB: number;
}

/** What is told when the node has stopped. */
export interface NodeEnd {
  handled: number;
  twice: number;
}

let part: NodePart = { latenessMs: [], early: 0, memoryMiB: 0 };
/** Bytes for what stood there at the start, and for what came since. */
const [ranBefore, ranAfter] = [new Uint8Array(Number(before) + 1), new Uint8Array(Number(after))];
const end: NodeEnd = { handled: 0, twice: 0 };

function note({ payload: { n }, latenessMs }: Delay<Name>): void {
  part.latenessMs.push(latenessMs);
  if (latenessMs < 0) part.early += 1;
  const [ran, index] = n < 0 ? [ranBefore, -n] : [ranAfter, n];
  if (index >= ran.length) throw new Error(`delay ${n} is none of this run`);
  if (ran[index] === 1) end.twice += 1;
  ran[index] = 1;
  end.handled += 1;
}

class Handlers {
  @OnDelay(PLAIN)
  async plain(delay: Delay<typeof PLAIN>): Promise<void> {
    note(delay);
  }

  @OnDelay(CLOSE, { transactional: true })
  async close(delay: Delay<typeof CLOSE>, { manager }: TransactionalDelayContext): Promise<void> {
    note(delay);
    await manager.query(ITEMS.close, [Math.abs(delay.payload.n) % ITEMS_MAX]);
  }
}

process.once('disconnect', () => process.exit(1));
const app = await compile(url, {}, [Handlers]);
await app.init();
process.on('message', (command: 'part' | 'end') => {
  if (command === 'part') {
    process.send?.({ ...part, memoryMiB: process.memoryUsage().rss / 2 ** 20 } satisfies NodePart);
    part = { latenessMs: [], early: 0, memoryMiB: 0 };
  } else {
    void app.close().then(() => process.send?.(end));
  }
});
process.send?.('started');
