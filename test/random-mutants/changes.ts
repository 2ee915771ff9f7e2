import ts from 'typescript';
import type { Change } from './change.js';
import { changesInSql } from './sql-changes.js';

type Found = Omit<Change, 'file'>;

const OPERATORS: ReadonlyMap<ts.SyntaxKind, string> = new Map([
  [ts.SyntaxKind.LessThanToken, '<='],
  [ts.SyntaxKind.LessThanEqualsToken, '<'],
  [ts.SyntaxKind.GreaterThanToken, '>='],
  [ts.SyntaxKind.GreaterThanEqualsToken, '>'],
  [ts.SyntaxKind.EqualsEqualsEqualsToken, '!=='],
  [ts.SyntaxKind.ExclamationEqualsEqualsToken, '==='],
  [ts.SyntaxKind.AsteriskToken, '/'],
  [ts.SyntaxKind.SlashToken, '*'],
  [ts.SyntaxKind.PlusToken, '-'],
  [ts.SyntaxKind.MinusToken, '+'],
  [ts.SyntaxKind.PlusEqualsToken, '-='],
  [ts.SyntaxKind.MinusEqualsToken, '+='],
  [ts.SyntaxKind.AmpersandAmpersandToken, '||'],
  [ts.SyntaxKind.BarBarToken, '&&'],
  [ts.SyntaxKind.QuestionQuestionEqualsToken, '='],
]);

const SWAPPED: Readonly<Record<string, string>> = {
  'Math.min': 'Math.max',
  'Math.max': 'Math.min',
  'Math.floor': 'Math.ceil',
  'Math.ceil': 'Math.floor',
  'Promise.all': 'Promise.race',
};

/** Methods of arrays whose call may be left out. */
const LEFT_OUT = new Set(['filter', 'slice', 'toSorted', 'toReversed', 'trim', 'unref']);

/** Numbers above are sizes and times, where one more or less means nothing. */
const COUNTED_MAX = 64;

const isText = (node: ts.Expression): boolean =>
  ts.isStringLiteralLike(node) ||
  ts.isTemplateExpression(node) ||
  (ts.isBinaryExpression(node) && (isText(node.left) || isText(node.right)));

/** What has no code of its own. */
const isPassedOver = (node: ts.Node): boolean =>
  ts.isTypeNode(node) ||
  ts.isImportDeclaration(node) ||
  ts.isExportDeclaration(node) ||
  ts.isInterfaceDeclaration(node) ||
  ts.isTypeAliasDeclaration(node) ||
  ts.isDecorator(node);

/** What a function answers is awaited by its caller, where nothing catches what it throws. */
function isJustAnswered(node: ts.AwaitExpression): boolean {
  if (!ts.isReturnStatement(node.parent)) return false;
  let around: ts.Node = node.parent;
  while (!ts.isFunctionLike(around)) {
    if (ts.isTryStatement(around)) return false;
    around = around.parent;
  }
  return true;
}

