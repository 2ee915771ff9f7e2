const LOOK_EVERY_MS = 250;

/**
 * Calls `stop` when npm ends. npm passes a SIGTERM on to the shell that runs the script, and a
 * shell like dash ends without passing it further: no process would be left to stop the shop. Only
 * under npm, since a shop put into the background of a terminal is to outlive that terminal.
 */
export function whenNpmEnds(stop: () => void): void {
  if (process.env.npm_lifecycle_event === undefined) return;
  const startedBy = process.ppid;
  const looking = setInterval(() => {
    if (process.ppid === startedBy) return;
    clearInterval(looking);
    stop();
  }, LOOK_EVERY_MS).unref();
}
