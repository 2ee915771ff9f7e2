import type { ChildProcess } from 'node:child_process';

const KEY = Symbol.for('nestjs-delay-queue.test.living-processes');
type Holder = { [KEY]?: Set<ChildProcess> };

/**
 * The processes that the tests of one file started and that still run. On the sandbox's global
 * object, because the test environment looks at it from outside.
 */
export function livingProcesses(holder: object = globalThis): Set<ChildProcess> {
  return ((holder as Holder)[KEY] ??= new Set());
}
