/**
 * `npm run house`: how large the library is and how it is built, from its code alone, beside what we want. It fails
 * for nothing: it shows where a change has gone. `npm run files:passed -- --functions` counts what one delay passes.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const LIBRARY = 'src/delay-queue/';
/** Folders that look at, steer or decorate the core; `dashboard` is counted apart. */
const RING = ['ops', 'cli', 'testing', 'opentelemetry', 'adapters', 'dashboard'];
/** What the ring may import of the core: its words, its diagnosis and its port; and the entry that puts core and ring together. */
const PORT = /^(core\/(index|diagnosis|ops)|index)\.ts$/;

const filesIn = (folder, endings) =>
  readdirSync(path.join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && endings.some((ending) => entry.name.endsWith(ending)))
    .map((entry) => path.relative(ROOT, path.join(entry.parentPath, entry.name)))
    .filter((file) => !/(^|\/)(node_modules|dist|generated|\.cache)\//.test(file));

const read = (file) => readFileSync(path.join(ROOT, file), 'utf8');
const linesOf = (text) => text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
const sum = (numbers) => numbers.reduce((all, each) => all + each, 0);
const rawLines = (files) => sum(files.map((file) => linesOf(read(file))));

/** A file of the library, parsed. */
class Source {
  constructor(file) {
    this.file = file;
    this.text = read(file);
    this.lines = linesOf(this.text);
    this.tree = ts.createSourceFile(file, this.text, ts.ScriptTarget.Latest, true);
    this.inLibrary = file.slice(LIBRARY.length);
    [this.folder] = this.inLibrary.includes('/') ? this.inLibrary.split('/') : ['.'];
  }

  get isRing() {
    return RING.includes(this.folder);
  }

  /** The entry and the module are neither: they put core and ring together. */
  get isCore() {
    return this.folder === 'core';
  }

  /** Files of the library that it imports or exports from. */
  get imports() {
    const found = [];
    for (const { moduleSpecifier } of this.tree.statements) {
      if (moduleSpecifier === undefined || !moduleSpecifier.text.startsWith('.')) continue;
      found.push(path.join(path.dirname(this.file), moduleSpecifier.text).replace(/\.js$/, '.ts'));
    }
    return found;
  }

  get importCount() {
    return this.tree.statements.filter(ts.isImportDeclaration).length;
  }

  /** Where its main class begins, as a share of its lines: the longest one, if it is a quarter of the file. */
  get mainClassAt() {
    const classes = this.tree.statements.filter(ts.isClassDeclaration);
    const [main] = classes.toSorted((one, other) => lengthOf(other) - lengthOf(one));
    if (main === undefined || lengthOf(main) < this.text.length / 4) return undefined;
    return this.tree.getLineAndCharacterOfPosition(main.getStart()).line / this.lines;
  }

  walk(visit) {
    const go = (node) => {
      visit(node);
      ts.forEachChild(node, go);
    };
    go(this.tree);
  }
}

const lengthOf = ({ pos, end }) => end - pos;

const isFunction = (node) =>
  node !== undefined && (ts.isArrowFunction(node) || ts.isFunctionExpression(node));

/** Names of functions at the top of each file, and of types there. */
function namesOf(source) {
  const names = { functions: [], types: [] };
  for (const node of source.tree.statements) {
    if (ts.isFunctionDeclaration(node) && node.name) names.functions.push(node.name.text);
    else if (ts.isVariableStatement(node)) {
      for (const { name, initializer } of node.declarationList.declarations) {
        if (isFunction(initializer)) names.functions.push(name.getText());
      }
    } else if (
      ts.isInterfaceDeclaration(node) ||
      ts.isTypeAliasDeclaration(node) ||
      ts.isClassDeclaration(node)
    ) {
      if (node.name) names.types.push(node.name.text);
    }
  }
  return names;
}

const inSeveral = (lists) => {
  const counts = new Map();
  for (const list of lists) {
    for (const name of new Set(list)) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts.values()].filter((count) => count > 1).length;
};

/** The most parameters that a constructor takes. */
function constructorParameters(sources) {
  let most = 0;
  for (const source of sources) {
    source.walk((node) => {
      if (ts.isConstructorDeclaration(node)) most = Math.max(most, node.parameters.length);
    });
  }
  return most;
}

/** Fields of the worker that are maps by the id of a delay. */
function mapsById(sources) {
  let count = 0;
  for (const source of sources.filter(({ file }) => file.includes('core/worker/'))) {
    count += source.text.match(/#\w+ = new Map<number, /g)?.length ?? 0;
  }
  return count;
}

/** The longest way from import to import within the worker. */
function floors(sources) {
  const within = new Map(
    sources
      .filter(({ file }) => file.includes('core/worker/'))
      .map((source) => [source.file, source]),
  );
  const depths = new Map();
  const depthOf = (file) => {
    if (!depths.has(file)) {
      depths.set(file, 1);
      const below = within.get(file).imports.filter((each) => within.has(each));
      depths.set(file, 1 + Math.max(0, ...below.map(depthOf)));
    }
    return depths.get(file);
  };
  return Math.max(0, ...[...within.keys()].map(depthOf));
}

/** Names that the entry exports, those behind a star too. */
function exportedNames({ file, tree }) {
  const counts = tree.statements.map((statement) => {
    const isExported = statement.modifiers?.some(
      ({ kind }) => kind === ts.SyntaxKind.ExportKeyword,
    );
    if (!ts.isExportDeclaration(statement)) return isExported === true ? 1 : 0;
    const { exportClause, moduleSpecifier } = statement;
    if (exportClause !== undefined) return exportClause.elements.length;
    const from = path.join(path.dirname(file), moduleSpecifier.text).replace(/\.js$/, '.ts');
    return exportedNames(byFile.get(from));
  });
  return sum(counts);
}

const membersOf = (sources, name) => {
  for (const { tree } of sources) {
    const found = tree.statements.find(
      (node) => ts.isInterfaceDeclaration(node) && node.name.text === name,
    );
    if (found) return found.members.map((member) => member.name?.getText());
  }
  throw new Error(`the library has no interface ${name}`);
};

/** In how many files the word appears that appears in most. */
function mostFiles(sources, words) {
  const counts = words.map((word) => {
    const pattern = new RegExp(`\\b${word}\\b`);
    return [word, sources.filter(({ text }) => pattern.test(text)).length];
  });
  const [word, count] = counts.reduce((most, each) => (each[1] > most[1] ? each : most));
  return `${count} (${word})`;
}

/** Columns and fields that are no ordinary words. */
const COLUMNS = [
  'due_at',
  'wake_at',
  'leased_until',
  'leased_by',
  'max_attempts',
  'group_id',
  'created_at',
  'last_error',
];
const isOrdinary = (field) =>
  ['id', 'name', 'key', 'group', 'headers', 'error', 'state'].includes(field);

const sources = filesIn(LIBRARY, ['.ts', '.tsx']).map((file) => new Source(file));
const byFile = new Map(sources.map((source) => [source.file, source]));
const core = sources.filter(({ isCore }) => isCore);
const withoutDashboard = sources.filter(({ folder }) => folder !== 'dashboard');
const names = withoutDashboard.map(namesOf);
const functions = names.flatMap((each) => each.functions);
const ways = sources
  .flatMap((from) => from.imports.map((to) => [from, byFile.get(to)]))
  .filter(([, to]) => to);
const tests = filesIn('test', ['.ts', '.tsx', '.mjs']);
const specs = tests.filter((file) => file.endsWith('.spec.ts'));
const internal =
  /from '(?:\.\.\/)+src\/delay-queue\/(?!(?:testing\/|opentelemetry\/|adapters\/|dashboard\/)?index\.js')/;
const markdown = ['docs', 'examples'].flatMap((folder) => {
  try {
    return filesIn(folder, ['.md']);
  } catch {
    return [];
  }
});
const late = withoutDashboard.filter(({ mainClassAt = 0 }) => mainClassAt > 0.4);
const lines = (all) => sum(all.map((source) => source.lines));

const ROWS = [
  ['core: files', core.length, '≤ 110'],
  ['core: raw lines', lines(core), '≤ 22,000'],
  ['all without the dashboard: raw lines', lines(withoutDashboard), '≤ 29,000'],
  ['the dashboard: raw lines', lines(sources.filter(({ folder }) => folder === 'dashboard')), ''],
  ['imports from core to ring', ways.filter(([from, to]) => from.isCore && to.isRing).length, '0'],
  [
    'imports from ring to core past index and ops',
    ways.filter(([from, to]) => from.isRing && !to.isRing && !PORT.test(to.inLibrary)).length,
    '0',
  ],
  ['maps by the id of a delay in the worker', mapsById(sources), '1'],
  ['names that the main entry exports', exportedNames(byFile.get(`${LIBRARY}index.ts`)), '≤ 120'],
  ['options of the module', membersOf(sources, 'DelayQueueOptions').length, '≤ 20'],
  ['functions named …Of', functions.filter((name) => /[a-z]Of$/.test(name)).length, '≤ 40'],
  ['function names in several files', inSeveral(names.map((each) => each.functions)), '≤ 5'],
  ['type names in several files', inSeveral(names.map((each) => each.types)), '≤ 5'],
  ['parameters of a constructor, at most', constructorParameters(withoutDashboard), '5'],
  [
    'imports of a file, at most',
    Math.max(...withoutDashboard.map((each) => each.importCount)),
    '20',
  ],
  ['floors of the worker', floors(sources), '≤ 9'],
  ['files whose main class begins behind 40 %', late.length, '0'],
  ['files in which a column appears, at most', mostFiles(sources, COLUMNS), '≤ 12'],
  [
    'files in which a field of the filter appears, at most',
    mostFiles(
      sources,
      membersOf(sources, 'DelayFilter').filter((field) => !isOrdinary(field)),
    ),
    '≤ 3',
  ],
  ['specs that import internals', specs.filter((file) => internal.test(read(file))).length, '≤ 80'],
  ['lines of tests', rawLines(tests), '≤ 60,000'],
  ['lines of Markdown', rawLines([...markdown, 'README.md']), '≤ 7,000'],
  [
    'decision records',
    filesIn('docs/adr', ['.md']).filter((file) => /\/\d{4}-/.test(file)).length,
    '≤ 25',
  ],
  [
    'recipes',
    filesIn('docs/recipes', ['.md']).filter((file) => !/README/.test(file)).length,
    '≤ 18',
  ],
];

const shown = (value) => (typeof value === 'number' ? value.toLocaleString('en-US') : value);
const width = Math.max(...ROWS.map(([what]) => what.length));
for (const [what, now, wanted] of ROWS) {
  console.log(`${what.padEnd(width)}  ${shown(now).padStart(20)}  ${wanted}`);
}
if (process.argv.includes('--files')) {
  for (const { file, mainClassAt } of late)
    console.log(`${Math.round(mainClassAt * 100)} %  ${file}`);
}
