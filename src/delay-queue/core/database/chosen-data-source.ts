import {
  type DynamicModule,
  type FactoryProvider,
  type InjectionToken,
  Module,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { DataSource } from 'typeorm';
import { DelayConfigError } from '../api/errors.js';
import { shown } from '../config/shown.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/options.js';
import { isDataSource } from './postgres-driver.js';
import { type Connection, PgDataSource } from './pg-data-source.js';

/** The injection token of the DataSource that the delays belong to. */
export const DATA_SOURCE = Symbol.for('nestjs-delay-queue:data-source');

/** Opens the application's DataSource as the options want it. */
type OpenDataSource = (connection: Connection | undefined) => Promise<DataSource>;

const OPEN_DATA_SOURCE = Symbol.for('nestjs-delay-queue:open-data-source');

/** Apart from the queue's module, because TypeORM, which may not be there, is loaded first. */
@Module({})
class DataSourceModule {}

/** @param imports of the queue's module, which may lead to the DataSource */
export function dataSourceModule(
  choice: DataSourceChoice | undefined,
  imports: DynamicModule['imports'] = [],
): Promise<DynamicModule> {
  checkChoice(choice);
  return makeModule(choice, imports);
}

async function makeModule(
  choice: DataSourceChoice | undefined,
  imports: NonNullable<DynamicModule['imports']>,
): Promise<DynamicModule> {
  const typeorm = await import('typeorm').catch(() => undefined);
  return {
    module: DataSourceModule,
    imports,
    providers: [foundDataSource(choice, typeorm?.DataSource)],
    exports: [OPEN_DATA_SOURCE],
  };
}

/** The DataSource of the option `connection`, or the application's. */
export const DATA_SOURCE_PROVIDER: FactoryProvider = {
  provide: DATA_SOURCE,
  inject: [OPEN_DATA_SOURCE, RESOLVED_OPTIONS],
  useFactory: (open: OpenDataSource, { connection }: ResolvedOptions) => open(connection),
};

/** The application's DataSource: its name in `TypeOrmModule.forRoot`, or its injection token. */
// oxlint-disable-next-line typescript/no-unsafe-function-type -- as in Nest: a class, abstract or not
export type DataSourceChoice = string | symbol | Function;

/**
 * Injected, so that Nest waits for a DataSource that is still connecting. Does not need
 * `@nestjs/typeorm`, whose tokens are the class and `<name>DataSource`.
 * @throws DelayConfigError when it opens, without a DataSource of this copy of TypeORM
 */
function foundDataSource(
  choice: DataSourceChoice | undefined,
  itsClass: typeof DataSource | undefined,
): FactoryProvider<OpenDataSource> {
  const tokens = injectionTokens(choice, itsClass);
  return {
    provide: OPEN_DATA_SOURCE,
    inject: [
      { token: ModulesContainer, optional: true },
      ...tokens.map((token) => ({ token, optional: true })),
    ],
    useFactory:
      (modules: ModulesContainer | undefined, ...found: unknown[]) =>
      async (connection) => {
        if (connection !== undefined) {
          if (choice === undefined) return await PgDataSource.from(connection).initialize();
          throw new DelayConfigError(
            'DelayQueueModule: connection: give either connection or dataSource, not both',
          );
        }
        const dataSource = found.find((one) => one !== undefined && one !== null);
        if (dataSource === undefined)
          throw new DelayConfigError(nothingFound(choice, modules, itsClass));
        const isOurs = dataSource instanceof PgDataSource;
        if (isOurs || (itsClass !== undefined && dataSource instanceof itsClass)) {
          return dataSource as DataSource;
        }
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

/** @throws DelayConfigError */
function checkChoice(choice: DataSourceChoice | undefined): void {
  if (choice === undefined || ['string', 'symbol', 'function'].includes(typeof choice)) return;
  throw new DelayConfigError(
    `DelayQueueModule: dataSource: must be a name or an injection token, not ${shown(choice)}`,
  );
}

function injectionTokens(
  choice: DataSourceChoice | undefined,
  itsClass: typeof DataSource | undefined,
): InjectionToken[] {
  if (choice === undefined || choice === 'default') return itsClass === undefined ? [] : [itsClass];
  return typeof choice === 'string' ? [`${choice}DataSource`, choice] : [choice];
}

/** An application with this error nearly always has a DataSource: the remedy depends on where. */
function nothingFound(
  choice: DataSourceChoice | undefined,
  modules: ModulesContainer | undefined,
  itsClass: typeof DataSource | undefined,
): string {
  const tokens = [...(modules?.values() ?? [])].flatMap((module) => [...module.providers.keys()]);
  if (tokens.some((token) => token !== itsClass && tokenName(token) === 'DataSource')) {
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
      ? 'Without TypeORM, use forRoot({ connection: process.env.DATABASE_URL }). With it, import ' +
        'TypeOrmModule.forRoot(), or a module that provides and exports the DataSource and '
      : `There are others: ${others}. If you provide it yourself, let its module export it and `) +
    'is @Global() or listed in the imports of forRootAsync(); set dataSource to its token'
  );
}

const tokenName = (token: unknown): string =>
  typeof token === 'function' ? token.name : String(token);
