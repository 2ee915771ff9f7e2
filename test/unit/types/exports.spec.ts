import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { Declarations } from '../../../tools/api-tables/declarations.js';
import { docOf } from '../../../tools/api-tables/docstring.js';

const HERE = fileURLToPath(new URL('.', import.meta.url));

/** Nest calls them. */
const HOOKS = new Set([
  'onModuleInit',
  'onApplicationBootstrap',
  'beforeApplicationShutdown',
  'onApplicationShutdown',
]);

/** What an instance is called in the files beside this one. */
const INSTANCES: Record<string, string> = {
  DelayService: 'delays',
  DelayAdmin: 'admin',
  DelayEmitter: 'emitter',
  DelayEvents: 'events',
  DelayHealth: 'health',
  DelayStub: 'stub',
  DelayTesting: 'testing',
  DelayWorker: 'worker',
  WheelService: 'wheel',
};

/** Each export, and each method of an exported class: its name, and how its use looks. */
const EXPORTS = [...new Declarations().exported].flatMap(([name, declaration]) => [
  { name, use: new RegExp(`\\b${eitherOf(name)}\\b`) },
  ...(ts.isClassDeclaration(declaration) ? methodsOf(declaration) : []).map((method) => ({
    name: `${name}.${method}`,
    use: new RegExp(`\\b${eitherOf(name)}\\.${method}\\(`),
  })),
]);

function eitherOf(name: string): string {
  return `(?:${name}|${INSTANCES[name] ?? name})`;
}

function methodsOf({ members }: ts.ClassDeclaration): string[] {
  const names = members
    .filter((member) => ts.isMethodDeclaration(member) && !ts.isPrivateIdentifier(member.name))
    .filter((member) => !docOf(member).tags.has('internal'))
    .map(({ name }) => name?.getText() ?? '');
  return [...new Set(names)].filter((name) => !HOOKS.has(name));
}

const IMPORTS = /^import [^;]*;$/gm;
/** With the statement, or the head of the method, below it. */
const WRONG = /@ts-expect-error[^]*?(?:;|\{\}?)\n/g;
/** Nothing else compiles. */
const EXACT = /\bsame<[^;]*;/g;

const sources = readdirSync(HERE)
  .filter((file) => !import.meta.url.endsWith(file))
  .map((file) => readFileSync(`${HERE}${file}`, 'utf8').replaceAll(IMPORTS, ''));
const right = sources.map((source) => source.replaceAll(WRONG, '')).join('\n');
const wrong = sources.flatMap((source) => [...source.matchAll(WRONG), ...source.matchAll(EXACT)]);

const withoutUseIn = (text: string): string[] =>
  EXPORTS.filter(({ use }) => !use.test(text)).map(({ name }) => name);

describe('what the package exports', () => {
  it('has a type test here: what compiles, of each type, function, class and method', () => {
    expect(withoutUseIn(right)).toEqual([]);
  });

  it('has one with @ts-expect-error, or one that takes nothing else: what does not compile', () => {
    expect(withoutUseIn(wrong.join('\n'))).toEqual([]);
  });
});
