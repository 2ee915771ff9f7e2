/** The application has TypeORM 0.3; what the monorepo shares, this package among it, has 1. */
require('reflect-metadata');
const assert = require('node:assert/strict');
const { NestFactory } = require('@nestjs/core');
const { DelayQueueModule } = require('nestjs-delay-queue');
const { DataSource } = require('typeorm');

class DatabaseModule {}
class AppModule {}

const connect = () =>
  new DataSource({ type: 'postgres', url: process.env.DATABASE_URL }).initialize();
const database = {
  module: DatabaseModule,
  global: true,
  providers: [{ provide: DataSource, useFactory: connect }],
  exports: [DataSource],
};
const app = { module: AppModule, imports: [database, DelayQueueModule.forRoot()] };

NestFactory.createApplicationContext(app, { logger: false, abortOnError: false }).then(
  () => assert.fail('it started'),
  (error) => {
    assert.equal(error.code, 'DELAY_CONFIG');
    assert.match(error.message, /two different copies of typeorm.*`npm ls typeorm` shows them/);
    console.log(error.message);
    process.exit();
  },
);
