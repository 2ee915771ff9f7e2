import { describe, expect, it } from '@jest/globals';
import type { FactoryProvider } from '@nestjs/common';
import { DelayConfigError } from 'nestjs-delay-queue';
import { DataSource } from 'typeorm';
import {
  type DataSourceChoice,
  dataSourceModule,
} from '../../../src/delay-queue/core/database/chosen-data-source.js';

type Open = (connection?: string) => Promise<unknown>;

async function provider(choice: DataSourceChoice | undefined): Promise<FactoryProvider<Open>> {
  const [first] = (await dataSourceModule(choice)).providers ?? [];
  return first as FactoryProvider<Open>;
}

/** What is made of what Nest has found. */
async function chosenFrom(choice: DataSourceChoice | undefined, ...found: unknown[]) {
  const open = await (await provider(choice)).useFactory(undefined, ...found);
  return await open();
}

const tokensOf = async (choice: DataSourceChoice | undefined): Promise<unknown[]> =>
  ((await provider(choice)).inject ?? [])
    .slice(1)
    .map((each) => (each as { token: unknown }).token);

describe('of the DataSources of an application', () => {
  it.each<[DataSourceChoice | undefined, unknown[]]>([
    [undefined, [DataSource]],
    ['default', [DataSource]],
    ['billing', ['billingDataSource', 'billing']],
    [Symbol.for('mine'), [Symbol.for('mine')]],
    [Date, [Date]],
  ])('%p is looked for as %p', async (choice, tokens) => {
    expect(await tokensOf(choice)).toEqual(tokens);
  });

  it('the first that is there is taken', async () => {
    const dataSource = new DataSource({ type: 'postgres' });
    expect(await chosenFrom('billing', undefined, dataSource)).toBe(dataSource);
    expect(await chosenFrom('billing', null, dataSource)).toBe(dataSource);
  });

  it.each([['postgres://here'], [7], [true], [() => {}], [{}], [Symbol('its')]])(
    '%p under its name is none, and is refused as such',
    async (found) => {
      const refused = chosenFrom('billing', found);
      await expect(refused).rejects.toBeInstanceOf(DelayConfigError);
      await expect(refused).rejects.toThrow(/is not a DataSource of TypeORM/);
    },
  );

  it('one of another copy of TypeORM is refused as that', async () => {
    const other = { '@instanceof': Symbol.for('DataSource') };
    await expect(chosenFrom(undefined, other)).rejects.toThrow(/two different copies of typeorm/);
  });

  it('where there is none, it says so', async () => {
    await expect(chosenFrom('billing', undefined, undefined)).rejects.toThrow(/billing/);
  });
});
