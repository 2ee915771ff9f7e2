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

// Without its optional peer, the error names that.
await assert.rejects(import('nestjs-delay-queue/opentelemetry'), /'@opentelemetry\/api'/);
