import { readdirSync, readFileSync } from 'node:fs';
import ts from 'typescript';

const LIBRARY = new URL('../../src/delay-queue/', import.meta.url);

/** A piece of SQL in a literal, between two places where something is put in. */
export interface Piece {
  file: string;
  text: string;
}

const STATEMENT = /^\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH|DROP|CREATE|LOCK)\s/;
const WRITTEN = /\.sql\.ts$|sql\/(parts|stats)\/.*\.ts$/;

/** Pieces of all statements in the library: those of its SQL files are written of nothing else. */
export function sqlInSources(): Piece[] {
  const files = readdirSync(LIBRARY, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.ts'));
  return files.flatMap((file) =>
    literalsOf(file)
      .filter((pieces) => WRITTEN.test(file) || STATEMENT.test(pieces[0] ?? ''))
      .flatMap((pieces) => pieces.map((text) => ({ file, text: text.trim() }))),
  );
}

/** And no word that says how to build a statement. */
export const isPiece = (text: string): boolean => text.length > 2 && /[^a-z ]/i.test(text);

function literalsOf(file: string): string[][] {
  const text = readFileSync(new URL(file, LIBRARY), 'utf8');
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: string[][] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isTypeNode(node)) return;
    if (ts.isTemplateExpression(node)) {
      found.push([node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)]);
    } else if (ts.isStringLiteralLike(node)) found.push([node.text]);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}
