#!/usr/bin/env bash
# Guessed: a Fastify hook that is added after NestFactory.create(), before the application listens, runs
#   before Nest's middleware, whatever adds that: what is added first runs first.
# Seen: NestFactory.create() has registered @fastify/middie already, so the hook runs behind all middleware
#   of Nest. A middleware that answers keeps it from running. Hooks on the adapter's instance that are
#   added before NestFactory.create() run first.
# With: @nestjs/platform-fastify@12.5.0, @nestjs/common@12.5.1, @nestjs/core@12.5.1, reflect-metadata@0.2.2,
#   rxjs@7.8.2. Node 20 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel error \
  @nestjs/platform-fastify@12.5.0 @nestjs/common@12.5.1 @nestjs/core@12.5.1 reflect-metadata@0.2.2 rxjs@7.8.2
npm ls --depth 0 | tail -n +2
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
class App {}
Module({})(App);
const seen = [];
const noting = (what) => async () => void seen.push(what);
const adapter = new FastifyAdapter();
adapter.getInstance().addHook('onRequest', noting('hook before create'));
const app = await NestFactory.create(App, adapter, { logger: false });
adapter.getInstance().addHook('onRequest', noting('hook after create'));
app.use((request, response, next) => {
  seen.push('middleware');
  next();
});
await app.listen(0, '127.0.0.1');
await fetch(`${await app.getUrl()}/`);
await app.close();
const stated = ['hook before create', 'middleware', 'hook after create'];
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
