import { NodeProcess } from '../../support/node-process.js';
import { SHORT, type Worker } from './cluster.js';
import type { WorkerMessage, WorkerSetup } from './worker.protocol.js';

/** A worker on a URL of its own: behind a proxy, or on a server that may crash. The caller stops it. */
export async function startLoneWorker(
  url: string,
  nodeName: string,
  setup: Omit<WorkerSetup, 'url'>,
): Promise<Worker> {
  const asked: WorkerSetup = { ...setup, url, options: { ...SHORT, ...setup.options, nodeName } };
  const worker = Object.assign(
    NodeProcess.start<WorkerMessage>('test/cluster/fixtures/worker.ts', {
      env: { CLUSTER_WORKER: JSON.stringify(asked) },
    }),
    { nodeName },
  );
  await worker.waitFor(({ ready }) => ready !== undefined);
  return worker;
}
