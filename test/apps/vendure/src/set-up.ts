import { bootstrap, type InitialData, LanguageCode, runMigrations } from '@vendure/core';
import { populate } from '@vendure/core/cli';
import { config } from './vendure-config';

const DATA: InitialData = {
  defaultLanguage: LanguageCode.en,
  defaultZone: 'Europe',
  countries: [{ code: 'DE', name: 'Germany', zone: 'Europe' }],
  taxRates: [{ name: 'Standard Tax', percentage: 19 }],
  shippingMethods: [],
  paymentMethods: [{ name: 'card', handler: { code: 'card', arguments: [] } }],
  collections: [],
};

/** The queue's tables first, which the plugin asks for when it starts. Then Vendure's, and two products. */
async function setUp(): Promise<void> {
  await runMigrations(config);
  const dbConnectionOptions = { ...config.dbConnectionOptions, synchronize: true };
  const app = await populate(
    () => bootstrap({ ...config, dbConnectionOptions }),
    DATA,
    'products.csv',
  );
  await app.close();
}

void setUp();
