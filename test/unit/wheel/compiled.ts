import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

const compilerOptions: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  useDefineForClassFields: false,
};

/** One file and the library as JavaScript, for a process that may load no compiler. */
export interface Compiled {
  path: string;
  remove(): void;
}

/** @param file relative to the project's root; it may import the library and packages */
export function compile(file: string): Compiled {
  mkdirSync(join(ROOT, '.data'), { recursive: true });
  // Inside the project, from where packages are found.
  const folder = mkdtempSync(join(ROOT, '.data', 'compiled-'));
  const library = readdirSync(join(ROOT, 'src/delay-queue'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => join('src/delay-queue', path));
  const places = [file, ...library].map((path) => {
    const source = readFileSync(join(ROOT, path), 'utf8');
    const place = join(folder, path.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, ts.transpileModule(source, { compilerOptions }).outputText);
    return place;
  });
  return {
    path: relative(ROOT, places[0]!),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
