import type { Socket } from 'node:net';

/**
 * Closes a socket so that the other side finds its connection reset. Node loses the handle of one
 * that is reset while it says its own goodbye: never closed, and the process does not end. Such a
 * socket is closed plainly; its other side expects nothing any more.
 */
export function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
