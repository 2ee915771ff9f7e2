import { describe, expect, it } from '@jest/globals';
import { DelayConfigError } from 'nestjs-delay-queue';
import { DataSource } from 'typeorm';
import {
  type DataSourceChoice,
  dataSourceProvider,
} from '../../../src/delay-queue/core/database/chosen-data-source.js';

/** What the factory makes of what Nest has found. */
const chosenFrom = (choice: DataSourceChoice | undefined, ...found: unknown[]): unknown =>
  dataSourceProvider(choice).useFactory(undefined, ...found);

const tokensOf = (choice: DataSourceChoice | undefined): unknown[] =>
  (dataSourceProvider(choice).inject ?? [])
    .slice(1)
    .map((each) => (each as { token: unknown }).token);

describe('of the DataSources of an application', () => {
  it.each<[DataSourceChoice | undefined, unknown[]]>([
    [undefined, [DataSource]],
    ['default', [DataSource]],
    ['billing', ['billingDataSource', 'billing']],
    [Symbol.for('mine'), [Symbol.for('mine')]],
    [Date, [Date]],
  ])('%p is looked for as %p', (choice, tokens) => {
    expect(tokensOf(choice)).toEqual(tokens);
  });

  it('the first that is there is taken', () => {
    const dataSource = new DataSource({ type: 'postgres' });
    expect(chosenFrom('billing', undefined, dataSource)).toBe(dataSource);
    expect(chosenFrom('billing', null, dataSource)).toBe(dataSource);
  });

  it.each([['postgres://here'], [7], [true], [() => {}], [{}], [Symbol('its')]])(
    '%p under its name is none, and is refused as such',
    (found) => {
      expect(() => chosenFrom('billing', found)).toThrow(DelayConfigError);
      expect(() => chosenFrom('billing', found)).toThrow(/is not a DataSource of TypeORM/);
    },
  );

  it('one of another copy of TypeORM is refused as that', () => {
    const other = { '@instanceof': Symbol.for('DataSource') };
    expect(() => chosenFrom(undefined, other)).toThrow(/two different copies of typeorm/);
  });

  it('where there is none, it says so', () => {
    expect(() => chosenFrom('billing', undefined, undefined)).toThrow(/billing/);
  });
});
