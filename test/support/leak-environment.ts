import { setTimeout as pause } from 'node:timers/promises';
import { TestEnvironment } from 'jest-environment-node';
import { disableStorages } from './async-storages.js';
import './compiled-modules.js';
import { livingProcesses } from './living-processes.js';
import { lendConnection } from './server-connection.js';

/** What Jest's runner sends; its own types name many more events. */
type CircusEvent =
  | { name: 'setup' | 'run_finish' }
  | { name: 'test_start' | 'test_done'; test: { errors: unknown[] } };

/** Closing takes a moment (a socket's last packets), so a leak is what is still there after this. */
const CLOSE_GRACE_MS = 10_000;

const LEAKABLE = new Set([
  'Timeout',
  'TCPSocketWrap',
  'TCPServerWrap',
  'ProcessWrap',
  'FSEventWrap',
  'Worker',
]);

/**
 * Fails a test that leaves a process running, and a file that leaves a timer, a socket or a process.
 *
 * An environment, because hooks in a setup file run before the file's own and would see what those
 * are about to close.
 */
export default class LeakEnvironment extends TestEnvironment {
  private resourcesBefore = new Map<string, number>();
  private processesBefore = new Set<unknown>();

  async handleTestEvent(event: CircusEvent, state: { unhandledErrors: unknown[] }): Promise<void> {
    if (event.name === 'setup') {
      lendConnection(this.global);
      this.resourcesBefore = resources();
    }
    if (event.name === 'test_start') this.processesBefore = new Set(livingProcesses(this.global));
    if (event.name === 'test_done') event.test.errors.push(...this.processesLeft());
    if (event.name === 'run_finish') {
      this.processesBefore.clear();
      state.unhandledErrors.push(...this.processesLeft(), ...(await this.resourcesLeft()));
    }
  }

  override async teardown(): Promise<void> {
    disableStorages();
    await super.teardown();
  }

  private processesLeft(): Error[] {
    const living = livingProcesses(this.global);
    const left = [...living].filter((process) => !this.processesBefore.has(process));
    for (const process of left) {
      process.kill('SIGKILL');
      living.delete(process);
    }
    return left.map(({ spawnargs }) => leak(`Left running: ${spawnargs.slice(1).join(' ')}`));
  }

  private async resourcesLeft(): Promise<Error[]> {
    const deadline = performance.now() + CLOSE_GRACE_MS;
    for (;;) {
      const left = [...resources()].filter(
        ([type, count]) => count > (this.resourcesBefore.get(type) ?? 0),
      );
      if (left.length === 0) return [];
      if (performance.now() > deadline) {
        const list = left.map(([type, count]) => `${type} × ${count}`).join(', ');
        return [leak(`This file leaves open: ${list}. Close it in afterEach or afterAll.`)];
      }
      await pause(10);
    }
  }
}

/** Without a stack: it would point here, not at the culprit. */
function leak(message: string): Error {
  const error = new Error(message);
  error.stack = message;
  return error;
}

/** Only what keeps the event loop alive is listed: an unref'd timer is no leak. */
function resources(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const type of process.getActiveResourcesInfo()) {
    if (LEAKABLE.has(type)) counts.set(type, (counts.get(type) ?? 0) + 1);
  }
  return counts;
}
