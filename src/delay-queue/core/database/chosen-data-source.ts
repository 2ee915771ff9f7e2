import type { FactoryProvider, InjectionToken } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { DelayConfigError } from '../api/errors.js';
import { shown } from '../config/known-options.js';

/** The injection token of the DataSource that the delays belong to. */
export const DATA_SOURCE = Symbol.for('nestjs-delay-queue:data-source');

/** The application's DataSource: its name in `TypeOrmModule.forRoot`, or its injection token. */
// oxlint-disable-next-line typescript/no-unsafe-function-type -- as in Nest: a class, abstract or not
export type DataSourceChoice = string | symbol | Function;

/**
 * Injected, so that Nest waits for a DataSource that is still connecting. Does not need
 * `@nestjs/typeorm`, whose tokens are the class and `<name>DataSource`.
 * @throws DelayConfigError from the factory, without a DataSource of this copy of TypeORM
 */
export function dataSourceProvider(choice: DataSourceChoice | undefined): FactoryProvider {
  const tokens = injectionTokens(choice);
  return {
    provide: DATA_SOURCE,
    inject: [
      { token: ModulesContainer, optional: true },
      ...tokens.map((token) => ({ token, optional: true })),
    ],
    useFactory: (modules: ModulesContainer | undefined, ...found: unknown[]) => {
      const dataSource = found.find((one) => one !== undefined && one !== null);
      if (dataSource === undefined) throw new DelayConfigError(nothingFound(choice, modules));
      if (dataSource instanceof DataSource) return dataSource;
      throw new DelayConfigError(
        isDataSource(dataSource)
          ? TWO_COPIES
          : `dataSource: what is provided as ${tokenName(choice)} is not a DataSource of TypeORM`,
      );
    },
  };
}

const TWO_COPIES =
  'the application and nestjs-delay-queue load two different copies of typeorm, and neither ' +
  'accepts a DataSource of the other; `npm ls typeorm` shows them: choose one version for both, and ' +
  'install it once, where both find it';

function injectionTokens(choice: DataSourceChoice | undefined): InjectionToken[] {
  if (choice === undefined || choice === 'default' || choice === DataSource) return [DataSource];
  if (typeof choice === 'string') return [`${choice}DataSource`, choice];
  if (typeof choice === 'symbol') return [choice];
  if (typeof choice === 'function') return [choice];
  throw new DelayConfigError(
    `DelayQueueModule: dataSource: must be a name or an injection token, not ${shown(choice)}`,
  );
}

/** By TypeORM's own mark, because each copy of TypeORM has a different class. */
const isDataSource = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Reflect.get(value, '@instanceof') === Symbol.for('DataSource');

/** An application with this error nearly always has a DataSource: the remedy depends on where. */
function nothingFound(
  choice: DataSourceChoice | undefined,
  modules: ModulesContainer | undefined,
): string {
  const tokens = [...(modules?.values() ?? [])].flatMap((module) => [...module.providers.keys()]);
  if (tokens.some((token) => token !== DataSource && tokenName(token) === DataSource.name)) {
    return TWO_COPIES;
  }
  const names = [...new Set(tokens.map(tokenName))].flatMap(
    (name) => /^(.+)DataSource$/.exec(name)?.[1] ?? [],
  );
  const others = names.map((name) => `forRoot({ dataSource: '${name}' })`).join(' or ');
  const wanted = choice === undefined ? "the application's default DataSource" : tokenName(choice);
  return (
    `dataSource: ${wanted} was not found. ` +
    (others === ''
      ? 'Import TypeOrmModule.forRoot(), or a module that provides and exports the DataSource and '
      : `There are others: ${others}. If you provide it yourself, let its module export it and `) +
    'is @Global() or listed in the imports of forRootAsync(); set dataSource to its token'
  );
}

const tokenName = (token: unknown): string =>
  typeof token === 'function' ? token.name : String(token);
