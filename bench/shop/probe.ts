/**
 * Loaded into every process of a measured shop, before the shop: tells the bench what the process uses,
 * on a socket of its own, and does nothing else.
 */
import cluster from 'node:cluster';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

/** What one process has used since its start, and holds now. */
export interface ProcessReading {
  name: string;
  cpuSeconds: number;
  /** What is reachable, on the heap and beside it, when garbage was collected just before. */
  liveBytes: number;
  residentBytes: number;
}

/** Asks for garbage to be collected before the reading. */
export const COLLECTED = '/collected';

function read(): ProcessReading {
  const { user, system } = process.cpuUsage();
  const { heapUsed, external, rss } = process.memoryUsage();
  return {
    name: cluster.worker ? `process ${cluster.worker.id}` : 'main process',
    cpuSeconds: (user + system) / 1e6,
    liveBytes: heapUsed + external,
    residentBytes: rss,
  };
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // Twice: what a finalizer lets go goes with the second.
  collect();
  collect();
}

const folder = process.env.BENCH_PROBE_FOLDER;
if (folder !== undefined && isMainThread) {
  const server = createServer((request, response) => {
    if (request.url === COLLECTED) collectGarbage();
    response.setHeader('connection', 'close').end(JSON.stringify(read()));
  });
  // Exclusive: `node:cluster` would hand it to the primary.
  server.listen({ path: join(folder, `${process.pid}.sock`), exclusive: true }).unref();
}
