import type { INestApplication, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

/** On Express, as it comes. */
export async function serve(module: Type): Promise<{ app: INestApplication; url: string }> {
  const app = await NestFactory.create(module, { logger: ['error', 'warn'] });
  await app.listen(0, '127.0.0.1');
  return { app, url: `http://127.0.0.1:${app.getHttpServer().address().port}/delays` };
}
