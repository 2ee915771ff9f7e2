import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Change } from './change.js';
import { regionAt, regionsIn } from './regions.js';
import { CACHE, ROOT } from '../mutants-by-suite/root.js';
import { run, type RunOptions } from '../mutants-by-suite/run.js';

/** What a spec reaches, and how long it takes. */
interface Spec {
  hash: string;
  ms: number;
  /** It passes without a mutant. */
  isGood: boolean;
  /** By source of the library, the numbers of regions. */
  reached: Record<string, number[]>;
}

interface Kept {
  /** Hashes of the library's sources, as they were when the specs ran. */
  files: Record<string, string>;
  specs: Record<string, Spec>;
}

/** No mutant of the library is to be found by these: of pages, tools and types, and of the harnesses. */
const LEFT_OUT =
  /\/(?:page|tools|types|bench|demo|apps|late-answers)\/|\/(?:bench|bench-harness)\.spec/;

const FILE = join(CACHE, 'reach.json');
const CONFIG = fileURLToPath(new URL('./jest.config.mjs', import.meta.url));

type SpecsRun = Omit<RunOptions, 'tests' | 'config'> & { specs: readonly string[] };

/** Runs specs in the order given. */
export const runSpecs = ({ specs, env, ...how }: SpecsRun): ReturnType<typeof run> => {
  const SPECS = JSON.stringify(specs.map((spec) => join(ROOT, spec)));
  const tests = ['--runTestsByPath', ...specs];
  return run({ ...how, config: CONFIG, tests, env: { ...env, SPECS } });
};

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

function specFiles(): string[] {
  return readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .map((file) => join('test', file))
    .filter((file) => file.endsWith('.spec.ts') && !LEFT_OUT.test(file));
}

/** Which spec reaches which piece of the library. */
export class Reach {
  private constructor(
    private readonly kept: Kept,
    private readonly texts: ReadonlyMap<string, string>,
  ) {}

  /** Runs those specs that are new or changed, or all, with sources that note what is reached. */
  static async of(
    texts: ReadonlyMap<string, string>,
    { anew, signal, workers }: { anew: boolean; signal: AbortSignal; workers: number },
  ): Promise<Reach> {
    const kept = anew ? undefined : read();
    const reach = new Reach(kept ?? { files: hashesOf(texts), specs: {} }, texts);
    const specs = specFiles();
    const changed = specs.filter((spec) => reach.#isChanged(spec));
    for (const spec of Object.keys(reach.kept.specs)) {
      if (!specs.includes(spec)) delete reach.kept.specs[spec];
    }
    if (changed.length > 0) await reach.#look(changed, signal, workers);
    return reach;
  }

  /**
   * Specs that reach a change, those first whose names lead one to look there, and the fast ones first.
   * Of a source that has changed since, all that load it.
   */
  specsOf({ file, start }: Change): { spec: string; ms: number }[] {
    const text = this.texts.get(file) ?? '';
    const isAsItWas = this.kept.files[file] === hashOf(text);
    const no = isAsItWas ? regionAt(regionsIn(file, text).regions, { start }) : 0;
    return Object.entries(this.kept.specs)
      .filter(([, { isGood, reached }]) => isGood && reached[file]?.includes(no))
      .map(([spec, { ms }]) => ({ spec, ms, rank: ms - nearness(spec, file) }))
      .toSorted((a, b) => a.rank - b.rank);
  }

  get bad(): string[] {
    return Object.entries(this.kept.specs).flatMap(([spec, { isGood }]) => (isGood ? [] : [spec]));
  }

  #isChanged(spec: string): boolean {
    return this.kept.specs[spec]?.hash !== hashOf(readFileSync(join(ROOT, spec), 'utf8'));
  }

  async #look(specs: readonly string[], signal: AbortSignal, workers: number): Promise<void> {
    const folder = join(CACHE, 'reached');
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const marksFile = join(CACHE, 'marks.json');
    const marks = [...this.texts].map(([file, text]) => [file, regionsIn(file, text).marks]);
    writeFileSync(marksFile, JSON.stringify(Object.fromEntries(marks)));
    const { files } = await runSpecs({
      specs: specs.toSorted((a, b) => this.#msOf(b) - this.#msOf(a)),
      bail: false,
      workers,
      longestMs: 180_000,
      env: { SOURCE_MARKS: marksFile, REACHED_FOLDER: folder, REACHED_FILE: join(folder, 'setup') },
      onFile: ({ path, ms, test }) =>
        console.log(`${relative(ROOT, path)}: ${Math.round(ms / 1_000)} s ${test ?? ''}`),
      signal,
    });
    const inSetup = reachedIn(join(folder, 'setup'));
    for (const { path, ms, test } of files) {
      const reached = reachedIn(join(folder, hashOf(path)));
      // All that stands in the template database was made before.
      const isOnDatabase = Object.keys(reached).length > 0;
      const spec = relative(ROOT, path);
      this.kept.specs[spec] = {
        hash: hashOf(readFileSync(path, 'utf8')),
        ms,
        isGood: test === undefined,
        reached: isOnDatabase ? merged(reached, inSetup) : reached,
      };
    }
    mkdirSync(CACHE, { recursive: true });
    writeFileSync(FILE, JSON.stringify(this.kept));
  }

  #msOf(spec: string): number {
    return this.kept.specs[spec]?.ms ?? 0;
  }
}

/** Those of its name first, then the unit specs of its room. */
function nearness(spec: string, file: string): number {
  if (isAbout(spec, file)) return 2e9;
  const [room = ''] = file.replace('src/delay-queue/', '').split('/');
  return spec.startsWith(`test/unit/${room}/`) ? 1e9 : 0;
}

/** `core/worker/scanner.ts` has a spec `worker/scanner`. */
function isAbout(spec: string, file: string): boolean {
  const [name = ''] = (file.split('/').at(-1) ?? '').split('.');
  return (
    spec.includes(`/${name}`) ||
    name.startsWith((spec.split('/').at(-1) ?? '').split('.')[0] ?? '-')
  );
}

function read(): Kept | undefined {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8')) as Kept;
  } catch {
    return undefined;
  }
}

const hashesOf = (texts: ReadonlyMap<string, string>): Record<string, string> =>
  Object.fromEntries([...texts].map(([file, text]) => [file, hashOf(text)]));

function reachedIn(path: string): Record<string, number[]> {
  let text = '';
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    // Nothing of the library.
  }
  const reached: Record<string, Set<number>> = {};
  for (const line of text.split('\n').filter((each) => each.includes(' '))) {
    const [file = '', no] = line.split(' ');
    (reached[file] ??= new Set()).add(Number(no));
  }
  return Object.fromEntries(Object.entries(reached).map(([file, nos]) => [file, [...nos]]));
}

function merged(...all: Record<string, number[]>[]): Record<string, number[]> {
  const files = new Set(all.flatMap((each) => Object.keys(each)));
  return Object.fromEntries(
    [...files].map((file) => [file, [...new Set(all.flatMap((each) => each[file] ?? []))]]),
  );
}
