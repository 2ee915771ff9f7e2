import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import ts from 'typescript';
import { projectOptions } from '../../docs/compile.js';

const FILE = fileURLToPath(new URL('handlers.ts', import.meta.url));

/** Of `nest new`, as of Nest 12. */
const NEST_NEW: ts.CompilerOptions = {
  strict: false,
  strictNullChecks: true,
  noImplicitAny: false,
  strictBindCallApply: false,
  noFallthroughCasesInSwitch: false,
};

/** Libraries are read and parsed once for all three. */
const host = ts.createCompilerHost(projectOptions());
const read = host.getSourceFile.bind(host);
const sources = new Map<string, ts.SourceFile | undefined>();
host.getSourceFile = (path, ...how) => {
  if (!sources.has(path)) sources.set(path, read(path, ...how));
  return sources.get(path);
};

it.each<[string, ts.CompilerOptions]>([
  ['strict', {}],
  ['what `nest new` writes', NEST_NEW],
  ['nothing that is strict', { strict: false, strictNullChecks: false, noImplicitAny: false }],
])('decorators take what fits, and nothing else, with %s', (_, how) => {
  const options = { ...projectOptions(), skipLibCheck: true, ...how };
  const program = ts.createProgram([FILE], options, host);
  const source = program.getSourceFile(FILE);
  const errors = program.getSemanticDiagnostics(source);
  expect(
    errors.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
  ).toEqual([]);
});
