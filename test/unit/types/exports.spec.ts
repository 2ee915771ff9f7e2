import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { Declarations } from '../../../tools/api-tables/declarations.js';
import { docOf } from '../../../tools/api-tables/docstring.js';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const OURS = /^nestjs-delay-queue(?:\/testing)?$/;
const MUST_NOT_COMPILE = /@ts-expect-error/;

/** Nest calls them. */
const HOOKS = new Set([
  'onModuleInit',
  'onApplicationBootstrap',
  'beforeApplicationShutdown',
  'onApplicationShutdown',
]);

const declarations = new Declarations();

/** Each export by name, and each method of an exported class as `Class.method`. */
const EXPORTS = [...declarations.exported].flatMap(([name, declaration]) => [
  name,
  ...(ts.isClassDeclaration(declaration) ? methodsOf(declaration) : []).map(
    (method) => `${name}.${method}`,
  ),
]);

function methodsOf({ members }: ts.ClassDeclaration): string[] {
  const names = members
    .filter((member) => ts.isMethodDeclaration(member) && !ts.isPrivateIdentifier(member.name))
    .filter((member) => !docOf(member).tags.has('internal'))
    .map(({ name }) => name?.getText() ?? '');
  return [...new Set(names)].filter((name) => !HOOKS.has(name));
}

/** What the files beside this one use of the library, where it has to compile and where it must not. */
class Uses {
  readonly right = new Set<string>();
  readonly wrong = new Set<string>();

  constructor(file: string, source: string) {
    const parsed = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
    const imported = new Set<string>();
    /** Of which class a name is, as it is declared somewhere in the file. */
    const classes = new Map<string, string>();
    const visit = (node: ts.Node, part: ts.Node): void => {
      if (ts.isImportDeclaration(node)) {
        if (!OURS.test((node.moduleSpecifier as ts.StringLiteral).text)) return;
        for (const { name } of importsOf(node)) imported.add(name.text);
        return;
      }
      const own = isPart(node) ? node : part;
      if (ts.isIdentifier(node) && imported.has(node.text)) this.#add(node.text, own);
      if (ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.expression)) {
        const owner = classes.get(node.expression.text) ?? node.expression.text;
        if (imported.has(owner)) this.#add(`${owner}.${node.name.text}`, own);
      }
      ts.forEachChild(node, (child) => visit(child, own));
    };
    const declare = (node: ts.Node): void => {
      const found = classOfVariable(node);
      if (found !== undefined) classes.set(...found);
      ts.forEachChild(node, declare);
    };
    declare(parsed);
    visit(parsed, parsed);
  }

  /** A part below its own `@ts-expect-error` is wrong, one with such a line inside has both. */
  #add(name: string, part: ts.Node): void {
    const text = part.getFullText();
    const before = text.slice(0, part.getStart() - part.getFullStart());
    const isWrong = MUST_NOT_COMPILE.test(before);
    if (!isWrong) this.right.add(name);
    if (isWrong || MUST_NOT_COMPILE.test(part.getText())) this.wrong.add(name);
  }
}

/** The smallest thing that has a line of its own. */
const isPart = (node: ts.Node): boolean =>
  ts.isStatement(node) ||
  ts.isClassElement(node) ||
  ts.isPropertyAssignment(node) ||
  (node.parent !== undefined &&
    ts.isArrayLiteralExpression(node.parent) &&
    node.parent.elements.includes(node as ts.Expression));

const importsOf = ({ importClause }: ts.ImportDeclaration): readonly ts.ImportSpecifier[] => {
  const bindings = importClause?.namedBindings;
  return bindings !== undefined && ts.isNamedImports(bindings) ? bindings.elements : [];
};

/** `delays: DelayService`, or `events = new DelayEvents()`. */
function classOfVariable(node: ts.Node): [variable: string, className: string] | undefined {
  if (!ts.isParameter(node) && !ts.isVariableDeclaration(node)) return undefined;
  const { initializer, type } = node;
  const made = initializer && ts.isNewExpression(initializer) ? initializer.expression : undefined;
  const of = type && ts.isTypeReferenceNode(type) ? type.typeName : made;
  return of === undefined ? undefined : [node.name.getText(), of.getText()];
}

const files = readdirSync(HERE).filter((file) => !import.meta.url.endsWith(file));
const uses = files.map((file) => new Uses(file, readFileSync(`${HERE}${file}`, 'utf8')));

const untested = (kind: 'right' | 'wrong'): string[] =>
  EXPORTS.filter((name) => !uses.some((file) => file[kind].has(name)));

describe('what the package exports', () => {
  it('has a type test here: what compiles, of each type, function, class and method', () => {
    expect(untested('right')).toEqual([]);
  });

  it('has one with @ts-expect-error: what does not compile', () => {
    expect(untested('wrong')).toEqual([]);
  });

  it('is told from what is not used, and from other classes', () => {
    const { right, wrong } = new Uses(
      'a.ts',
      `
      import { DelayAdmin, DelayName, DelayService, type DelayTarget } from 'nestjs-delay-queue';
      const of = (delays: DelayService, admin: DelayAdmin) => {
        // @ts-expect-error -- no key
        delays.cancel('a');
        return [
          admin.cancel([]),
          // @ts-expect-error -- no name
          delays.find(),
        ];
      };
      // @ts-expect-error -- no name
      const name: DelayName = 5;
      `,
    );
    expect([...right]).toEqual(['DelayService', 'DelayAdmin', 'DelayAdmin.cancel']);
    expect([...wrong].toSorted()).toEqual([
      'DelayAdmin',
      'DelayName',
      'DelayService',
      'DelayService.cancel',
      'DelayService.find',
    ]);
  });
});
