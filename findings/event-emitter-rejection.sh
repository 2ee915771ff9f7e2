#!/usr/bin/env bash
# Guessed: `await emitAsync()` rejects when a listener rejects, as EventEmitter2's own does.
# Seen: behind @OnEvent of @nestjs/event-emitter it resolves with [undefined]: the error is logged,
#   and who emitted in a transaction commits. `suppressErrors: false` changes it.
# With: @nestjs/event-emitter@12.0.1, @nestjs/common@12.5.1, @nestjs/core@12.5.1, reflect-
#   metadata@0.2.2, rxjs@7.8.2, eventemitter2@6.4.9. Node 20 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel error \
  @nestjs/event-emitter@12.0.1 @nestjs/common@12.5.1 @nestjs/core@12.5.1 reflect-metadata@0.2.2 rxjs@7.8.2 eventemitter2@6.4.9
npm ls --depth 0 | tail -n +2
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
const failing = (options) => {
  class Stock {
    async release() {
      throw new Error('no stock');
    }
  }
  OnEvent('order.closed', options)(Stock.prototype, 'release', Object.getOwnPropertyDescriptor(Stock.prototype, 'release'));
  class App {}
  Module({ imports: [EventEmitterModule.forRoot()], providers: [Stock] })(App);
  return App;
};
const emitted = async (options) => {
  const app = await NestFactory.createApplicationContext(failing(options), { logger: false });
  await app.init();
  const end = await app.get(EventEmitter2).emitAsync('order.closed').then((answers) => `resolved with ${answers.length}`, ({ message }) => message);
  await app.close();
  return end;
};
const seen = { 'as it comes': await emitted(), 'suppressErrors: false': await emitted({ suppressErrors: false }) };
const stated = { 'as it comes': 'resolved with 1', 'suppressErrors: false': 'no stock' };
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
