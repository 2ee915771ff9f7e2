import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { plainProblem } from './problem.js';
import { PROBLEM_TYPE } from './problem.filter.js';

/** Errors of Node's parser with their own status; every other one is 400. */
const STATUSES: Partial<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
};

/** A request that is refused before Express sees it gets a problem like any other. */
export function answerUnreadableRequests(server: Server): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    if (error.code === 'ECONNRESET' || !socket.writable || isAnswering(socket)) {
      socket.destroy();
      return;
    }
    const { title, ...more } = plainProblem(
      STATUSES[error.code ?? ''] ?? 400,
      'this request cannot be read, or not in time',
    );
    const body = JSON.stringify({ title, ...more });
    socket.end(
      `HTTP/1.1 ${more.status} ${title}\r\nContent-Type: ${PROBLEM_TYPE}\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    );
  });
  server.on('checkExpectation', (_: IncomingMessage, response: ServerResponse) => {
    const body = JSON.stringify(plainProblem(417, 'this expectation cannot be met; leave it out'));
    response.writeHead(417, { 'Content-Type': PROBLEM_TYPE }).end(body);
  });
}

/** An earlier request is still being answered: nothing may be written into that answer. */
const isAnswering = (socket: Duplex & { _httpMessage?: ServerResponse | null }): boolean =>
  socket._httpMessage?.headersSent === true;
