import { expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { databaseOptions } from '../../src/app.module.js';
import { createTestDatabase } from '../support/database.js';

it('entities and migrations agree', async () => {
  const database = await createTestDatabase();
  const dataSource = await new DataSource(databaseOptions(database.url)).initialize();
  try {
    const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
    expect(upQueries.map(({ query }) => query)).toEqual([]);
  } finally {
    await dataSource.destroy();
    await database.drop();
  }
});
