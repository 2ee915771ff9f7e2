import { VACUUM_NAMES } from './churn-settings.js';
import { SCENARIOS } from './command-line.js';

export const USAGE = `npm run bench -- [scenario …] [options]

Scenarios: ${SCENARIOS.join(' ')} (default: all)

  --rounds 5            interleaved rounds; results are median and range
  --systems ours,table  only systems whose name contains one of these
  --json FILE           the results as JSON, too, with the figures of each round
  --help

enqueue   --calls 20000 --in-flight 50 --bulk 1000,10000 --bulk-count 100000
cancel    --calls 20000 --in-flight 50 --pending 0 (or 0,10000000)
drain     --count 50000 --processes 1 --concurrency default,1000 --handlers async (or plain,async,update)
          --workers cold (or cold,starting,standing: also with workers that have run before, or are up)
          --backlog 0 (delays of the far future beside a second drain, as 1000000)
overdue   --overdue 100000 --concurrency 1000 (the last, as in lateness and idle)
          --pending 0 (delays of the far future beside them, as 1000,10000000)
groups    (no options)
tenants   (no options)
rate-limit --limit-seconds 60 (600: ten minutes)
admin     --idle-pending 100000 (or 1000,10000000: live delays)
burst     --burst-orders 10000 --burst-skus 200 --burst-batch 200 --processes 1
shop      --orders-per-second 100 --seconds 120 --connections 50
lateness  --rates 200,1000 --seconds 10 --pending 0 (or 0,1000000,10000000)
commit    --rates 200,1000 --seconds 10
attempt   (no options)
main-job  --orders 10000
in-transaction (no options)
plans     --count 50000
churn     --churn fillfactor,vacuum (default: fillfactor) --churn-waiting 20000
          --fillfactors 100,90,70,50
          fillfactor: --churn-count 200000
          vacuum: --vacuums ${VACUUM_NAMES.join()} --churn-rate 1000 --churn-seconds 60 --churn-keep 15
endurance --endurance-seconds 1800 --endurance-rate 2000 --ahead 60,600 (seconds)
          --hold-snapshot (in the middle third)
idle      --idle-pending 100000 (or 100000,1000000) --idle-seconds 30

npm run bench -- --charts FILE[,FILE …] [--charts-into docs/performance]
draws what --json wrote, as SVG, and measures nothing.

BENCH_DATABASE_URL names a Postgres to use (a superuser's, databases are created and dropped there);
otherwise one is started, with fsync and synchronous_commit on, and removed at the end.`;
