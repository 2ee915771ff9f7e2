import { Socket } from 'node:net';

let count = 0;

/**
 * How often this process has waited for an answer of a server, whatever package it talks through. What is sent without
 * waiting for the answer before is one trip together with it.
 */
export const roundTrips = (): number => count;

/** From now on, on connections that are opened after this call. */
export function countRoundTrips(): void {
  const connect = Reflect.get(Socket.prototype, 'connect') as (...given: unknown[]) => Socket;
  Socket.prototype.connect = function (this: Socket, ...given: unknown[]): Socket {
    let answered = 0;
    this.on('data', () => {
      // An answer of several packets is the answer to what was written before the first of them.
      if (this.bytesWritten === answered) return;
      answered = this.bytesWritten;
      count += 1;
    });
    return Reflect.apply(connect, this, given);
  };
}
