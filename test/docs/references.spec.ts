import { describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { PEERS } from '../../tools/package/manifest.js';
import {
  allDocuments,
  anchorsOf,
  coded,
  codeBlocks,
  prose,
  readDocument,
  ROOT,
  tableUnder,
} from './documents.js';

const documents = allDocuments();

const { scripts }: { scripts: Record<string, string> } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
);

/** What npm knows without a script of ours. */
const NPM_BUILT_IN = ['ci', 'i', 'init', 'install', 'audit', 'pack', 'pkg'];

const exists = (path: string): boolean => existsSync(join(ROOT, path));

describe('the documents', () => {
  it('link to files and headings that exist', () => {
    const broken = documents.flatMap((document) =>
      [...prose(document).matchAll(/\]\(([^)\s]+)\)/g)]
        .map(([, target = '']) => target)
        .filter((target) => !target.startsWith('https://'))
        .filter((target) => {
          const [file = '', anchor] = target.split('#');
          const path = file === '' ? document.path : posix.join(posix.dirname(document.path), file);
          if (!exists(path)) return true;
          return anchor !== undefined && !anchorsOf(readDocument(path)).includes(anchor);
        })
        .map((target) => `${document.path}: ${target}`),
    );
    expect(broken).toEqual([]);
  });

  it('name files and folders that exist', () => {
    const missing = documents.flatMap((document) =>
      [...prose(document).matchAll(/`((?:src|test|docs|migrations|tools|bench|\.ci)\/[^`\s]*)`/g)]
        .map(([, path = '']) => path)
        .filter((path) => !exists(path))
        .map((path) => `${document.path}: ${path}`),
    );
    expect(missing).toEqual([]);
  });

  it('call scripts that package.json has', () => {
    const unknown = documents.flatMap((document) =>
      codeBlocks(document, 'sh', 'bash')
        .flatMap(({ code }) => [...code.matchAll(/\bnpm (run )?([\w:-]+)/g)])
        .filter(([, run, name = '']) => {
          const isBuiltIn = run === undefined && NPM_BUILT_IN.includes(name);
          const isShort = run !== undefined || ['start', 'test'].includes(name);
          return !isBuiltIn && !(isShort && name in scripts);
        })
        .map(([command]) => `${document.path}: ${command}`),
    );
    expect(unknown).toEqual([]);
  });

  it('say `npm run` only with scripts that package.json has, in sentences too', () => {
    const unknown = documents.flatMap((document) =>
      [...prose(document).matchAll(/`npm run ([\w:-]+)/g)]
        .map(([, name = '']) => name)
        .filter((name) => !(name in scripts))
        .map((name) => `${document.path}: ${name}`),
    );
    expect(unknown).toEqual([]);
  });

  it('list the packages that an application brings, with the ranges of the package', () => {
    const rows = tableUnder(readDocument('docs/getting-started.md'), 'Install').slice(1);
    expect(Object.fromEntries(rows.map((row) => row.map(coded)))).toEqual(PEERS);
  });
});
