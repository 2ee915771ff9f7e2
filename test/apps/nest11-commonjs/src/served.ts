import type { INestApplication, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';

/** On Fastify, below a global prefix. */
export async function serve(module: Type): Promise<{ app: INestApplication; url: string }> {
  const logger = ['error' as const, 'warn' as const];
  const app = await NestFactory.create(module, new FastifyAdapter(), { logger });
  app.setGlobalPrefix('internal');
  await app.listen(0, '127.0.0.1');
  return { app, url: `http://127.0.0.1:${app.getHttpServer().address().port}/internal/delays` };
}
