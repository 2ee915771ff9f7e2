/** A message of the Postgres protocol, at its last byte. */
export interface Message {
  /** One letter; empty for what a client sends before it has a session (startup, cancel, TLS). */
  type: string;
  /** Of the body, without type and length. */
  bytes: number;
  /** The body's beginning, at most {@link HEAD_BYTES}. */
  head: Buffer;
  /** Where the message begins in the chunk that completed it; 0 when it began in an earlier one. */
  startsAt: number;
}

/** Enough for every text that ends a transaction, and for its answer. */
export const HEAD_BYTES = 64;

const LENGTH_BYTES = 4;

/**
 * Cuts one direction of a connection into messages, however they are spread over chunks:
 *
 *     type (1 byte) · length (4 bytes, itself included) · body
 *
 * It keeps the beginning of a body alone: what goes by may be large.
 */
export class FrameReader {
  #header = Buffer.alloc(0);
  #head: Buffer[] = [];
  #headBytes = 0;
  #bodyBytes = 0;
  /** Of the body, still to come; undefined while the header is read. */
  #missing: number | undefined;
  #bareBytes = 0;

  /** @param isTyped false while messages come without a type, as a client's first ones do */
  constructor(private isTyped: boolean) {}

  /** From the next message on they have a type. */
  expectTypes(): void {
    this.isTyped = true;
  }

  /** A byte outside all messages comes next: the answer to a client that asks for TLS. */
  expectBareByte(): void {
    this.#bareBytes += 1;
  }

  *read(chunk: Buffer): Generator<Message> {
    let at = 0;
    let startsAt = 0;
    while (at < chunk.length) {
      if (this.#missing === undefined) {
        if (this.#header.length === 0) {
          const bare = Math.min(this.#bareBytes, chunk.length - at);
          this.#bareBytes -= bare;
          at += bare;
          startsAt = at;
        }
        at += this.#readHeader(chunk.subarray(at));
      } else {
        at += this.#readBody(chunk.subarray(at, at + this.#missing));
      }
      if (this.#missing === 0) yield this.#complete(startsAt);
    }
  }

  #readHeader(rest: Buffer): number {
    const size = LENGTH_BYTES + (this.isTyped ? 1 : 0);
    const part = rest.subarray(0, size - this.#header.length);
    this.#header = Buffer.concat([this.#header, part]);
    if (this.#header.length === size) {
      const length = this.#header.readUInt32BE(size - LENGTH_BYTES);
      this.#bodyBytes = Math.max(0, length - LENGTH_BYTES);
      this.#missing = this.#bodyBytes;
    }
    return part.length;
  }

  #readBody(part: Buffer): number {
    const kept = part.subarray(0, HEAD_BYTES - this.#headBytes);
    if (kept.length > 0) this.#head.push(Buffer.from(kept));
    this.#headBytes += kept.length;
    this.#missing = (this.#missing ?? 0) - part.length;
    return part.length;
  }

  #complete(startsAt: number): Message {
    const isTyped = this.#header.length > LENGTH_BYTES;
    const message = {
      type: isTyped ? this.#header.toString('latin1', 0, 1) : '',
      bytes: this.#bodyBytes,
      head: Buffer.concat(this.#head),
      startsAt,
    };
    this.#header = Buffer.alloc(0);
    this.#head = [];
    this.#headBytes = 0;
    this.#missing = undefined;
    return message;
  }
}
