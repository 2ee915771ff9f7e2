import {
  ForbiddenException,
  Inject,
  Injectable,
  UnauthorizedException,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { createHash, timingSafeEqual } from 'node:crypto';
import { SHOP_CONFIG, type ShopConfig } from '../shop.config.js';

/** Only the provider may report payments. In the demo, where no money moves, anyone may. */
@Injectable()
export class ProviderTokenGuard implements CanActivate {
  constructor(
    @Inject(SHOP_CONFIG)
    private readonly config: Pick<ShopConfig, 'demo' | 'paymentsToken'>,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const { demo, paymentsToken } = this.config;
    if (paymentsToken === undefined) {
      if (demo) return true;
      throw new ForbiddenException(
        'this shop has no payment provider; set PAYMENTS_TOKEN, and have its reports carry that token',
      );
    }
    const http = context.switchToHttp();
    const { authorization = '' } = http.getRequest<Request>().headers;
    if (isSame(authorization, `Bearer ${paymentsToken}`)) return true;
    http.getResponse<Response>().set('WWW-Authenticate', 'Bearer');
    throw new UnauthorizedException(
      'only the payment provider reports payments: send authorization: Bearer and its token',
    );
  }
}

/** Takes the same time wherever the first difference is. */
const isSame = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
