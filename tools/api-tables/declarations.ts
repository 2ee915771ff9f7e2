import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { type Doc, docOf } from './docstring.js';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** What the package exports. */
const DOORS = [
  'index',
  'testing/index',
  'opentelemetry/index',
  'adapters/index',
  'dashboard/index',
].map((entry) => `src/delay-queue/${entry}.ts`);

/** One property of an interface or of a type, with what its docstring says. */
export interface Member {
  name: string;
  doc: Doc;
  type: ts.TypeNode | undefined;
  isOptional: boolean;
}

/**
 * The public declarations, as they are written. Only the project's own files are read, and no types of packages: what
 * is asked here is what stands in the sources.
 */
export class Declarations {
  readonly #checker: ts.TypeChecker;
  readonly #exported = new Map<string, ts.Declaration>();

  constructor(doors: readonly string[] = DOORS.map((door) => join(ROOT, door))) {
    const program = ts.createProgram(doors, { noLib: true, types: [] }, hostOfSources());
    this.#checker = program.getTypeChecker();
    for (const door of doors) {
      const source = program.getSourceFile(door);
      const module = source && this.#checker.getSymbolAtLocation(source);
      if (module === undefined) throw new Error(`${door} exports nothing`);
      for (const symbol of this.#checker.getExportsOfModule(module)) {
        const [declaration] = this.#resolved(symbol).declarations ?? [];
        if (declaration !== undefined) this.#exported.set(symbol.name, declaration);
      }
    }
  }

  /** All that is exported, by name. */
  get exported(): ReadonlyMap<string, ts.Declaration> {
    return this.#exported;
  }

  classOf(name: string): ts.ClassDeclaration {
    const found = this.#exported.get(name);
    if (found === undefined || !ts.isClassDeclaration(found)) throw new Error(`no class ${name}`);
    return found;
  }

  /** The properties of an exported interface or type, each once, with those of all its parts. */
  members(name: string): Member[] {
    const found = this.#exported.get(name);
    if (found === undefined) throw new Error(`nothing exports ${name}`);
    return this.membersOf(found);
  }

  /** Of alternatives the first that says something of a property; what is `never` in it is left out. */
  membersOf(node: ts.Node): Member[] {
    const members = new Map<string, Member>();
    for (const element of this.#elements(node)) {
      if (!ts.isPropertySignature(element) || isNever(element.type)) continue;
      const name = element.name.getText();
      const isOptional = element.questionToken !== undefined;
      const member = { name, doc: docOf(element), type: element.type, isOptional };
      const known = members.get(name);
      if (known === undefined || known.doc.text === '') members.set(name, member);
    }
    return [...members.values()];
  }

  /** What a property of a type or of one of its alternatives may be, as texts: its verdicts. */
  wordsOf(node: ts.Node, property: string): string[] {
    const words = this.#elements(node).flatMap((element) =>
      ts.isPropertySignature(element) && element.name.getText() === property && element.type
        ? literalsOf(element.type)
        : [],
    );
    return [...new Set(words)];
  }

  #elements(node: ts.Node): ts.TypeElement[] {
    const all = (nodes: readonly ts.Node[]) => nodes.flatMap((each) => this.#elements(each));
    if (ts.isInterfaceDeclaration(node)) {
      const bases = (node.heritageClauses ?? []).flatMap(({ types }) => [...types]);
      return [...all(bases), ...node.members];
    }
    if (ts.isTypeAliasDeclaration(node)) return this.#elements(node.type);
    if (ts.isTypeLiteralNode(node)) return [...node.members];
    if (ts.isParenthesizedTypeNode(node)) return this.#elements(node.type);
    if (ts.isArrayTypeNode(node)) return this.#elements(node.elementType);
    if (ts.isUnionTypeNode(node) || ts.isIntersectionTypeNode(node)) return all(node.types);
    if (ts.isConditionalTypeNode(node)) return all([node.trueType, node.falseType]);
    if (ts.isTypeReferenceNode(node)) return this.#elementsOfName(node.typeName);
    if (ts.isExpressionWithTypeArguments(node)) return this.#elementsOfName(node.expression);
    return [];
  }

  #elementsOfName(name: ts.Node): ts.TypeElement[] {
    const symbol = this.#checker.getSymbolAtLocation(name);
    const [declaration] = symbol ? (this.#resolved(symbol).declarations ?? []) : [];
    return declaration === undefined ? [] : this.#elements(declaration);
  }

  #resolved(symbol: ts.Symbol): ts.Symbol {
    const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0;
    return isAlias ? this.#checker.getAliasedSymbol(symbol) : symbol;
  }
}

/** Finds the source of what is imported with `.js`, and nothing of packages. */
function hostOfSources(): ts.CompilerHost {
  const host = ts.createCompilerHost({}, true);
  host.resolveModuleNameLiterals = (literals, importer) =>
    literals.map(({ text }) => {
      if (!text.startsWith('.')) return { resolvedModule: undefined };
      const resolvedFileName = join(dirname(importer), text.replace(/\.js$/, '.ts'));
      return { resolvedModule: { resolvedFileName, extension: ts.Extension.Ts } };
    });
  return host;
}

const isNever = (type: ts.TypeNode | undefined): boolean =>
  type?.kind === ts.SyntaxKind.NeverKeyword;

function literalsOf(type: ts.TypeNode): string[] {
  if (ts.isUnionTypeNode(type)) return type.types.flatMap(literalsOf);
  return ts.isLiteralTypeNode(type) && ts.isStringLiteral(type.literal) ? [type.literal.text] : [];
}
