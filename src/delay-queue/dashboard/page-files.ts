import type { IncomingMessage, ServerResponse } from 'node:http';
import { notFound, setHeaders } from './exchange.js';
import type { PageFile } from './page-assets.js';

/** The page, by name. Its names never change, so that two versions can stand behind one address. */
export type PageFiles = () => Promise<Readonly<Record<string, PageFile>>>;

/** Loaded when it is asked for: a program that serves no page does not have it in memory. */
export const builtPage: PageFiles = async () => (await import('./page-assets.js')).PAGE_FILES;

const unpacked = new WeakMap<PageFile, { gzip: Buffer; plain?: Buffer }>();

/** From memory; the browser asks each time whether it has changed. @throws Refusal */
export async function sendFile(
  files: PageFiles,
  name: string,
  { method, headers }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { [name]: file } = await files();
  if (file === undefined) throw notFound();
  setHeaders(response, {
    'content-type': file.type,
    'cache-control': 'no-cache',
    etag: file.etag,
    vary: 'accept-encoding',
  });
  // A proxy that packs what passes makes it weak, and a browser may know several.
  if (headers['if-none-match']?.includes(file.etag) === true) {
    response.statusCode = 304;
    response.end();
    return;
  }
  const { gzip, plain } = await unpack(file);
  const isPacked = /\bgzip\b/.test(headers['accept-encoding']?.toString() ?? '');
  if (isPacked) response.setHeader('content-encoding', 'gzip');
  const content = isPacked ? gzip : plain;
  response.setHeader('content-length', content.byteLength);
  response.end(method === 'HEAD' ? undefined : content);
}

async function unpack(file: PageFile): Promise<{ gzip: Buffer; plain: Buffer }> {
  const { gunzipSync } = await import('node:zlib');
  const known = unpacked.get(file) ?? { gzip: Buffer.from(file.gzip, 'base64') };
  unpacked.set(file, known);
  known.plain ??= gunzipSync(known.gzip);
  return { gzip: known.gzip, plain: known.plain };
}
