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
import type { Secrets } from '#src/platform/secrets.ts';
import type { ThreadPool } from '#src/platform/thread-pool.ts';
import type { Counting } from '#src/results/counting.ts';
import type { ServiceLogKey } from '#src/service-log/sequence-service-log.ts';
import type { DomainCheck } from '#src/voters/register-voter.ts';
import type { EventCache, Organizer } from '#src/voting-events/access.ts';
import type { BallotKeys } from '#src/voting-events/ballot-keys.ts';
import type { LogRecorder } from '#src/voting-events/create-event.ts';
import type { Pricing } from '#src/voting-events/pricing.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import type { OwnInbox } from '#src/webhooks/own-inbox.ts';
import type { BallotPublisher } from '#src/webhooks/publish-ballots.ts';
import type { WebhookReach } from '#src/webhooks/webhook-endpoint.ts';
import type { Config } from './config.ts';

/** Everything that a request or job may use of the outside world. */
export interface Deps {
  /** Counts events, here or in a thread. */
  readonly counting: Counting;
  readonly config: Config;
  readonly version: string;
  readonly db: Database;
  /** Connections for searches, statistics and long lists: casts and confirms never wait for one of these. */
  readonly reads: Database;
  /** The same where DATABASE_READ_URL names a copy of the database, `db` otherwise: for what a copy answers as well. */
  readonly copy: Database;
  /** Connections of the jobs that must never wait for anything else's. */
  readonly jobDatabases: { readonly mails: Database; readonly deletions: Database; readonly webhooks: Database };
  readonly clock: DatabaseClock;
  /** Names this process among all that share the database, 16 random bytes. */
  readonly processId: Buffer;
  readonly idempotency: IdempotencyStore;
  readonly load: Load;
  readonly loopWatch: LoopWatch;
  readonly leases: LeasesByKind;
  /** For what would hold up other requests: long counts, reports, large bodies. */
  readonly threads: ThreadPool;
  /** Closes have their own threads, so that nothing that is asked for stands before one. */
  readonly closeThreads: ThreadPool;
  readonly ids: Ids;
  readonly log: Log;
  readonly mailer: Mailer;
  readonly secrets: Secrets;
  readonly ballotKeys: BallotKeys;
  readonly logRecorder: LogRecorder;
  /** Lets voters wait again whom a key approved in the rehearsal; the room of the voters writes their tags. */
  readonly takeApprovalsBack: (tx: Transaction, event: VotingEvent) => Promise<void>;
  /** Gives Yes, No and Abstain to each referendum without candidates. */
  readonly giveOptions: (tx: Transaction, organizer: Organizer) => Promise<void>;
  /** Signs the checkpoints of ballot logs, and the promises to voters. */
  readonly logKey: NoteSigner;
  /** Remembers outside of the database what was signed last. */
  readonly checkpoints: CheckpointMemory;
  /** What this process has confirmed, to miss it where SQL takes it. */
  readonly acknowledged: Acknowledged;
  readonly ballotPublisher: BallotPublisher;
  /** Signs the service's own log, and remembers its head. */
  readonly serviceLog: ServiceLogKey;
  readonly plans: Plans;
  readonly authenticator: Authenticator;
  readonly events: EventCache;
  readonly definitions: BallotDefinitionCache;
  readonly domainCheck: DomainCheck;
  readonly ballots: BallotWriter;
  readonly payments: PaymentProviders;
  readonly pricing: Pricing;
  /** What the console shows; undefined where the service has none. */
  readonly consoleFeed: ConsoleFeed | undefined;
  /** Where the sandbox of payment providers answers; undefined where there is none. */
  readonly sandboxUrl: string | undefined;
  readonly ownInbox: OwnInbox;
  readonly webhookReach: WebhookReach;
}
