import { relative } from 'node:path';
import type { SourcePatch } from '../../tools/source-patches.mjs';
import { ROOT } from '../mutants-by-suite/root.js';
import { type FileResult } from '../mutants-by-suite/run.js';
import { type Reach, runSpecs } from './reach.js';
import type { Drawn } from './sample.js';
import type { Verdict } from './verdict.js';

export interface JudgeOptions {
  reach: Reach;
  text: string;
  /** Files of tests at a time. */
  workers: number;
  withinMs: number;
  signal: AbortSignal;
}

/**
 * Runs the specs that reach a mutant, until one fails. It has to fail again, since any may fail once on a busy
 * machine. Undefined when it was interrupted.
 */
export async function judge(drawn: Drawn, options: JudgeOptions): Promise<Verdict | undefined> {
  const { reach, text, workers, withinMs, signal } = options;
  const specs = reach.specsOf(drawn);
  const beganAtMs = performance.now();
  const longestMs = Math.max(0, ...specs.map(({ ms }) => ms));
  const with_ = { patches: [patchOf(text, drawn)], longestMs, bail: true, signal };
  const { file, line, was, is, kind } = drawn;
  const passed = new Set<string>();
  const verdict = (outcome: Verdict['outcome'], found?: FileResult): Verdict => ({
    file,
    line,
    kind,
    was,
    is,
    outcome,
    ...(found && { spec: relative(ROOT, found.path), test: found.test ?? '', why: found.why }),
    seconds: Math.round((performance.now() - beganAtMs) / 1_000),
    passed: passed.size,
    reaching: specs.length,
  });
  if (specs.length === 0) return verdict('not covered');
  let left = specs.map(({ spec }) => spec);
  while (left.length > 0) {
    const leftMs = withinMs - (performance.now() - beganAtMs);
    if (leftMs <= 0) return verdict('unclear');
    const { files, stopped } = await runSpecs({ ...with_, specs: left, workers, withinMs: leftMs });
    if (signal.aborted) return undefined;
    const failed = files.find(({ test }) => test !== undefined);
    for (const { path, test } of files) if (test === undefined) passed.add(relative(ROOT, path));
    if (failed !== undefined) {
      const spec = relative(ROOT, failed.path);
      const again = await runSpecs({ ...with_, specs: [spec], workers: 1 });
      if (signal.aborted) return undefined;
      if (again.files[0]?.test !== undefined || again.files.length === 0)
        return verdict('found', failed);
      passed.add(spec);
    } else if (stopped === 'time') return verdict('unclear');
    // Nothing more had ended, or Jest itself had: it hangs, eats all memory, or nothing can be loaded with it.
    else if (stopped === 'hangs' || files.length === 0) return verdict('hangs');
    left = left.filter((spec) => !passed.has(spec));
  }
  return verdict('survived');
}

/** The smallest piece around a change that stands in its source once. */
function patchOf(text: string, { file, start, end, to }: Drawn): SourcePatch {
  let [from, until] = [start, end];
  while (text.split(text.slice(from, until)).length !== 2) {
    from = Math.max(0, text.lastIndexOf('\n', from - 2) + 1);
    until = (text.indexOf('\n', until + 1) + 1 || text.length + 1) - 1;
  }
  const before = text.slice(from, until);
  return { file, from: before, to: text.slice(from, start) + to + text.slice(end, until) };
}
