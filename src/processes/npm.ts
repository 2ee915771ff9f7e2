const LOOK_EVERY_MS = 250;

/**
 * npm hands a SIGTERM on to the shell that it runs a script in, and a shell like dash ends by it without a word to
 * what it runs. No process would be left that can be told to stop the shop. Only under npm: what is put into the background
 * of a terminal is to outlive that one.
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
