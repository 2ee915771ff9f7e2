import { Controller, Get, Header, NotFoundException, Param, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { projectRoot } from '../../project-root.js';

/** Nothing from elsewhere, nothing inline, and in no frame. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Where `npm run build` puts the page. */
const FOLDER = join(projectRoot(), 'dist', 'page');
const ASSETS = join(FOLDER, 'assets');

@ApiExcludeController()
@Controller()
export class SiteController {
  @Get()
  @Header('content-security-policy', CONTENT_SECURITY_POLICY)
  @Header('x-content-type-options', 'nosniff')
  @Header('referrer-policy', 'no-referrer')
  @Header('cache-control', 'no-cache')
  page(@Res() response: Response): void {
    if (!existsSync(join(FOLDER, 'index.html'))) {
      throw new NotFoundException('the page is not built: npm run build');
    }
    response.sendFile('index.html', { root: FOLDER, cacheControl: false });
  }

  /** Their names change with what is in them. */
  @Get('assets/:file')
  @Header('x-content-type-options', 'nosniff')
  asset(@Param('file') file: string, @Res() response: Response): void {
    if (basename(file) !== file || !existsSync(join(ASSETS, file))) {
      throw new NotFoundException('there is no such asset');
    }
    response.sendFile(file, { root: ASSETS, maxAge: '1y', immutable: true });
  }
}
