import type { Answer, Arguments, CallOptions, CastBody, CastOutcome, ListPath, Method, Page, PathOf, Resources, Row } from './types.ts';
export interface ClientOptions {
    /** The address of the service: `https://vote.example`. */
    readonly baseUrl: string;
    /** The API key. Keep it on your server. */
    readonly key: string;
    /** How often a call is sent again where that is safe: 4 times unless said otherwise. */
    readonly maxRetries?: number;
    /** How long one try may take, in milliseconds: 30,000 unless said otherwise. */
    readonly timeoutMs?: number;
    /** Sends the requests instead of the global `fetch`. */
    readonly fetch?: typeof globalThis.fetch;
}
export interface WaitOptions {
    /** In milliseconds: 10 minutes unless said otherwise. */
    readonly timeoutMs?: number;
    readonly signal?: AbortSignal;
}
/**
 * A client of the Voting Service API. `get`, `post`, `put`, `patch` and `delete` take a path as the reference writes it, and
 * answer the body of the answer. Calls that meet 429, 5xx or a fault of the network are sent again; POSTs bear an
 * Idempotency-Key, so that none has its effect twice.
 */
export declare class VotingService {
    #private;
    /** @throws TypeError for a `baseUrl` that is no address, or a key that no header can hold, such as one with a line break */
    constructor({ baseUrl, key, maxRetries, timeoutMs, fetch }: ClientOptions);
    get<P extends PathOf<'get'>>(path: P, ...[input]: Arguments<'get', P>): Promise<Answer<'get', P>>;
    post<P extends PathOf<'post'>>(path: P, ...[input]: Arguments<'post', P>): Promise<Answer<'post', P>>;
    put<P extends PathOf<'put'>>(path: P, ...[input]: Arguments<'put', P>): Promise<Answer<'put', P>>;
    patch<P extends PathOf<'patch'>>(path: P, ...[input]: Arguments<'patch', P>): Promise<Answer<'patch', P>>;
    delete<P extends PathOf<'delete'>>(path: P, ...[input]: Arguments<'delete', P>): Promise<Answer<'delete', P>>;
    /** The answer itself, its body unread: for files, and for headers. Retries and errors as everywhere. */
    fetch<M extends Method, P extends PathOf<M>>(method: M, path: P, ...[input]: Arguments<M, P>): Promise<Response>;
    /** The pages of a list, one after the other. */
    pages<P extends ListPath>(path: P, ...[input]: Arguments<'get', P>): AsyncGenerator<Page<P>, void>;
    /** The rows of a list, over all its pages. A page is asked for when its first row is. */
    rows<P extends ListPath>(path: P, ...input: Arguments<'get', P>): AsyncGenerator<Row<P>, void>;
    /**
     * Casts a ballot, or answers where the payer pays first. Afterwards call it again with `{ paymentAttemptId }` alone.
     * @throws VotingServiceError for every other refusal
     */
    castOrPay(idOrCode: string, body: CastBody, options?: CallOptions): Promise<CastOutcome>;
    /**
     * Waits until a payment has ended, well (`succeeded`, `fulfilled`) or not (`failed`, `cancelled`): look at its `status`.
     * @throws PaymentPendingError when it is still open after `timeoutMs`
     */
    waitForPayment(idOrCode: string, paymentAttemptId: string, { timeoutMs, signal }?: WaitOptions): Promise<Resources['PaymentAttempt']>;
}
