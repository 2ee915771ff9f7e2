import { afterEach, describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { Recipe } from './recipe.js';

interface Reports {
  stop(reportId: string): Promise<string>;
}

let recipe: Recipe | undefined;

afterEach(async () => {
  await recipe?.close();
  recipe = undefined;
});

describe('abort-what-runs.md', () => {
  it('stops a report that is being built, and leaves none of its lines', async () => {
    recipe = await Recipe.open('abort-what-runs.md');
    const { Reports } = await recipe.load<{ Reports: Type<Reports> }>('reports.ts');
    const app = await recipe.start([Reports]);
    const reports = app.get(Reports);
    await recipe.sql(`INSERT INTO report (id) VALUES ('built'), ('stopped')`);

    const completed = app.next('completed', 'report.build', 'built');
    await app.scheduleNow('report.build', ['built'], (reportId) => ({ reportId }));
    await completed;
    expect(await reports.stop('built')).toBe('READY');

    const other = await recipe.hold(`LOCK TABLE report_line IN EXCLUSIVE MODE`, []);
    await app.scheduleNow('report.build', ['stopped'], (reportId) => ({ reportId }));
    await recipe.waiting(1);
    expect(await reports.stop('stopped')).toBe('STOPPED');
    await other.release();
    expect(await app.ends('report.build', 'stopped')).toEqual(['cancelled']);
    expect(await recipe.sql(`SELECT id, state FROM report ORDER BY id`)).toEqual([
      { id: 'built', state: 'READY' },
      { id: 'stopped', state: 'STOPPED' },
    ]);
    expect(await recipe.sql(`SELECT DISTINCT report_id FROM report_line`)).toEqual([
      { report_id: 'built' },
    ]);
  });
});
