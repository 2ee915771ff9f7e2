/** Whoever imports and whoever requires the package gets the same classes. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import * as imported from 'nestjs-delay-queue';
import * as testing from 'nestjs-delay-queue/testing';

const required = createRequire(import.meta.url)('nestjs-delay-queue');
assert.equal(required.DelayService, imported.DelayService);
assert.deepEqual(Object.keys(required).toSorted(), Object.keys(imported).toSorted());

assert.equal(
  createRequire(import.meta.url)('nestjs-delay-queue/testing').DelayTesting,
  testing.DelayTesting,
);
assert.ok(new testing.DelayTestingError() instanceof imported.DelayError);

// With its optional peer, which this application has.
const { openTelemetry } = createRequire(import.meta.url)('nestjs-delay-queue/opentelemetry');
assert.equal((await import('nestjs-delay-queue/opentelemetry')).openTelemetry, openTelemetry);
assert.equal(
  openTelemetry().runAttempts([], () => 'ran'),
  'ran',
);
