import type { Authenticator } from '#src/accounts/authenticate.ts';
import type { Plans } from '#src/accounts/plans.ts';
import type { BallotDefinitionCache } from '#src/ballot-definition/ballot-definition.ts';
import type { Acknowledged } from '#src/ballot-log/acknowledged.ts';
import type { CheckpointMemory } from '#src/ballot-log/checkpoint-memory.ts';
import type { NoteSigner } from '#src/ballot-log/signed-note.ts';
import type { BallotWriter } from '#src/ballots/repository.ts';
import type { ConsoleFeed } from '#src/console/console-feed.ts';
import type { Database, Transaction } from '#src/database/client.ts';
import type { DatabaseClock } from '#src/database/database-clock.ts';
import type { IdempotencyStore } from '#src/http/idempotency.ts';
import type { Load } from '#src/http/load.ts';
import type { LoopWatch } from '#src/http/loop-watch.ts';
import type { LeasesByKind } from '#src/http/request-life.ts';
import type { Mailer } from '#src/mail/mailer.ts';
import type { PaymentProviders } from '#src/payments/payment-deps.ts';
import type { Ids } from '#src/platform/ids.ts';
import type { Log } from '#src/platform/log.ts';
import type { Presence } from '#src/platform/presence.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { ThreadPool } from '#src/platform/thread-pool.ts';
import type { Counting } from '#src/results/counting.ts';
import type { ServiceLogKey } from '#src/service-log/sequence-service-log.ts';
import type { DomainCheck } from '#src/voters/register-voter.ts';
import type { EventCache, Organizer } from '#src/voting-events/access.ts';
import type { BallotKeys } from '#src/voting-events/ballot-keys.ts';
import type { LogRecorder } from '#src/voting-events/create-event.ts';
import type { Pricing } from '#src/voting-events/pricing.ts';
import type { LockedEvent } from '#src/voting-events/repository.ts';
import type { OwnInbox } from '#src/webhooks/own-inbox.ts';
import type { BallotPublisher } from '#src/webhooks/publish-ballots.ts';
import type { WebhookReach } from '#src/webhooks/receiver-url.ts';
import type { Config } from './config.ts';

export interface Standing {
  isServed: boolean;
  /** When the cell last answered a heartbeat, by `monotonicMs`; infinite if no heartbeat runs. */
  answeredAt: number;
}

/** Everything on which requests and jobs depend, for one cell (one of the service's databases). */
export interface Deps {
  /** Counts the ballots of events, in this thread or another. */
  readonly counting: Counting;
  readonly config: Config;
  readonly version: string;
  /** The name of this cell; `main` if there is only one database. */
  readonly cell: string;
  /** All cells by name, with this one. The cells themselves are asked what they contain: a directory could differ from them. */
  readonly cells: ReadonlyMap<string, Deps>;
  /** Whether this process has found that the cell's database belongs to this service, and when it last answered. */
  readonly standing: Standing;
  /** May contain a password: never log it. */
  readonly databaseUrl: string;
  readonly db: Database;
  /** A separate pool for searches, statistics and long lists, which must not take connections away from casts and confirms. */
  readonly reads: Database;
  /** For reads that a replica can answer: `reads` if DATABASE_READ_URL is set, `db` otherwise. */
  readonly copy: Database;
  /** Separate pools for jobs, which must not wait for connections that others use. */
  readonly jobDatabases: { readonly mails: Database; readonly deletions: Database; readonly webhooks: Database };
  readonly clock: DatabaseClock;
  /** Identifies this process among all processes that use the database: 16 random bytes. */
  readonly processId: Buffer;
  readonly idempotency: IdempotencyStore;
  readonly load: Load;
  readonly loopWatch: LoopWatch;
  readonly leases: LeasesByKind;
  readonly presence: Presence;
  /** Threads for work that would block the event loop: long counts, reports, large bodies. */
  readonly threads: ThreadPool;
  /** Separate threads for the final counts of closing events, so that requests never delay a close. */
  readonly closeThreads: ThreadPool;
  /** Separate threads for letters, because a file takes minutes. */
  readonly letterThreads: ThreadPool;
  readonly ids: Ids;
  readonly log: Log;
  readonly mailer: Mailer;
  readonly secrets: Secrets;
  readonly ballotKeys: BallotKeys;
  readonly logRecorder: LogRecorder;
  /** Sets voters whom a key approved in a rehearsal back to pending. `voters` implements it, because it makes their tags (MACs). */
  readonly takeApprovalsBack: (tx: Transaction, event: LockedEvent) => Promise<void>;
  /** Adds the candidates Yes, No and Abstain to each referendum that has no candidates. */
  readonly giveOptions: (tx: Transaction, organizer: Organizer) => Promise<void>;
  /** Signs the checkpoints of ballot logs, and the promises to voters. */
  readonly logKey: NoteSigner;
  /** Stores the last checkpoint of each log outside of the database. */
  readonly checkpoints: CheckpointMemory;
  /** Ballots that this process confirmed. By these, it detects their removal by direct SQL. */
  readonly acknowledged: Acknowledged;
  readonly ballotPublisher: BallotPublisher;
  /** The signer of the service's own log, and the memory of its head. */
  readonly serviceLog: ServiceLogKey;
  readonly plans: Plans;
  readonly authenticator: Authenticator;
  readonly events: EventCache;
  readonly definitions: BallotDefinitionCache;
  readonly domainCheck: DomainCheck;
  readonly ballots: BallotWriter;
  readonly payments: PaymentProviders;
  readonly pricing: Pricing;
  /** The content of the console; undefined if the service has no console. */
  readonly consoleFeed: ConsoleFeed | undefined;
  /** URL of the sandbox that simulates payment providers; undefined if none runs. */
  readonly sandboxUrl: string | undefined;
  readonly ownInbox: OwnInbox;
  readonly webhookReach: WebhookReach;
}