/** All small changes to a source that its syntax allows. */
export function changesIn(file: string, text: string): Change[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const isSql = /\/store\/(?:sql|tables)\/|\/testing\/travel\.store/.test(file);
  const found: Found[] = [];
  const visit = (node: ts.Node): void => {
    if (isPassedOver(node)) return;
    found.push(...changesAt(node, source));
    if (isSql && isTemplatePart(node)) found.push(...sqlAt(node, source));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found.map((change) => ({ file, ...change }));
}

type TemplatePart = ts.NoSubstitutionTemplateLiteral | ts.TemplateLiteralToken;

const isTemplatePart = (node: ts.Node): node is TemplatePart =>
  ts.isNoSubstitutionTemplateLiteral(node) ||
  ts.isTemplateHead(node) ||
  ts.isTemplateMiddle(node) ||
  ts.isTemplateTail(node);

function sqlAt(node: ts.Node, source: ts.SourceFile): Found[] {
  const start = node.getStart(source);
  return changesInSql(source.text.slice(start, node.end)).map((change) => ({
    ...change,
    start: start + change.start,
    end: start + change.end,
  }));
}

function changesAt(node: ts.Node, source: ts.SourceFile): Found[] {
  const textOf = (of: ts.Node): string => of.getText(source);
  const put = (of: ts.Node, kind: string, ...texts: string[]): Found[] =>
    texts
      .filter((to) => to !== textOf(of))
      .map((to) => ({ start: of.getStart(source), end: of.end, to, kind }));
  const condition = (of: ts.Expression): Found[] =>
    put(of, 'condition', `!(${textOf(of)})`, 'true', 'false');

  if (ts.isIfStatement(node)) return condition(node.expression);
  if (ts.isConditionalExpression(node)) return condition(node.condition);
  if (ts.isWhileStatement(node)) return put(node.expression, 'condition', 'false');
  if (ts.isBinaryExpression(node)) return binary(node, put, textOf);
  if (ts.isPrefixUnaryExpression(node)) return prefix(node, put, textOf);
  if (ts.isAwaitExpression(node))
    return isJustAnswered(node) ? [] : put(node, 'await dropped', textOf(node.expression));
  if (ts.isNumericLiteral(node)) return number(node, put);
  if (node.kind === ts.SyntaxKind.TrueKeyword) return put(node, 'truth', 'false');
  if (node.kind === ts.SyntaxKind.FalseKeyword) return put(node, 'truth', 'true');
  if (ts.isExpressionStatement(node)) return statement(node, put);
  if (ts.isCallExpression(node)) return call(node, put, textOf);
  if (ts.isPropertyAccessExpression(node) && node.questionDotToken)
    return put(node.questionDotToken, 'chain', '.');
  if (ts.isArrowFunction(node)) return arrow(node, put);
  if (ts.isMethodDeclaration(node) || ts.isFunctionDeclaration(node)) return early(node, put);
  return [];
}

type Put = (of: ts.Node, kind: string, ...texts: string[]) => Found[];
type TextOf = (of: ts.Node) => string;

function binary(node: ts.BinaryExpression, put: Put, textOf: TextOf): Found[] {
  const { left, right, operatorToken } = node;
  const { kind } = operatorToken;
  if (kind === ts.SyntaxKind.QuestionQuestionToken)
    return put(node, '?? dropped', textOf(left), textOf(right));
  if (kind === ts.SyntaxKind.PlusToken && (isText(left) || isText(right))) return [];
  const operator = OPERATORS.get(kind);
  if (operator === undefined) return [];
  const isLogic =
    kind === ts.SyntaxKind.AmpersandAmpersandToken || kind === ts.SyntaxKind.BarBarToken;
  const dropped = isLogic ? put(node, 'operand dropped', textOf(left), textOf(right)) : [];
  return [...put(operatorToken, 'operator', operator), ...dropped];
}

function prefix({ operator, operand }: ts.PrefixUnaryExpression, put: Put, textOf: TextOf) {
  const isTaken =
    operator === ts.SyntaxKind.ExclamationToken || operator === ts.SyntaxKind.MinusToken;
  return isTaken ? put(operand.parent, 'sign dropped', textOf(operand)) : [];
}

function number(node: ts.NumericLiteral, put: Put): Found[] {
  if (ts.isPropertyAssignment(node.parent) && node.parent.name === node) return [];
  if (ts.isElementAccessExpression(node.parent)) return [];
  const value = Number(node.text);
  const isCounted = Number.isInteger(value) && value <= COUNTED_MAX;
  const near = isCounted ? [value + 1, ...(value > 0 ? [value - 1] : [])] : [value / 10];
  return put(node, 'number', ...[...near, value * 10, 0].map(String));
}

function statement(node: ts.ExpressionStatement, put: Put): Found[] {
  let { expression } = node;
  if (ts.isVoidExpression(expression) || ts.isAwaitExpression(expression))
    expression = expression.expression;
  if (ts.isCallExpression(expression)) {
    return expression.expression.kind === ts.SyntaxKind.SuperKeyword
      ? []
      : put(node, 'call removed', ';');
  }
  return put(node, 'statement removed', ';');
}

function call(node: ts.CallExpression, put: Put, textOf: TextOf): Found[] {
  const { expression, questionDotToken } = node;
  if (questionDotToken) return put(questionDotToken, 'chain', '');
  const swapped = SWAPPED[textOf(expression)];
  if (swapped !== undefined) return put(expression, 'function swapped', swapped);
  const isLeftOut = ts.isPropertyAccessExpression(expression) && LEFT_OUT.has(expression.name.text);
  return isLeftOut ? put(node, 'step left out', textOf(expression.expression)) : [];
}

/** A listener, say, that does nothing. */
function arrow({ body }: ts.ArrowFunction, put: Put): Found[] {
  const inner = ts.isVoidExpression(body) ? body.expression : body;
  return ts.isCallExpression(inner) && inner.arguments.length < 2
    ? put(body, 'call removed', 'undefined')
    : [];
}

/** Only what answers nothing. */
function early(node: ts.MethodDeclaration | ts.FunctionDeclaration, put: Put): Found[] {
  const { body, type } = node;
  if (body === undefined || !/^(?:void|Promise<void>)$/.test(type?.getText() ?? '')) return [];
  const [first] = body.statements;
  return first === undefined ? [] : put(first, 'returns early', `return;`);
}
