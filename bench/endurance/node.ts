/** The node of `endurance`: runs what becomes due, and tells how late, part by part. */
import { type Delay, OnDelay, type TransactionalDelayContext } from 'nestjs-delay-queue';
import { compile } from '../adapters/ours.js';
import { Yardstick } from '../processes/yardstick.js';
import { CLOSE, ITEMS, ITEMS_MAX, type Name, PLAIN } from './delays.js';

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

const nothing = (): NodePart => ({ latenessMs: [], early: 0, memoryMiB: 0 });

let part = nothing();
let yardstick = await Yardstick.measure(url);
/** Bytes for what stood there at the start, and for what came since. */
const [ranBefore, ranAfter] = [new Uint8Array(Number(before) + 1), new Uint8Array(Number(after))];
const end: NodeEnd = { handled: 0, twice: 0 };

function note({ payload: { n }, dueAt }: Delay<Name>): void {
  const latenessMs = yardstick.nowMs() - dueAt.getTime();
  part.latenessMs.push(latenessMs);
  if (latenessMs < -yardstick.uncertaintyMs) part.early += 1;
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
async function answer(command: 'part' | 'end'): Promise<NodePart | NodeEnd> {
  if (command === 'end') {
    await app.close();
    return end;
  }
  const told = { ...part, memoryMiB: process.memoryUsage().rss / 2 ** 20 };
  part = nothing();
  // Anew for each part: in half an hour the two clocks drift apart.
  yardstick = await Yardstick.measure(url);
  return told;
}

process.on('message', (command: 'part' | 'end') => {
  void answer(command).then((told) => process.send?.(told));
});
process.send?.('started');
