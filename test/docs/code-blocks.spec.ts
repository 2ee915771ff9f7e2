import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { projectOptions } from './compile.js';
import { allDocuments, codeBlocks, type Document, readDocument, ROOT } from './documents.js';
import { unpack } from './unpacked.js';

const LONG_MS = 240_000;

/** Pages whose code `npm run test:apps` and `test:orms` compile and run, with packages that are not here. */
const APPLICATIONS: Record<string, string> = {
  'docs/vendure.md': 'test/apps/vendure/src',
  'docs/orms.md': 'test/orms',
};

/** Names with payloads that any of these documents declares. */
function declaredIn(documents: readonly Document[]): string[] {
  const code = documents.flatMap((document) => codeBlocks(document, 'ts').map((each) => each.code));
  const declarations = code.flatMap((each) => each.match(/interface \w+Payloads \{[^]*?\n {2}\}/g));
  return declarations.flatMap((each) => each?.match(/(?<=^ {4}')[^']+(?=':)/gm) ?? []);
}

/**
 * What the compiler says about the blocks of all documents, as the project's own files are compiled: in one
 * program, which takes a fifth of the time. So each document's names get a mark, and are declared for it alone.
 */
function complaints(documents: readonly Document[]): string[] {
  const names = declaredIn(documents)
    .join('|')
    .replaceAll('.', String.raw`\.`);
  const unpacked = documents.map(({ path, text }) =>
    unpack({ path, text: text.replaceAll(new RegExp(`'(${names})'`, 'g'), `'$1 of ${path}'`) }),
  );
  try {
    const files = unpacked.flatMap((each) => each.files);
    const program = ts.createProgram(
      files.map(({ path }) => path),
      projectOptions(),
    );
    return files.flatMap(({ path, block }) => {
      const source = program.getSourceFile(path);
      const found = [
        ...program.getSyntacticDiagnostics(source),
        ...program.getSemanticDiagnostics(source),
      ];
      return found.map(({ messageText, start = 0 }) => {
        const line = (source?.getLineAndCharacterOfPosition(start).line ?? 0) + 1;
        return `${block}, line ${line}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
      });
    });
  } finally {
    for (const each of unpacked) each.remove();
  }
}

const written = (path: string, type: string, code: string): Document => ({
  path,
  text: `\`\`\`ts\nimport type { ${type} } from 'nestjs-delay-queue';\n${code}\`\`\`\n`,
});

const declaring = (payload: string): string =>
  `declare module 'nestjs-delay-queue' {\n  interface DelayPayloads {\n    ${payload};\n  }\n}\n`;

const GIVEN = [
  written(
    'wrong-1.md',
    'DelayPayloads',
    `${declaring("'a.b': number")}export const payload: DelayPayloads['a.b'] = 'text';\n`,
  ),
  // Another page has declared it.
  written('wrong-2.md', 'DelayName', `export const name: DelayName = 'a.b';\n`),
  // A name of the sample shop, which a page uses that declares none.
  written(
    'shop.md',
    'DelayName',
    `${declaring('"receipt.confirm": null')}export type { DelayName };\n`,
  ),
];

it(
  'the code in the documents compiles, and what would not is told with its line',
  () => {
    const documents = allDocuments().filter(
      (document) => !(document.path in APPLICATIONS) && codeBlocks(document, 'ts').length > 0,
    );
    expect(documents.map(({ path }) => path)).toEqual(
      expect.arrayContaining([
        'README.md',
        'docs/getting-started.md',
        'docs/recipes/close-unpaid-orders.md',
      ]),
    );
    expect(complaints([...GIVEN, ...documents])).toEqual([
      expect.stringMatching(/^wrong-1\.md:2 \(line-2\.ts\), line 7: Type 'string'/),
      expect.stringMatching(/^wrong-2\.md:2 \(line-2\.ts\), line 2: Type '"a\.b of wrong-2\.md"'/),
    ]);
  },
  LONG_MS,
);

it.each(Object.entries(APPLICATIONS))('the code in %s is that of %s', (path, folder) => {
  const blocks = codeBlocks(readDocument(path), 'ts');
  expect(blocks.length).toBeGreaterThan(0);
  for (const { code } of blocks) {
    const [, file = '', shown] = /^\/\/ ([\w.-]+\.ts)\n([^]+)$/.exec(code) ?? [];
    expect(readFileSync(join(ROOT, folder, file), 'utf8')).toContain(shown);
  }
});
