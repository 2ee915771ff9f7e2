import ts from 'typescript';
import type { Declarations, Member } from './declarations.js';
import { type Doc, docOf } from './docstring.js';
import { methodsOf } from './methods.js';

/** The first row is the header. */
export type Table = string[][];

/** The tables of `docs/api.md`, by what stands in their markers. */
export const TABLES: Record<string, (declarations: Declarations) => Table> = {
  methods: (declarations) => methodTable(declarations, 'DelayService'),
  administration: (declarations) => methodTable(declarations, 'DelayAdmin'),
  worker: (declarations) => methodTable(declarations, 'DelayWorker'),
  health: (declarations) => methodTable(declarations, 'DelayHealth'),
  'health-options': (declarations) => optionTable(declarations, 'HealthOptions'),
  filters: (declarations) => [
    ['filter', 'matches'],
    ...rows(declarations.members('DelayFilter'), said),
  ],
  'handler-options': (declarations) => optionTable(declarations, 'OnDelayBatchOptions'),
  'repeat-options': (declarations) => optionTable(declarations, 'RepeatDelayOptions'),
  'repeat-end': (declarations) => optionTable(declarations, 'RepeatEnd'),
  options: (declarations) => optionTable(declarations, 'DelayQueueOptions'),
  errors: (declarations) => [['code', 'class', 'when'], ...errorRows(declarations)],
  events: (declarations) => [
    ['event', 'when'],
    ...rows(declarations.members('DelayEventMap'), said),
  ],
};

function methodTable(declarations: Declarations, className: string): Table {
  const methods = methodsOf(declarations, className).map(({ name, does, calls, answers }) => [
    calls.map(code).join('<br>'),
    needed(does, name),
    needed(answers, `what ${name} answers (@returns)`),
  ]);
  return [['method', 'what it does', 'answers'], ...methods];
}

const optionTable = (declarations: Declarations, name: string): Table => [
  ['option', 'default', 'range', 'meaning'],
  ...rows(declarations.members(name), (doc, option) => [
    defaultOf(doc),
    doc.tags.get('range') ?? '',
    ...said(doc, option),
  ]),
];

const rows = (members: Member[], cells: (doc: Doc, name: string) => string[]): Table =>
  members.map(({ name, doc }) => [code(name), ...cells(doc, name)]);

const said = (doc: Doc, name: string): string[] => [needed(doc.text, name) + pageOf(doc)];

/** A value is code, as editors show it; words are words: `the module's`. */
function defaultOf({ tags }: Doc): string {
  const value = tags.get('default');
  if (value === undefined) return '';
  return value.startsWith('the ') ? value : code(value);
}

/** `@see docs/recipes/failures.md#abort-running-work`, as it is found from `docs/api.md`. */
function pageOf({ tags }: Doc): string {
  const page = tags.get('see');
  if (page === undefined) return '';
  const target = page.replace(/^docs\/(?:api\.md(?=#))?/, '');
  return ` ([${target.startsWith('recipes/') ? 'recipe' : 'more'}](${target}))`;
}

function errorRows({ exported }: Declarations): Table {
  return [...exported.values()]
    .filter((declaration): declaration is ts.ClassDeclaration => ts.isClassDeclaration(declaration))
    .flatMap((declaration) => {
      const field = declaration.members.find((member) => member.name?.getText() === 'code');
      const isError = field && ts.isPropertyDeclaration(field) && field.initializer;
      if (!isError || !ts.isStringLiteral(isError)) return [];
      const name = declaration.name?.text ?? '';
      return [[code(isError.text), code(name), ...said(docOf(declaration), name)]];
    });
}

const code = (text: string): string => `\`${text}\``;

function needed(text: string, what: string): string {
  if (text === '') throw new Error(`no docstring says ${what}`);
  return text;
}
