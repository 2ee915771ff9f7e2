import { expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { PEERS, TYPEORM } from '../../tools/package/manifest.js';
import {
  allDocuments,
  anchorsOf,
  coded,
  codeBlocks,
  type Document,
  prose,
  readDocument,
  ROOT,
  tableUnder,
} from './documents.js';

const { scripts }: { scripts: Record<string, string> } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
);

/** What npm knows without a script of ours. */
const NPM_BUILT_IN = ['ci', 'i', 'init', 'install', 'audit', 'pack', 'pkg'];

const exists = (path: string): boolean => existsSync(join(ROOT, path));

function leadsSomewhere(target: string, { path: from }: Document): boolean {
  const [file = '', anchor] = target.split('#');
  const path = file === '' ? from : posix.join(posix.dirname(from), file);
  return exists(path) && (anchor === undefined || anchorsOf(readDocument(path)).includes(anchor));
}

const shellOf = (document: Document): string =>
  codeBlocks(document, 'sh', 'bash')
    .map(({ code }) => code)
    .join('');

const isCommand = (command: string): boolean =>
  ['start', 'test'].includes(command) ? command in scripts : NPM_BUILT_IN.includes(command);

it.each<[string, (d: Document) => string, RegExp, (found: string, d: Document) => boolean]>([
  ['link to what exists', prose, /\]\(((?!https:\/\/)[^)\s]+)\)/g, leadsSomewhere],
  [
    'name files and folders that exist',
    prose,
    /`((?:src|test|docs|migrations|tools|bench|\.ci)\/[^`\s]*)`/g,
    exists,
  ],
  [
    'say `npm run` with scripts that exist',
    prose,
    /`npm run ([\w:-]+)/g,
    (name) => name in scripts,
  ],
  ['run scripts that exist', shellOf, /\bnpm run ([\w:-]+)/g, (name) => name in scripts],
  ['run what npm knows', shellOf, /\bnpm (?!run )([\w:-]+)/g, isCommand],
])('the documents %s', (_rule, textOf, pattern, isRight) => {
  const found = allDocuments().flatMap((document) =>
    [...textOf(document).matchAll(pattern)].map(([, each = '']) => ({
      path: document.path,
      each,
      isRight: isRight(each, document),
    })),
  );
  expect(found.length).toBeGreaterThan(0);
  expect(found.filter((each) => !each.isRight)).toEqual([]);
});

it('the documents list the packages that an application brings, with the ranges of the package', () => {
  const rows = tableUnder(readDocument('docs/getting-started.md'), 'Install').slice(1);
  expect(Object.fromEntries(rows.map((row) => row.map(coded)))).toEqual({ ...PEERS, ...TYPEORM });
});
