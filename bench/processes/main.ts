/** A process of the bench: one worker or one producer of one system, on the bench's orders. */
import { adapterOf } from '../adapters/adapters.js';
import type { BenchWorker, Hears } from '../adapters/adapter.js';
import { call, callsOf, produce } from './producing.js';
import { UsageWatch } from './process-usage.js';
import type { Call, Command, Message, ProducerOrder, WorkerOrder, WorkOrder } from './protocol.js';
import { countRoundTrips } from './round-trips.js';
import { RunLog } from './run-log.js';
import { Yardstick } from './yardstick.js';

const PROGRESS_EVERY_MS = 50;

// Ctrl+C reaches the whole group: the bench decides when we end, and so does its end.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
process.once('disconnect', () => process.exit(1));

const tell = (message: Message): void => void process.send?.(message);

/** Orders in the sequence in which they come, one at a time. */
function obey(carryOut: (command: Command) => Promise<void>, calls: readonly Call[] = []): void {
  let previous = Promise.resolve();
  process.on('message', (command: Command) => {
    previous = previous.then(() => carryOut(command)).catch(fail);
  });
  tell({ type: 'ready', calls });
}

function fail(error: unknown): void {
  const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
  tell({ type: 'failed', reason });
}

async function beWorker(order: WorkerOrder): Promise<void> {
  countRoundTrips();
  const yardstick = await Yardstick.measure(order.url);
  let log = new RunLog(yardstick, order.count);
  const hears: Hears = {
    handled: (n, dueMs, ownLatenessMs) => log.handled(n, dueMs, ownLatenessMs),
    settled: () => log.settled(),
    claimed: () => log.claimed(),
  };
  const open = (): Promise<BenchWorker> =>
    adapterOf(order.system).openWorker(order.url, order.running, hears);
  let worker = await open();
  let usage: UsageWatch | undefined;
  let told = 0;
  const watched = (): UsageWatch => new UsageWatch(order.watchesLoop === true);
  const forget = (): void => {
    log = new RunLog(yardstick, order.count);
    told = 0;
  };
  const progress = setInterval(() => {
    if (log.settledCount > told) tell({ type: 'progress', settled: log.settledCount });
    told = log.settledCount;
  }, PROGRESS_EVERY_MS);

  obey(async ({ type }) => {
    if (type === 'start') {
      usage = watched();
      await worker.start();
      tell({ type: 'started' });
    } else if (type === 'reopen') {
      await worker.stop();
      forget();
      worker = await open();
      tell({ type: 'reopened' });
    } else if (type === 'forget') {
      forget();
      usage = watched();
      tell({ type: 'forgotten' });
    } else if (type === 'report') {
      usage ??= new UsageWatch(false);
      tell(log.report(usage.taken()));
    } else {
      clearInterval(progress);
      await worker.stop();
      process.exit(0);
    }
  });
}

async function beProducer(order: ProducerOrder): Promise<void> {
  const yardstick = await Yardstick.measure(order.url);
  const producer = await adapterOf(order.system).openProducer(order.url);
  obey(async (command) => {
    if (command.type === 'produce') {
      const answeredInMs = await produce(producer, command.count, command.ratePerSecond);
      tell({ type: 'produced', stoppedAtMs: yardstick.nowMs(), answeredInMs });
    } else if (command.type === 'call') {
      tell(await call(producer, command));
    } else if (command.type === 'stop') {
      await producer.stop();
      process.exit(0);
    }
  }, callsOf(producer));
}

try {
  const order: WorkOrder = JSON.parse(process.argv[2] ?? '{}');
  await (order.role === 'producer' ? beProducer(order) : beWorker(order));
} catch (error) {
  fail(error);
}
