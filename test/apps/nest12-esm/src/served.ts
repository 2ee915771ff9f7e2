import type { INestApplication, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** On Express, behind a proxy that serves it below a path of which it knows nothing. */
export async function serve(module: Type): Promise<{ app: INestApplication; url: string }> {
  const app = await NestFactory.create(module, { logger: ['error', 'warn'] });
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  const proxy = createServer((asked, answer) => {
    const path = (asked.url ?? '').replace(/^\/tools\/shop/, '');
    const { method, headers } = asked;
    const passed = request({ host: '127.0.0.1', port, path, method, headers }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers);
      got.pipe(answer);
    });
    passed.on('error', () => answer.destroy());
    asked.pipe(passed);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    app,
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/tools/shop/delays`,
  };
}
