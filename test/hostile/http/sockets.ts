import type { Case } from '../support/every-case.js';

/** Bytes that a client of one's own making sends down a socket. */
export interface HostileSocket extends Case {
  bytes: string | Buffer;
  /** First line of the answer; left out when the client goes away without waiting for one. */
  answers?: RegExp;
}

const HOST = 'Host: shop\r\n';
const JSON_TYPE = 'Content-Type: application/json\r\n';
const BODY = '{"items":[{"sku":"CUP-WHITE","quantity":1}]}';
const POST = `POST /orders HTTP/1.1\r\n${HOST}${JSON_TYPE}`;
const CLOSE = 'Connection: close\r\n';

const BAD = /^HTTP\/1\.1 400 /;
const TOO_LARGE = /^HTTP\/1\.1 431 /;
/** Some parsers close, some answer first. Anything but a success or a failure of the server. */
const REFUSED = /^(?:HTTP\/1\.1 4\d\d |$)/;

const answered = (what: string, bytes: string | Buffer, answers: RegExp): HostileSocket => ({
  what,
  bytes,
  answers,
});

const abandoned = (what: string, bytes: string | Buffer): HostileSocket => ({ what, bytes });

export const SOCKETS: readonly HostileSocket[] = [
  answered('bytes at random', Buffer.from([0, 255, 1, 254, 13, 10, 13, 10]), REFUSED),
  answered('the hello of TLS', Buffer.from('16030100f2010000ee0303', 'hex'), REFUSED),
  answered('HTTP/9.9', `GET /skus HTTP/9.9\r\n${HOST}\r\n`, REFUSED),
  answered('no host', `GET /skus HTTP/1.1\r\n${CLOSE}\r\n`, BAD),
  answered('a method nobody has', `STEAL /skus HTTP/1.1\r\n${HOST}\r\n`, BAD),
  answered('NUL in a header', `GET /skus HTTP/1.1\r\n${HOST}X: a\0b\r\n\r\n`, BAD),
  answered('a blank in a header name', `GET /skus HTTP/1.1\r\n${HOST}X Y: 1\r\n\r\n`, BAD),
  answered('a line break alone', `GET /skus HTTP/1.1\r\n${HOST}X: a\nY: b\r\r\n\r\n`, BAD),
  answered('a URL of 20 kB', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\n${HOST}\r\n`, TOO_LARGE),
  answered('a header of 20 kB', `${POST}Idempotency-Key: ${'k'.repeat(20_000)}\r\n\r\n`, TOO_LARGE),
  answered('two lengths', `${POST}Content-Length: 44\r\nContent-Length: 4\r\n\r\n${BODY}`, BAD),
  answered('a negative length', `${POST}Content-Length: -1\r\n\r\n`, BAD),
  answered('a length that is none', `${POST}Content-Length: 0x10\r\n\r\n${BODY}`, BAD),
  answered(
    'a length and chunks',
    `${POST}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    BAD,
  ),
  answered('a chunk of no length', `${POST}Transfer-Encoding: chunked\r\n\r\nxyz\r\n${BODY}`, BAD),
  answered(
    'a chunk of 2^64 bytes',
    `${POST}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n${BODY}`,
    BAD,
  ),
  answered('chunks encoded twice', `${POST}Transfer-Encoding: chunked, odd\r\n\r\n`, REFUSED),
  answered(
    'an expectation nobody meets',
    `${POST}${CLOSE}Expect: miracles\r\nContent-Length: 0\r\n\r\n`,
    /^HTTP\/1\.1 417 /,
  ),
  answered('CONNECT', `CONNECT example.com:443 HTTP/1.1\r\n${HOST}\r\n`, /^$/),
  answered(
    'an upgrade',
    `GET /nowhere HTTP/1.1\r\n${HOST}Connection: Upgrade, close\r\nUpgrade: odd\r\n\r\n`,
    /^HTTP\/1\.1 404 /,
  ),
  abandoned('nothing', ''),
  abandoned('half a request line', 'POST /ord'),
  abandoned('half of the headers', `${POST}Content-Le`),
  abandoned('headers without the body', `${POST}Content-Length: ${BODY.length}\r\n\r\n`),
  abandoned(
    'half of the body',
    `${POST}Content-Length: ${BODY.length}\r\n\r\n${BODY.slice(0, 20)}`,
  ),
  abandoned('half of a chunk', `${POST}Transfer-Encoding: chunked\r\n\r\n2c\r\n{"items"`),
  abandoned(
    'a whole order, gone before the answer',
    `${POST}Content-Length: ${BODY.length}\r\n\r\n${BODY}`,
  ),
  abandoned(
    'fifty requests at once, gone before the answers',
    `GET /skus HTTP/1.1\r\n${HOST}\r\n`.repeat(50),
  ),
];
