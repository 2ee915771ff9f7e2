import ts from 'typescript';

/** A piece of code that runs from its beginning when it is reached. */
export interface Region {
  start: number;
  end: number;
  no: number;
}

/** A text to be inserted. */
export type Mark = readonly [offset: number, text: string];

export interface Marked {
  regions: Region[];
  /** The last first, so that the offsets of the others stay true. */
  marks: Mark[];
}

/**
 * Where a source has to say that it was reached: at the beginning of each block, case and expression of an arrow function,
 * and as a whole, at its end.
 */
export function regionsIn(file: string, text: string): Marked {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const regions: Region[] = [{ start: 0, end: text.length, no: 0 }];
  const marks: Mark[] = [[text.length, `\n${recorderOf(file)}\n__reached(0);\n`]];
  const region = (of: ts.Node): number => {
    const no = regions.length;
    regions.push({ start: of.getStart(source), end: of.end, no });
    return no;
  };
  const around = (node: ts.Node, before: (no: number) => string, after: string): void => {
    marks.push([node.getStart(source), before(region(node))], [node.end, after]);
  };
  const single = (node: ts.Statement | undefined): void => {
    if (node !== undefined && !ts.isBlock(node) && !ts.isIfStatement(node))
      around(node, (no) => `{ __reached(${no}); `, ' }');
  };
  const visit = (node: ts.Node): void => {
    if (travelsAsText(node, text)) return;
    if (ts.isBlock(node)) {
      marks.push([node.getStart(source) + 1, ` __reached(${region(node)}); `]);
    } else if (ts.isCaseOrDefaultClause(node) && node.statements[0] !== undefined) {
      marks.push([node.statements[0].getStart(source), `__reached(${region(node)}); `]);
    } else if (ts.isArrowFunction(node) && !ts.isBlock(node.body)) {
      around(node.body, (no) => `(__reached(${no}), `, ')');
    } else if (ts.isIfStatement(node)) {
      single(node.thenStatement);
      single(node.elseStatement);
    } else if (ts.isIterationStatement(node, false)) single(node.statement);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return { regions, marks: inserted(marks) };
}

/** A function that runs elsewhere, without its module: it is reached as its source is. */
const travelsAsText = (node: ts.Node, text: string): boolean =>
  ts.isFunctionDeclaration(node) &&
  node.name !== undefined &&
  text.includes(`${node.name.text}.toString()`);

/** At one offset, what ends there comes before what begins, and of what begins the outer one first. */
function inserted(marks: readonly Mark[]): Mark[] {
  const numbered = marks.map((mark, index) => ({ mark, index, ends: /^[ ]?[)}]$/.test(mark[1]) }));
  return numbered
    .toSorted((a, b) => {
      if (a.mark[0] !== b.mark[0]) return b.mark[0] - a.mark[0];
      if (a.ends !== b.ends) return a.ends ? 1 : -1;
      return a.ends ? a.index - b.index : b.index - a.index;
    })
    .map(({ mark }) => mark);
}

/** Says each number once, in a file: a process may be killed at any time. */
const recorderOf = (file: string): string => `
function __reached(no) {
  const { REACHED_FILE } = process.env;
  if (REACHED_FILE === undefined) return;
  const all = (globalThis[Symbol.for('nestjs-delay-queue.test.reached')] ??= new Set());
  const line = ${JSON.stringify(file)} + ' ' + no + '\\n';
  if (all.has(line)) return;
  all.add(line);
  process.getBuiltinModule('node:fs').appendFileSync(REACHED_FILE, line);
}`;

/** That of the innermost region. */
export function regionAt(regions: readonly Region[], { start }: { start: number }): number {
  const holding = regions.filter((each) => each.start <= start && start < each.end);
  const sizes = holding.toSorted((a, b) => a.end - a.start - (b.end - b.start));
  return sizes[0]?.no ?? -1;
}
