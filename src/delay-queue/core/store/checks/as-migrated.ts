/**
 * What the migrations make, as `catalogueSql` says it: one definition behind the other. A test
 * compares it with a database, and writes it:
 * `AS_MIGRATED=write npm test -- test/integration/command-line/as-migrated`
 */
export const AS_MIGRATED = `
column abort: asked_at timestamp with time zone NOT NULL; epoch bigint NOT NULL; id bigint NOT NULL
column delay: attempt_log jsonb; attempts integer NOT NULL DEFAULT 0;
  created_at timestamp with time zone NOT NULL; due_at timestamp with time zone NOT NULL;
  epoch bigint NOT NULL DEFAULT 0; group_id text COLLATE "C"; headers jsonb;
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY; key text COLLATE "C"; last_error text;
  lease_lock bigint; leased_by text; leased_until timestamp with time zone; max_attempts integer;
  move_log jsonb; name text COLLATE "C" NOT NULL; payload jsonb NOT NULL; refused_by text[];
  repeat jsonb; wake_at timestamp with time zone NOT NULL
column history: attempt_log jsonb; attempts integer NOT NULL;
  created_at timestamp with time zone NOT NULL; due_at timestamp with time zone NOT NULL;
  ended_at timestamp with time zone NOT NULL; ended_by text; epoch bigint NOT NULL; error text;
  group_id text COLLATE "C"; headers jsonb; id bigint NOT NULL; key text COLLATE "C";
  lateness_ms double precision; move_log jsonb; name text COLLATE "C" NOT NULL; node text;
  state text COLLATE "C" NOT NULL
column node: declared_at timestamp with time zone; deployment text; id text COLLATE "C" NOT NULL;
  idle_until timestamp with time zone; instance text COLLATE "C"; names text[] NOT NULL;
  present boolean NOT NULL; seen_at timestamp with time zone NOT NULL;
  started_at timestamp with time zone NOT NULL
column operation: action text COLLATE "C" NOT NULL; asked jsonb NOT NULL; counts jsonb NOT NULL;
  ended_as text; ended_at timestamp with time zone; error text; expected bigint; expected_is text;
  id bigint NOT NULL; node text NOT NULL;
  scope jsonb NOT NULL DEFAULT '{"names": null, "groups": null}'::jsonb;
  seen_at timestamp with time zone NOT NULL; started_at timestamp with time zone NOT NULL;
  stop_asked boolean NOT NULL DEFAULT false; who text COLLATE "C" NOT NULL; why text
column operation_change: delay_id bigint NOT NULL; key text COLLATE "C";
  name text COLLATE "C" NOT NULL; operation_id bigint NOT NULL; ord integer NOT NULL;
  verdict text NOT NULL
column pause: group_id text COLLATE "C" NOT NULL; name text COLLATE "C" NOT NULL;
  paused_at timestamp with time zone NOT NULL; paused_by text; reason text;
  until timestamp with time zone NOT NULL
column permit: epoch bigint NOT NULL; group_id text COLLATE "C" NOT NULL; id bigint NOT NULL;
  name text COLLATE "C" NOT NULL
column quota: filled_at timestamp with time zone NOT NULL; full_since timestamp with time zone;
  full_slots integer; full_until timestamp with time zone; group_id text COLLATE "C" NOT NULL;
  name text COLLATE "C" NOT NULL; tokens double precision NOT NULL
column rerun: asked_at timestamp with time zone NOT NULL;
  created_at timestamp with time zone NOT NULL; due_at timestamp with time zone NOT NULL;
  group_id text COLLATE "C"; headers jsonb; id bigint NOT NULL; key text COLLATE "C" NOT NULL;
  max_attempts integer; max_wait_ms double precision; name text COLLATE "C" NOT NULL;
  payload jsonb NOT NULL
constraint abort: abort_pkey PRIMARY KEY (id, epoch)
constraint delay: delay_check CHECK (((leased_by IS NULL) = (leased_until IS NULL)));
  delay_due_at_readable CHECK (isfinite(due_at));
  delay_leased_until_readable CHECK (isfinite(leased_until)); delay_pkey PRIMARY KEY (id)
constraint history: history_pkey PRIMARY KEY (ended_at, id, epoch)
constraint node: node_instants_readable CHECK ((isfinite(started_at) AND isfinite(seen_at) AND (isfinite(idle_until) IS NOT FALSE) AND (isfinite(declared_at) IS NOT FALSE)));
  node_pkey PRIMARY KEY (id)
constraint operation: operation_pkey PRIMARY KEY (id)
constraint operation_change: operation_change_pkey PRIMARY KEY (operation_id, ord)
constraint pause: pause_paused_at_readable CHECK (isfinite(paused_at));
  pause_pkey PRIMARY KEY (name, group_id)
constraint permit: permit_pkey PRIMARY KEY (name, group_id, id, epoch)
constraint quota: quota_pkey PRIMARY KEY (name, group_id);
  quota_readable CHECK ((isfinite(filled_at) AND (tokens >= (0)::double precision)))
constraint rerun: rerun_due_at_readable CHECK (isfinite(due_at)); rerun_pkey PRIMARY KEY (name, key)
function cancel: cancel(text,text) text plpgsql SECURITY DEFINER SET search_path=pg_catalog, pg_temp SET enable_seqscan=off text bbe919fa30fac757
function cancel_one: cancel_one(text,text,text) text plpgsql SET search_path=pg_catalog, pg_temp SET enable_seqscan=off text e3a8dec2e06d78a0
function find: find(text,text) record plpgsql SECURITY DEFINER a set SET search_path=pg_catalog, pg_temp SET enable_seqscan=off text fd351a9995972ed6
function reschedule: reschedule(text,text,interval,timestamptz) rescheduled plpgsql SECURITY DEFINER SET search_path=pg_catalog, pg_temp SET enable_seqscan=off text 7c39ec9ea3e4c69d
function schedule: schedule(text,jsonb,interval,timestamptz,text,text,jsonb,text,int4) scheduled plpgsql SECURITY DEFINER SET search_path=pg_catalog, pg_temp SET enable_seqscan=off text 8ec777543a801a93
function schedule_one: schedule_one(text,text,text,float8,timestamptz,int4,text,jsonb) text plpgsql SET search_path=pg_catalog, pg_temp SET enable_seqscan=off text f1b32dd3d40f75d4
index delay: delay_group CREATE INDEX delay_group ON delay USING btree (group_id, id) WHERE (group_id IS NOT NULL);
  delay_key CREATE UNIQUE INDEX delay_key ON delay USING btree (name, key) WHERE (key IS NOT NULL);
  delay_repeat CREATE INDEX delay_repeat ON delay USING btree (name) WHERE (repeat IS NOT NULL);
  delay_wake CREATE INDEX delay_wake ON delay USING btree (wake_at, id) WHERE (wake_at IS NOT NULL)
index history: history_group CREATE INDEX history_group ON history USING btree (group_id, ended_at) WHERE (group_id IS NOT NULL);
  history_key CREATE INDEX history_key ON history USING btree (name, key, ended_at) WHERE (key IS NOT NULL)
index operation_change: operation_change_key CREATE INDEX operation_change_key ON operation_change USING btree (key, operation_id) WHERE (key IS NOT NULL)
sequence delay: id bigint START 1 INCREMENT 1 MINVALUE 1 MAXVALUE 9223372036854775807 CACHE 1
table abort: abort
table delay: delay autovacuum_analyze_scale_factor=0.05, autovacuum_vacuum_scale_factor=0.02, fillfactor=50
table history: history
table node: node fillfactor=50
table operation: operation fillfactor=50
table operation_change: operation_change
table pause: pause
table permit: permit
table quota: quota fillfactor=50
table rerun: rerun fillfactor=50
`;
