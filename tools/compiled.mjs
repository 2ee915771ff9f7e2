/**
 * What swc made of a source, kept over the ends of processes: the tests start some hundred, and to compile the
 * library anew took each of them longer than everything else. There is one file for each source.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SWC_OPTIONS } from './swc-options.mjs';

const require = createRequire(import.meta.url);
const FOLDER = fileURLToPath(new URL('../node_modules/.cache/swc-loader', import.meta.url));
const HEAD_CHARS = 64;

const sha256 = (text) => createHash('sha256').update(text).digest('hex');

const { version } = require('@swc/core/package.json');
const HOW = JSON.stringify([version, SWC_OPTIONS]);

/** @param source what `filename` holds, or holds with patches */
export function compiled(source, filename) {
  const head = sha256(JSON.stringify([HOW, filename, source]));
  const path = join(FOLDER, sha256(filename));
  const kept = read(path);
  if (kept?.startsWith(head)) return kept.slice(HEAD_CHARS);
  // Only here: it takes a while to load.
  const { transformSync } = require('@swc/core');
  const { code } = transformSync(source, { ...SWC_OPTIONS, filename, swcrc: false });
  keep(path, head + code);
  return code;
}

function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** As a whole, as processes read and write beside each other. */
function keep(path, text) {
  try {
    mkdirSync(FOLDER, { recursive: true });
    writeFileSync(`${path}.${process.pid}`, text);
    renameSync(`${path}.${process.pid}`, path);
  } catch {
    // Where nothing can be kept, it is compiled each time.
  }
}
