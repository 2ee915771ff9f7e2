import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The shop's tables, two merchants and six things to sell. Money is in integer cents. */
export class Shop1760000001000 implements MigrationInterface {
  readonly name = 'Shop1760000001000';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [...CREATE, ...SEED]) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      `DROP TABLE "sample_campaign_message", "campaign_recipient", "campaign", "frozen_timer", "dispute", "sample_provider", "sample_refund", "sample_message",
         "outbox", "review", "payment_conflict", "payment", "order_item", "orders", "sku", "merchant_reminder", "merchant"`,
    );
  }
}

const CREATE = [
  // A setting that is NULL is the shop's own, from its configuration.
  `CREATE TABLE "merchant" (
     "id"               varchar(64) COLLATE "C" NOT NULL,
     "name"             text NOT NULL,
     "pay_within_ms"    bigint,
     "remind_before_ms" bigint,
     "sms_after_ms"     bigint,
     "confirm_after_ms" bigint,
     "rate_after_ms"    bigint,
     "time_zone"        varchar(64) NOT NULL DEFAULT 'Asia/Shanghai',
     CONSTRAINT "pk_merchant" PRIMARY KEY ("id"),
     CONSTRAINT "ck_merchant_terms"
       CHECK (LEAST("pay_within_ms", "confirm_after_ms", "rate_after_ms") > 0),
     CONSTRAINT "ck_merchant_messages" CHECK (LEAST("remind_before_ms", "sms_after_ms") >= 0)
   )`,
  `CREATE TABLE "merchant_reminder" (
     "merchant_id"    varchar(64) COLLATE "C" NOT NULL,
     "due_at"         timestamptz NOT NULL,
     "orders"         integer NOT NULL,
     "oldest_paid_at" timestamptz NOT NULL,
     CONSTRAINT "pk_merchant_reminder" PRIMARY KEY ("merchant_id", "due_at"),
     CONSTRAINT "fk_merchant_reminder_merchant"
       FOREIGN KEY ("merchant_id") REFERENCES "merchant" ("id"),
     CONSTRAINT "ck_merchant_reminder_orders" CHECK ("orders" > 0)
   )`,
  // The bounds of price, quantity and lines (20 lines of at most 99) keep a total within an integer.
  // COLLATE "C": SKUs are locked in id order, and every node must mean the same order by it.
  `CREATE TABLE "sku" (
     "sku"           varchar(64) COLLATE "C" NOT NULL,
     "name"          text NOT NULL,
     "price"         integer NOT NULL,
     "stock"         integer NOT NULL,
     "initial_stock" integer NOT NULL,
     "merchant_id"   varchar(64) COLLATE "C" NOT NULL DEFAULT 'tea-house',
     CONSTRAINT "pk_sku" PRIMARY KEY ("sku"),
     CONSTRAINT "fk_sku_merchant" FOREIGN KEY ("merchant_id") REFERENCES "merchant" ("id"),
     CONSTRAINT "ck_sku_price" CHECK ("price" BETWEEN 1 AND 1000000),
     CONSTRAINT "ck_sku_stock" CHECK ("stock" >= 0)
   )`,
  // Deadlines and terms are stored, not computed from placed_at and today's setting: a changed setting
  // must not move the deadline of an order that exists.
  `CREATE TABLE "orders" (
     "id"               uuid NOT NULL,
     "no"               integer GENERATED ALWAYS AS IDENTITY (START WITH 1001),
     "status"           varchar(16) NOT NULL,
     "total"            integer NOT NULL,
     "merchant_id"      varchar(64) COLLATE "C" NOT NULL,
     "pay_deadline"     timestamptz NOT NULL,
     "auto_confirm_at"  timestamptz,
     "confirm_after_ms" bigint NOT NULL,
     "rate_after_ms"    bigint NOT NULL,
     "extended"         boolean NOT NULL DEFAULT false,
     "disputed_at"      timestamptz,
     "close_reason"     text,
     "placed_at"        timestamptz NOT NULL DEFAULT clock_timestamp(),
     "paid_at"          timestamptz,
     "shipped_at"       timestamptz,
     "extended_at"      timestamptz,
     "completed_at"     timestamptz,
     "closed_at"        timestamptz,
     "idempotency_key"  varchar(255),
     "request_hash"     varchar(64),
     CONSTRAINT "pk_orders" PRIMARY KEY ("id"),
     CONSTRAINT "uq_orders_no" UNIQUE ("no"),
     CONSTRAINT "fk_orders_merchant" FOREIGN KEY ("merchant_id") REFERENCES "merchant" ("id"),
     CONSTRAINT "uq_orders_idempotency_key" UNIQUE ("idempotency_key"),
     CONSTRAINT "ck_orders_status"
       CHECK ("status" IN ('UNPAID', 'PAID', 'SHIPPED', 'COMPLETED', 'CLOSED')),
     CONSTRAINT "ck_orders_total" CHECK ("total" > 0),
     CONSTRAINT "ck_orders_close_reason"
       CHECK (("status" = 'CLOSED') = ("close_reason" IS NOT NULL)),
     CONSTRAINT "ck_orders_disputed"
       CHECK ("disputed_at" IS NULL OR "status" IN ('PAID', 'SHIPPED', 'COMPLETED')),
     CONSTRAINT "ck_orders_request_hash"
       CHECK (("idempotency_key" IS NULL) = ("request_hash" IS NULL))
   )`,
  // Serves the reconciler and stays as small as the number of orders that wait for money.
  `CREATE INDEX "ix_orders_unpaid_pay_deadline" ON "orders" ("pay_deadline")
     WHERE "status" = 'UNPAID'`,
  // A page of the orders in one state, newest first.
  `CREATE INDEX "ix_orders_status_no" ON "orders" ("status", "no")`,
  `CREATE TABLE "order_item" (
     "order_id" uuid NOT NULL,
     "sku"      varchar(64) COLLATE "C" NOT NULL,
     "name"     text NOT NULL,
     "price"    integer NOT NULL,
     "quantity" integer NOT NULL,
     CONSTRAINT "pk_order_item" PRIMARY KEY ("order_id", "sku"),
     CONSTRAINT "fk_order_item_order" FOREIGN KEY ("order_id") REFERENCES "orders" ("id"),
     CONSTRAINT "fk_order_item_sku" FOREIGN KEY ("sku") REFERENCES "sku" ("sku"),
     CONSTRAINT "ck_order_item_quantity" CHECK ("quantity" > 0)
   )`,
  // No foreign key on order_id: a provider may report money for an order that the shop does not
  // know. That money is written down and paid back; a refused row would only hide it.
  `CREATE TABLE "payment" (
     "id"            uuid NOT NULL,
     "order_id"      uuid NOT NULL,
     "provider"      varchar(64) NOT NULL,
     "transaction"   varchar(255) NOT NULL,
     "amount"        integer NOT NULL,
     "status"        varchar(16) NOT NULL,
     "refund_reason" text,
     "captured_at"   timestamptz NOT NULL DEFAULT clock_timestamp(),
     "refunded_at"   timestamptz,
     CONSTRAINT "pk_payment" PRIMARY KEY ("id"),
     CONSTRAINT "uq_payment_provider_transaction" UNIQUE ("provider", "transaction"),
     CONSTRAINT "ck_payment_amount" CHECK ("amount" > 0),
     CONSTRAINT "ck_payment_status" CHECK ("status" IN ('CAPTURED', 'REFUND_PENDING', 'REFUNDED')),
     CONSTRAINT "ck_payment_refund_reason"
       CHECK (("status" = 'CAPTURED') = ("refund_reason" IS NULL)),
     CONSTRAINT "ck_payment_refunded_at"
       CHECK (("status" = 'REFUNDED') = ("refunded_at" IS NOT NULL))
   )`,
  `CREATE INDEX "ix_payment_order_id" ON "payment" ("order_id")`,
  `CREATE INDEX "ix_payment_captured_at" ON "payment" ("captured_at", "id")`,
  // Reports under a known transaction that say something else than the first one did.
  `CREATE TABLE "payment_conflict" (
     "id"          uuid NOT NULL,
     "payment_id"  uuid NOT NULL,
     "order_id"    uuid NOT NULL,
     "amount"      integer NOT NULL,
     "reported_at" timestamptz NOT NULL DEFAULT clock_timestamp(),
     CONSTRAINT "pk_payment_conflict" PRIMARY KEY ("id"),
     CONSTRAINT "uq_payment_conflict_report" UNIQUE ("payment_id", "order_id", "amount"),
     CONSTRAINT "fk_payment_conflict_payment" FOREIGN KEY ("payment_id") REFERENCES "payment" ("id"),
     CONSTRAINT "ck_payment_conflict_amount" CHECK ("amount" > 0)
   )`,
  `CREATE INDEX "ix_payment_conflict_order_id" ON "payment_conflict" ("order_id")`,
  `CREATE TABLE "review" (
     "order_id"   uuid NOT NULL,
     "stars"      smallint NOT NULL,
     "source"     varchar(16) NOT NULL,
     "created_at" timestamptz NOT NULL DEFAULT clock_timestamp(),
     CONSTRAINT "pk_review" PRIMARY KEY ("order_id"),
     CONSTRAINT "fk_review_order" FOREIGN KEY ("order_id") REFERENCES "orders" ("id"),
     CONSTRAINT "ck_review_stars" CHECK ("stars" BETWEEN 1 AND 5),
     CONSTRAINT "ck_review_source" CHECK ("source" IN ('buyer', 'automatic'))
   )`,
  `CREATE TABLE "outbox" (
     "id"         bigint GENERATED ALWAYS AS IDENTITY,
     "order_id"   uuid NOT NULL,
     "kind"       varchar(64) NOT NULL,
     "text"       text NOT NULL,
     "created_at" timestamptz NOT NULL DEFAULT clock_timestamp(),
     "sent_at"    timestamptz,
     "dropped_at" timestamptz,
     CONSTRAINT "pk_outbox" PRIMARY KEY ("id"),
     CONSTRAINT "uq_outbox_order_kind" UNIQUE ("order_id", "kind"),
     CONSTRAINT "fk_outbox_order" FOREIGN KEY ("order_id") REFERENCES "orders" ("id"),
     CONSTRAINT "ck_outbox_ended_once" CHECK ("sent_at" IS NULL OR "dropped_at" IS NULL)
   )`,
  `CREATE TABLE "dispute" (
     "id"          uuid NOT NULL,
     "order_id"    uuid NOT NULL,
     "reason"      text NOT NULL,
     "opened_at"   timestamptz NOT NULL DEFAULT clock_timestamp(),
     "released_at" timestamptz,
     CONSTRAINT "pk_dispute" PRIMARY KEY ("id"),
     CONSTRAINT "fk_dispute_order" FOREIGN KEY ("order_id") REFERENCES "orders" ("id")
   )`,
  `CREATE UNIQUE INDEX "uq_dispute_open" ON "dispute" ("order_id") WHERE "released_at" IS NULL`,
  `CREATE INDEX "ix_dispute_order_id" ON "dispute" ("order_id")`,
  `CREATE TABLE "frozen_timer" (
     "order_id" uuid NOT NULL,
     "name"     varchar(64) NOT NULL,
     "left_ms"  bigint NOT NULL,
     CONSTRAINT "pk_frozen_timer" PRIMARY KEY ("order_id", "name"),
     CONSTRAINT "fk_frozen_timer_order" FOREIGN KEY ("order_id") REFERENCES "orders" ("id"),
     CONSTRAINT "ck_frozen_timer_left" CHECK ("left_ms" >= 0)
   )`,
  `CREATE TABLE "campaign" (
     "id"              bigint GENERATED ALWAYS AS IDENTITY,
     "state"           varchar(16) NOT NULL,
     "merchant_id"     varchar(64) COLLATE "C" NOT NULL,
     "message"         text NOT NULL,
     "send_at"         timestamptz NOT NULL,
     "created_at"      timestamptz NOT NULL DEFAULT clock_timestamp(),
     "started_at"      timestamptz,
     "completed_at"    timestamptz,
     "idempotency_key" varchar(255),
     "request_hash"    varchar(64),
     CONSTRAINT "pk_campaign" PRIMARY KEY ("id"),
     CONSTRAINT "uq_campaign_idempotency_key" UNIQUE ("idempotency_key"),
     CONSTRAINT "fk_campaign_merchant" FOREIGN KEY ("merchant_id") REFERENCES "merchant" ("id"),
     CONSTRAINT "ck_campaign_state"
       CHECK ("state" IN ('SCHEDULED', 'RUNNING', 'STOPPED', 'COMPLETED')),
     CONSTRAINT "ck_campaign_completed"
       CHECK (("state" = 'COMPLETED') = ("completed_at" IS NOT NULL)),
     CONSTRAINT "ck_campaign_request_hash"
       CHECK (("idempotency_key" IS NULL) = ("request_hash" IS NULL))
   )`,
  `CREATE TABLE "campaign_recipient" (
     "id"          bigint GENERATED ALWAYS AS IDENTITY,
     "campaign_id" bigint NOT NULL,
     "recipient"   varchar(64) NOT NULL,
     "state"       varchar(16) NOT NULL DEFAULT 'PENDING',
     "attempts"    integer NOT NULL DEFAULT 0,
     "retry_at"    timestamptz NOT NULL DEFAULT clock_timestamp(),
     "tried_at"    timestamptz,
     "sent_at"     timestamptz,
     "error"       text,
     CONSTRAINT "pk_campaign_recipient" PRIMARY KEY ("id"),
     CONSTRAINT "uq_campaign_recipient" UNIQUE ("campaign_id", "recipient"),
     CONSTRAINT "fk_campaign_recipient_campaign"
       FOREIGN KEY ("campaign_id") REFERENCES "campaign" ("id"),
     CONSTRAINT "ck_campaign_recipient_state"
       CHECK ("state" IN ('PENDING', 'SENDING', 'SENT', 'FAILED')),
     CONSTRAINT "ck_campaign_recipient_sent" CHECK (("state" = 'SENT') = ("sent_at" IS NOT NULL))
   )`,
  // Serves the next batch and the counts.
  `CREATE INDEX "ix_campaign_recipient_next"
     ON "campaign_recipient" ("campaign_id", "state", "retry_at")`,
  // The sample provider's own; a provider of yours keeps its books elsewhere.
  `CREATE TABLE "sample_message" (
     "id"           bigint NOT NULL,
     "order_id"     uuid NOT NULL,
     "text"         text NOT NULL,
     "delivered_at" timestamptz NOT NULL DEFAULT clock_timestamp(),
     CONSTRAINT "pk_sample_message" PRIMARY KEY ("id")
   )`,
  `CREATE TABLE "sample_campaign_message" (
     "id"           varchar(64) NOT NULL,
     "campaign_id"  bigint NOT NULL,
     "recipient"    varchar(64) NOT NULL,
     "text"         text NOT NULL,
     "delivered_at" timestamptz NOT NULL DEFAULT clock_timestamp(),
     CONSTRAINT "pk_sample_campaign_message" PRIMARY KEY ("id")
   )`,
  `CREATE TABLE "sample_refund" (
     "payment_id" uuid NOT NULL,
     "amount"     integer NOT NULL,
     "paid_at"    timestamptz NOT NULL DEFAULT clock_timestamp(),
     CONSTRAINT "pk_sample_refund" PRIMARY KEY ("payment_id")
   )`,
  `CREATE TABLE "sample_provider" (
     "id"      integer NOT NULL,
     "refunds" varchar(16) NOT NULL,
     "until"   timestamptz,
     CONSTRAINT "pk_sample_provider" PRIMARY KEY ("id"),
     CONSTRAINT "ck_sample_provider_one" CHECK ("id" = 1),
     CONSTRAINT "ck_sample_provider_refunds" CHECK ("refunds" IN ('work', 'fail', 'refuse'))
   )`,
];

const SEED = [
  `INSERT INTO "sample_provider" ("id", "refunds") VALUES (1, 'work')`,
  `INSERT INTO "merchant" ("id", "name", "time_zone") VALUES
    ('tea-house', 'The tea house', 'Asia/Shanghai'),
    ('kiln',      'The kiln',      'Asia/Tokyo')`,
  `INSERT INTO "sku" ("sku", "name", "price", "stock", "initial_stock") VALUES
    ('TEA-GREEN',   'Green tea, 100 g',        890,   500,   500),
    ('TEA-OOLONG',  'Oolong tea, 100 g',      1490,   300,   300),
    ('CUP-WHITE',   'Cup, white porcelain',   1250,   200,   200),
    ('POT-IRON',    'Tea pot, cast iron',     5900,     5,     5),
    ('TEA-SAMPLE',  'Tea sample, 5 g',         100, 20000, 20000)`,
  `INSERT INTO "sku" ("sku", "name", "price", "stock", "initial_stock", "merchant_id") VALUES
    ('BOWL-RAKU',   'Tea bowl, raku',         7500,    40,    40, 'kiln')`,
];
