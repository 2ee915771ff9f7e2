import { Scanner } from '../../src/delay-queue/worker/scanner.js';

const RARE_MS = 3_600_000;

/**
 * For all nodes of this process, or of this test file: no pass of the scanner comes because it is time
 * for one, so that what fires was found by something else. Those that somebody asks for come as ever, and
 * so do those of a node with peers.
 */
export function makeSweepsRare(): void {
  Object.defineProperty(Scanner.prototype, 'everyMs', { get: () => RARE_MS });
}
