import { join, sep } from 'node:path';
import ts from 'typescript';
import { ENTRIES } from './library.js';

/**
 * Everything that a declaration mentions must have a name that users can import. Otherwise their own
 * declarations cannot be written: `export const OnClose = () => OnDelay('order.close')`.
 *
 * @throws Error that names what no entry exports
 */
export function checkSurface(library: string): void {
  const entries = ENTRIES.map((entry) => join(library, `${entry}.d.ts`));
  const program = ts.createProgram(entries, {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
  });
  const checker = program.getTypeChecker();
  const exported = new Set(entries.flatMap(exportsOf));
  const missing = new Set<string>();

  for (const symbol of exported) symbol.declarations?.forEach(visit);
  if (missing.size > 0) throw new Error(`no entry exports ${[...missing].join(', ')}`);

  function exportsOf(entry: string): ts.Symbol[] {
    const source = program.getSourceFile(entry);
    const module = source && checker.getSymbolAtLocation(source);
    if (module === undefined) throw new Error(`${entry} is no module`);
    return checker.getExportsOfModule(module).map((name) => original(name));
  }

  function visit(node: ts.Node): void {
    if (ts.isTypeReferenceNode(node)) look(node.typeName);
    if (ts.isTypeQueryNode(node)) look(node.exprName);
    ts.forEachChild(node, visit);
  }

  function look(name: ts.Node): void {
    const found = checker.getSymbolAtLocation(name);
    const symbol = found && original(found);
    if (symbol === undefined || exported.has(symbol)) return;
    if (symbol.declarations?.some((declaration) => isOurs(declaration))) missing.add(symbol.name);
  }

  /** Of the library itself, and no parameter of a type. */
  function isOurs(declaration: ts.Declaration): boolean {
    return (
      !ts.isTypeParameterDeclaration(declaration) &&
      declaration.getSourceFile().fileName.startsWith(library.replaceAll(sep, '/'))
    );
  }

  function original(symbol: ts.Symbol): ts.Symbol {
    return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  }
}
