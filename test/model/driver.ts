/** What a history does to the service, and nothing else: the model's program and generator know the service through this alone. */

export type DriverProvider = 'provider_a' | 'provider_b';
export type DriverPlan = 'free' | 'pro' | 'enterprise';

export interface DriverRequest {
  /** Which of the processes answers: 0 or 1. */
  readonly process: number;
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; nothing is sent where it is undefined. */
  readonly body?: unknown;
}

export interface DriverAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed where it is JSON, otherwise the text; '' where there is none. */
  readonly body: unknown;
}

export interface DriverMail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** The voter key in it (`XXXX-XXXX-XXXX-XXXX`), if any. */
  readonly voterKey: string | undefined;
}

export interface DriverMessage {
  readonly provider: DriverProvider;
  readonly businessId: string;
  readonly type: string;
}

/** The running service of one history: two processes on one database, a mail folder, both payment providers played over HTTP. */
export interface Driver {
  call(request: DriverRequest): Promise<DriverAnswer>;
  /** The service's present time in Unix ms: the real clock plus everything that it was advanced by. */
  now(): number;
  /** Moves the time of database, processes and providers on by `ms`; what became due is done by the next `settle`. */
  advance(ms: number): Promise<void>;
  /** Returns once nothing is queued that is due: deletions, mails, webhooks, provider messages that are not held, the closing of events, their log. */
  settle(): Promise<void>;

  createAccount(plan: DriverPlan): Promise<{ readonly id: string }>;
  setPlan(accountId: string, plan: DriverPlan): Promise<void>;
  createKey(input: {
    readonly accountId: string;
    readonly scopes: readonly ('read' | 'write' | 'vote' | 'observe')[];
    readonly eventId?: string;
    readonly expiresInDays?: number;
  }): Promise<{ readonly id: string; readonly key: string }>;
  revokeKey(keyId: string): Promise<void>;
  /** A ready sandbox business: `provider_a` supports usd and jpy among others, `provider_b` ngn. */
  connectBusiness(accountId: string, provider: DriverProvider): Promise<{ readonly id: string }>;

  /** Every mail written since the history began, oldest first; call `settle` before it. */
  mails(): Promise<readonly DriverMail[]>;

  /** What a payer does on the hosted page. */
  pay(
    checkoutUrl: string,
    outcome: 'pay' | 'fail' | 'cancel',
  ): Promise<{ readonly status: number; readonly location: string }>;
  /** While held, the providers' signed messages are kept back in the order in which they arose; otherwise they are sent at once. */
  holdMessages(held: boolean): Promise<void>;
  /** The messages kept back. */
  heldMessages(): Promise<readonly DriverMessage[]>;
  /** Sends the kept back messages in this order (indexes into `heldMessages()`; one may be named twice), and forgets all. Answers the service's statuses. */
  deliverMessages(order: readonly number[]): Promise<readonly number[]>;
  /** A refund that the merchant makes at the provider (of the last payment of this checkout), or a dispute. A dispute is opened, then won or lost. */
  merchantRefund(checkoutUrl: string): Promise<void>;
  dispute(checkoutUrl: string, step: 'opened' | 'won' | 'lost'): Promise<void>;

  /** Kills one process with -9 and starts it again. */
  restart(process: number): Promise<void>;
  /** `SECRET_KEY` becomes a new key followed by the ones before; both processes start again. */
  rotateSecretKey(): Promise<void>;

  /** The invariants of one event, read from the database: one line for each that is broken. Call `settle` before it. */
  brokenInvariants(eventId: string): Promise<readonly string[]>;
  /** The operator's recount of an event: the lines that disagree; none where all is right. */
  recount(eventId: string): Promise<readonly string[]>;
  /** The outside verifier over HTTP with a vote or observe key of the event: what is wrong; none where all is right as far as it goes. */
  verifyLog(eventId: string, key: string): Promise<readonly string[]>;

  /** Ends the history. The next one gets a fresh world. */
  reset(): Promise<void>;
  stop(): Promise<void>;
}

/** @param options.processes real processes (kill -9 is possible) or services within this process (much faster: `restart` stops and starts one) */
export type StartDriver = (options: { readonly kind: 'processes' | 'within' }) => Promise<Driver>;
