/**
 * Runs a file in a test process, and ends that process when the test runner is killed: its input is
 * a pipe that closes then. (So does the IPC channel, but listening to it would hold up a process that
 * has finished its work. A preloaded module would be handed on to grandchildren.)
 */
import { pathToFileURL } from 'node:url';

process.stdin.once('end', () => process.exit(1));
process.stdin.resume();
process.stdin.unref();

process.argv.splice(1, 1);
await import(pathToFileURL(process.argv[1]).href);
