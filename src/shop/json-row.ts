import type { EntityManager, EntityTarget, ObjectLiteral } from 'typeorm';

/** A row as Postgres's `to_json` writes it: by column name. */
export type JsonRow = Record<string, unknown>;

/**
 * The entity of such a row, for statements that TypeORM cannot build: one that returns rows of
 * several tables takes one round trip and one snapshot, without a transaction.
 */
export function entityOf<Entity extends ObjectLiteral>(
  { dataSource }: EntityManager,
  type: EntityTarget<Entity>,
  row: JsonRow,
): Entity {
  const metadata = dataSource.getMetadata(type);
  const entity: ObjectLiteral = metadata.create();
  for (const column of metadata.columns) {
    const value = row[column.databaseName];
    // As the driver returns a bigint, and as its column's transformer expects it.
    const given = column.type === 'bigint' && typeof value === 'number' ? String(value) : value;
    entity[column.propertyName] = dataSource.driver.prepareHydratedValue(given, column);
  }
  return entity as Entity;
}
