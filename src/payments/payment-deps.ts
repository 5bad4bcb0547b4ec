import type { Database } from '#src/database/client.ts';
import type { RateLimiter } from '#src/http/rate-limit.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { Ids } from '#src/platform/ids.ts';
import type { Log } from '#src/platform/log.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { Fulfilments } from './fulfilment.ts';
import type { PaymentProviders } from './payment-providers.ts';

/** What settling needs, in requests and in jobs alike. */
export interface PaymentDeps {
  readonly db: Database;
  readonly clock: Clock;
  /** Names this process among all that share the database. */
  readonly processId: Buffer;
  readonly ids: Ids;
  readonly log: Log;
  readonly secrets: Secrets;
  readonly payments: PaymentProviders;
  readonly fulfilments: Fulfilments;
  /** Where the service itself answers. */
  readonly config: { readonly baseUrl: string };
  /** Shared by the processes. Jobs have none: what they ask is bounded by what happened. */
  readonly rateLimiter?: RateLimiter;
}

/** What a checkout needs besides: it is limited for each visitor. */
export interface CheckoutDeps extends PaymentDeps {
  readonly rateLimiter: RateLimiter;
}
