import type { Surroundings } from './player.js';

const LOOK_EVERY_MS = 2;

/**
 * Opens a line for messages from where the caller stands: a timer, which runs in the async context in which it was
 * begun. Lets a message come over it now, and another one when the program is over. What a message leads to is not
 * of the caller's doing.
 */
export async function foreignMessages(
  { record }: Surroundings,
  deal: () => Promise<void>,
): Promise<void> {
  const box: (() => void)[] = [];
  const timer = setInterval(() => {
    for (const dealt of box.splice(0)) void deal().then(dealt, dealt);
  }, LOOK_EVERY_MS);
  timer.unref();
  const send = (): Promise<void> => new Promise((resolve) => box.push(resolve));
  record.afterwards.push(() => send().finally(() => clearInterval(timer)));
  await send();
}
