import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, relative, sep } from 'node:path';
import { ALLOWED_IMPORTS, FOLDERS, OPTIONAL_PEERS } from './manifest.js';

/** `from '…'`, `import('…')`, `require('…')`, and an import for its effects alone. */
const SPECIFIER = /(?:\bfrom |\bimport\(|\brequire\(|^import )['"]([^'"]+)['"]/gm;

/** Declarations speak of fewer packages: with `pg` in one, users would need its types as well. */
const ALLOWED_IN_DECLARATIONS = ['@nestjs/common', 'reflect-metadata', 'typeorm'];

/** What the package exports: files of the library, without their ending. */
export const ENTRIES = ['index', ...FOLDERS.map((folder) => `${folder}/index`)];

/** Leaves the declarations that the entries lead to; nobody can see the others. */
export function dropUnseenDeclarations(library: string): void {
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const specifier of specifiersOf(file)) {
      if (specifier.startsWith('.')) {
        visit(join(dirname(file), specifier.replace(/\.js$/, '.d.ts')));
      }
    }
  };
  for (const entry of ENTRIES) visit(join(library, `${entry}.d.ts`));
  for (const file of filesIn(library, '.d.ts')) if (!seen.has(file)) rmSync(file);
}

/** @throws Error when a compiled file asks for a package that nobody promised to bring */
export function checkImports(library: string): void {
  for (const file of filesIn(library, '')) {
    const allowed = [
      ...(file.endsWith('.d.ts') ? ALLOWED_IN_DECLARATIONS : ALLOWED_IMPORTS),
      ...optionalFor(relative(library, file)),
    ];
    for (const specifier of specifiersOf(file)) {
      const isFine = specifier.startsWith('.') || isBuiltin(specifier);
      if (!isFine && !allowed.includes(specifier)) {
        throw new Error(`${file} imports ${specifier}, which the package does not ask for`);
      }
    }
  }
}

/** An entry that an application does not import may ask for what that application lacks. */
const optionalFor = (file: string): string[] =>
  Object.entries(OPTIONAL_PEERS).flatMap(([folder, peers]) =>
    file.split(sep)[0] === folder ? Object.keys(peers) : [],
  );

const specifiersOf = (file: string): string[] =>
  [...readFileSync(file, 'utf8').matchAll(SPECIFIER)].map(([, specifier = '']) => specifier);

const filesIn = (folder: string, ending: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true, encoding: 'utf8' })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => join(entry.parentPath, entry.name));
