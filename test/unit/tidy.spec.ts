import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const LIBRARY = fileURLToPath(new URL('../../src/delay-queue', import.meta.url));

/** One word, one thing: each word that is taken or gone, what to say instead, and where it may stand. */
const TAKEN: readonly { word: RegExp; instead: string; allowed?: RegExp }[] = [
  { word: /seats?|bookings?/, instead: 'reservation, admit' },
  { word: /pumps?/, instead: 'trigger' },
  { word: /chores?/, instead: 'recurring task' },
  {
    word: /alarms?/,
    instead: 'deadline',
    allowed: /^core\/timer-wheel\/|^queue-providers\.ts$/,
  },
  { word: /patien(?:ce|t)/, instead: 'lock wait' },
  { word: /placements?/, instead: 'new delay' },
  { word: /suspects?/, instead: 'stalled' },
  { word: /hungry/, instead: 'room' },
  // `Task` is public, and its values are labels of metrics.
  {
    word: /bury|buried|burial/,
    instead: 'dead letter',
    allowed: /^core\/tasks\/recurring-task\.ts$/,
  },
  { word: /settle[sd]?|settling/, instead: 'retry, write, decide, end' },
];

/** Of a promise; and the public word for what a dead letter's statement does. */
const ORDINARY = /allSettled|PromiseSettledResult|TaskHealth\(events, 'deadLetter'\)/g;

const files = readdirSync(LIBRARY, { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.ts'),
);

/** Identifiers and comments, taken apart at their humps: `mayStalled` is two words. */
const wordsOf = (text: string): string[] =>
  text
    .replaceAll(ORDINARY, '')
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/);

const textOf = (file: string): string => readFileSync(join(LIBRARY, file), 'utf8');

describe('the words of the library', () => {
  it.each(TAKEN)('$word is taken: $instead', ({ word, allowed }) => {
    const whole = new RegExp(`^(?:${word.source})$`);
    const found = files
      .filter((file) => !allowed?.test(file))
      .filter((file) => wordsOf(textOf(file)).some((each) => whole.test(each)));
    expect(found).toEqual([]);
  });

  it('are told apart where an identifier is made of several', () => {
    expect(wordsOf('this.#freeSlots(allSettled) // a pump')).toEqual(
      expect.arrayContaining(['free', 'slots', 'pump']),
    );
  });
});

const TESTS = fileURLToPath(new URL('..', import.meta.url));

const IMPORTED = /^import (?:type )?([^;]*?) from /gms;
/** Of a class: a spy, a new value, or a name for its prototype, by which it can be given one. */
const PATCHES = (name: string): RegExp =>
  new RegExp(
    [
      String.raw`\(\s*${name}\.prototype,`,
      String.raw`\b${name}\.prototype(?:\.\w+|\[.*?\])\s*=[^=]`,
      String.raw`=\s*${name}\.prototype\b`,
      String.raw`\bprototype\b.*\}\s*=\s*${name}\b`,
    ].join('|'),
  );

/** The imported classes whose prototypes that text patches. */
function patchedIn(text: string): string[] {
  const imported = [...text.matchAll(IMPORTED)].flatMap(([, names]) => names!.match(/\b[A-Z]\w*/g));
  return [...new Set(imported)].filter(
    (name) => name !== null && PATCHES(name).test(text),
  ) as string[];
}

describe('tests', () => {
  it('patch no class, which all nodes of the process share: they use Parts of one node', () => {
    const patching = readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.includes('node_modules'))
      .flatMap((file) =>
        patchedIn(readFileSync(join(TESTS, file), 'utf8')).map((name) => `${file}: ${name}`),
      );
    expect(patching).toEqual([]);
  });

  it.each([
    `jest.spyOn(Client.prototype, 'query')`,
    'Client.prototype.query = function query() {}',
    'Client.prototype[method] = held',
    'const { query } = Client.prototype',
    'const { prototype } = Client',
    'Object.defineProperty(Client.prototype, name, {})',
  ])('are refused with %s', (line) => {
    expect(patchedIn(`import { Client } from 'pg';\n${line};\n`)).toEqual(['Client']);
  });
});

const json = (path: string): any =>
  JSON.parse(readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8'));
const lockedIn = (folder: string): [name: string, locked: { hasInstallScript?: boolean }][] =>
  Object.entries<{ hasInstallScript?: boolean }>(json(`${folder}package-lock.json`).packages).map(
    ([path, locked]) => [path.replace(/^.*node_modules\//, ''), locked],
  );
const FOLDERS = ['', 'bench/peers/', 'test/old-stack/'];

describe('what is installed', () => {
  it('runs a script of its own only where that is written down', () => {
    const { allowScripts } = json('package.json');
    const scripted = FOLDERS.flatMap(lockedIn).filter(
      ([, { hasInstallScript }]) => hasInstallScript,
    );
    // The last one builds itself, for a peer of the benchmarks.
    expect(scripted.map(([name]) => name).toSorted()).toEqual(
      [...Object.keys(allowScripts), 'msgpackr-extract'].toSorted(),
    );
  });

  // Says what is installed to scarf.sh, by its install script, unless it is told not to.
  it('tells no one that it is', () => {
    const TELLS =
      /scarf|telemetry|analytics|posthog|amplitude|mixpanel|sentry|bugsnag|segment|update-notifier/;
    // They record, and send nothing without an exporter.
    const HARMLESS = /^@opentelemetry\/(?!.*export|otlp)/;
    const telling = FOLDERS.flatMap(lockedIn).filter(([name]) => TELLS.test(name));
    expect(telling.map(([name]) => name).filter((name) => !HARMLESS.test(name))).toEqual([
      '@scarf/scarf',
    ]);
    expect(json('package.json').scarfSettings).toEqual({ enabled: false });
  });
});

const FINDINGS = fileURLToPath(new URL('../../findings', import.meta.url));

describe('findings', () => {
  const scripts = readdirSync(FINDINGS).filter((file) => file.endsWith('.sh'));

  it('have a row each, and no row is without its script', () => {
    const rows = readFileSync(join(FINDINGS, 'README.md'), 'utf8').matchAll(/\]\(([\w-]+\.sh)\)/g);
    expect([...rows].map(([, script = '']) => script).toSorted()).toEqual(scripts.toSorted());
  });

  it.each(scripts)('%s can be run anywhere, on pinned packages', (script) => {
    const path = join(FINDINGS, script);
    const text = readFileSync(path, 'utf8');
    expect(statSync(path).mode & 0o111).toBe(0o111);
    expect(text).toMatch(
      /^#!\/usr\/bin\/env bash\n# Guessed: .*\n(#.*\n)*# Seen: .*\n(#.*\n)*# With: /,
    );
    for (const line of ['set -euo pipefail', 'work=$(mktemp -d)', `trap 'rm -rf "$work"' EXIT`]) {
      expect(text.split('\n')).toContain(line);
    }
    const [, packages = ''] = /^npm install (?:.*\\\n)(.*)$/m.exec(text) ?? [];
    expect(packages.trim().split(' ')).not.toHaveLength(0);
    for (const each of packages.trim().split(' ')) {
      expect(each).toMatch(/^(?:@[\w-]+\/)?[\w-]+@\d+\.\d+\.\d+$/);
    }
    expect(text.replace('/usr/bin/env', '')).not.toMatch(
      /nestjs-delay-queue|https?:|\/(?:home|root|work|tmp|usr)\//,
    );
  });
});
