/** Messages of the Postgres protocol, as bytes. */
export function message(type: string, ...body: (string | number | Buffer)[]): Buffer {
  const bytes = Buffer.concat(
    body.map((part) => {
      if (typeof part === 'number') return int32(part);
      return typeof part === 'string' ? Buffer.from(`${part}\0`) : part;
    }),
  );
  return Buffer.concat([Buffer.from(type, 'latin1'), int32(bytes.length + 4), bytes]);
}

export const startup = (): Buffer => message('', 196_608, 'user', 'somebody', Buffer.from([0]));
export const query = (text: string): Buffer => message('Q', text);
export const parse = (text: string, name = ''): Buffer =>
  message('P', name, text, Buffer.from([0, 0]));
export const sync = (): Buffer => message('S');
export const complete = (tag: string): Buffer => message('C', tag);
export const ready = (): Buffer => message('Z', Buffer.from('I'));

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
