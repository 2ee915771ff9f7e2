import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import {
  isoFromLocal,
  localFromMs,
} from '../../../src/delay-queue/dashboard/page/parts/local-time.js';

/** In a process of its own, because the time zone of one cannot change. */
function isosIn(zone: string, locals: readonly string[]): (string | null)[] {
  const script = `
    import { isoFromLocal } from './src/delay-queue/dashboard/page/parts/local-time.ts';
    process.stdout.write(JSON.stringify(${JSON.stringify(locals)}.map(isoFromLocal)));`;
  const args = ['--import', './tools/swc-loader.mjs', '--input-type=module', '-e', script];
  const env = { ...process.env, TZ: zone };
  return JSON.parse(execFileSync(process.execPath, args, { env, encoding: 'utf8' })) as string[];
}

describe('a local time that a viewer types', () => {
  it.each<[string, [local: string, iso: string | null][]]>([
    [
      'Europe/Berlin',
      [
        ['2030-03-31T01:59:59', '2030-03-31T00:59:59.000Z'],
        ['2030-03-31T02:30', null],
        ['2030-03-31T03:00', '2030-03-31T01:00:00.000Z'],
        ['2030-10-27T01:59', '2030-10-26T23:59:00.000Z'],
        ['2030-10-27T02:00', null],
        ['2030-10-27T03:00', '2030-10-27T02:00:00.000Z'],
      ],
    ],
    [
      'Australia/Lord_Howe',
      [
        ['2030-04-07T01:45', null],
        ['2030-10-06T02:15', null],
        ['2030-10-06T02:30', '2030-10-05T15:30:00.000Z'],
      ],
    ],
    [
      'UTC',
      [
        ['2030-02-30T02:15', null],
        ['', null],
      ],
    ],
  ])('in %s means one instant or none', (zone, times) => {
    const locals = times.map(([local]) => local);
    expect(isosIn(zone, locals)).toEqual(times.map(([, iso]) => iso));
  });

  it('is shown as it was typed', () => {
    expect(isoFromLocal(localFromMs(Date.UTC(2030, 0, 31, 9, 30)))).toBe(
      '2030-01-31T09:30:00.000Z',
    );
    expect(localFromMs(NaN)).toBe('');
  });
});
