import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { skuList, type SkuList } from './catalog.schemas.js';
import { Sku } from './sku.entity.js';

@ApiTags('catalog')
@Controller('skus')
export class CatalogController {
  constructor(private readonly dataSource: DataSource) {}

  @Get()
  @ApiOperation({ summary: 'What there is to buy' })
  @ApiOkResponse({ standardSchema: skuList })
  list(): Promise<SkuList> {
    return this.dataSource.manager.find(Sku, {
      select: { sku: true, name: true, price: true, stock: true },
      order: { sku: 'ASC' },
    });
  }
}
