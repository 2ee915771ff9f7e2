/** A process of the bench: one worker or one producer of one system, on the bench's orders. */
import { adapterOf } from '../adapters/adapters.js';
import { produce } from './produce.js';
import type { Command, Message, WorkOrder } from './protocol.js';
import { RunLog } from './run-log.js';
import { Yardstick } from './yardstick.js';

const PROGRESS_EVERY_MS = 50;

// Ctrl+C reaches the whole group: the bench decides when we end, and so does its end.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
process.once('disconnect', () => process.exit(1));

const tell = (message: Message): void => void process.send?.(message);

/** Orders in the sequence in which they come, one at a time. */
function obey(carryOut: (command: Command) => Promise<void>): void {
  let previous = Promise.resolve();
  process.on('message', (command: Command) => {
    previous = previous.then(() => carryOut(command)).catch(fail);
  });
  tell({ type: 'ready' });
}

function fail(error: unknown): void {
  const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
  tell({ type: 'failed', reason });
}

async function beWorker(order: WorkOrder): Promise<void> {
  const log = new RunLog(await Yardstick.measure(order.url), order.count);
  const worker = await adapterOf(order.system).openWorker(order.url, order.concurrency, log);
  let cpuAtStart = process.cpuUsage();
  let told = 0;
  const progress = setInterval(() => {
    if (log.settledCount > told) tell({ type: 'progress', settled: log.settledCount });
    told = log.settledCount;
  }, PROGRESS_EVERY_MS);

  obey(async ({ type }) => {
    if (type === 'start') {
      cpuAtStart = process.cpuUsage();
      await worker.start();
    } else if (type === 'report') {
      const { user, system } = process.cpuUsage(cpuAtStart);
      tell(log.report((user + system) / 1e6));
    } else {
      clearInterval(progress);
      await worker.stop();
      process.exit(0);
    }
  });
}

async function beProducer(order: WorkOrder): Promise<void> {
  const yardstick = await Yardstick.measure(order.url);
  const producer = await adapterOf(order.system).openProducer(order.url);
  obey(async ({ type }) => {
    if (type === 'start') {
      const answeredInMs = await produce(producer, order.count, order.ratePerSecond);
      tell({ type: 'produced', stoppedAtMs: yardstick.nowMs(), answeredInMs });
    } else if (type === 'stop') {
      await producer.stop();
      process.exit(0);
    }
  });
}

try {
  const order: WorkOrder = JSON.parse(process.argv[2] ?? '{}');
  await (order.role === 'worker' ? beWorker(order) : beProducer(order));
} catch (error) {
  fail(error);
}
