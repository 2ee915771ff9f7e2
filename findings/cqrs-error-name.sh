#!/usr/bin/env bash
# Guessed: the log names the event handler that threw.
# Seen: the EventBus of @nestjs/cqrs names a class of Nest's core: '"InstanceWrapper" has thrown an
#   unhandled exception.', whichever handler it was. And publish() tells its caller nothing.
# With: @nestjs/cqrs@12.0.0, @nestjs/common@12.5.1, @nestjs/core@12.5.1, reflect-metadata@0.2.2,
#   rxjs@7.8.2. Node 20 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel error \
  @nestjs/cqrs@12.0.0 @nestjs/common@12.5.1 @nestjs/core@12.5.1 reflect-metadata@0.2.2 rxjs@7.8.2
npm ls --depth 0 | tail -n +2
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { CqrsModule, EventBus, EventsHandler } from '@nestjs/cqrs';
class OrderClosed {}
class Mailer {
  async handle() {
    throw new Error('no mail');
  }
}
EventsHandler(OrderClosed)(Mailer);
class App {}
Module({ imports: [CqrsModule.forRoot()], providers: [Mailer] })(App);
const lines = [];
let heard = () => {};
const line = new Promise((resolve) => (heard = resolve));
const error = (...given) => {
  lines.push(String(given[0]));
  heard();
};
const logger = { log() {}, warn() {}, error };
const app = await NestFactory.createApplicationContext(App, { logger });
await app.init();
app.get(EventBus).publish(new OrderClosed());
await line;
await app.close();
const seen = lines[0];
const stated = '"InstanceWrapper" has thrown an unhandled exception.';
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
