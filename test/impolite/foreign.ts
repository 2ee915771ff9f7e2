import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Surroundings } from './player.js';

/** What carries messages: opened once, in whatever async context that was. */
interface Line {
  /** Sends somebody's message, and resolves when it has been dealt with. */
  send: () => Promise<void>;
  close: () => void;
}

/**
 * Opens a line from where the caller stands, lets a message come over it now, and another one when
 * the program is over. What a message leads to is not of the caller's doing.
 */
export async function foreignMessages(
  via: 'socket' | 'timer',
  { record, echoPort }: Surroundings,
  deal: () => Promise<void>,
): Promise<void> {
  const quietly = (): Promise<void> => deal().catch(() => {});
  const line = via === 'socket' ? await socketLine(echoPort, quietly) : timerLine(quietly);
  record.afterwards.push(() => line.send().finally(line.close));
  await line.send();
}

async function socketLine(port: number, deal: () => Promise<void>): Promise<Line> {
  const socket: Socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  let dealt: (() => void) | undefined;
  // Node runs this in the context in which the socket was opened.
  socket.on('data', () => void deal().then(() => dealt?.()));
  return {
    send: () =>
      new Promise((resolve) => {
        dealt = resolve;
        socket.write('.');
      }),
    close: () => socket.destroy(),
  };
}

const LOOK_EVERY_MS = 2;

function timerLine(deal: () => Promise<void>): Line {
  const box: (() => void)[] = [];
  const timer = setInterval(() => {
    for (const dealt of box.splice(0)) void deal().then(dealt);
  }, LOOK_EVERY_MS);
  return {
    send: () => new Promise((resolve) => box.push(resolve)),
    close: () => clearInterval(timer),
  };
}
