import { expect, it } from '@jest/globals';
import type { Response } from 'express';
import { Processes, type ProcessState } from '../../../src/shop/processes/processes.js';
import { ProcessesController } from '../../../src/shop/processes/processes.controller.js';

/** One process, in that state. */
class Listed extends Processes {
  readonly self = 'shop-1';
  readonly shopStartedAt = new Date(0);
  readonly killed: string[] = [];

  constructor(private readonly state: ProcessState['state']) {
    super();
  }

  list(): ProcessState[] {
    return [{ name: this.self, pid: 7, state: this.state, since: '' }];
  }

  events(): [] {
    return [];
  }

  kill(name: string): void {
    this.killed.push(name);
  }
}

/** An answer that has been sent. */
const response = { once: (_: string, then: () => void) => then() } as unknown as Response;

/** Five that never come up end the shop: a visitor may not bring that about. */
it.each([
  ['up', undefined, ['shop-1']],
  ['starting', 'there is no process shop-1 to kill', []],
  ['dead', 'there is no process shop-1 to kill', []],
] as const)('a process that is %s, killed by a visitor: %p', (state, refused, killed) => {
  const processes = new Listed(state);
  let error: Error | undefined;
  try {
    new ProcessesController(processes).kill('shop-1', '127.0.0.1', response);
  } catch (thrown) {
    error = thrown as Error;
  }
  expect([error?.message, processes.killed]).toEqual([refused, killed]);
});
