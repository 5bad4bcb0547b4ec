import type { webhooks as messages } from './schema.d.ts';
type MessageOf<Webhook> = Webhook extends {
    post: {
        requestBody: {
            content: {
                'application/json': infer Message;
            };
        };
    };
} ? Message : never;
/** A message to a webhook endpoint; `type` says what `data` is. Pass over types that you do not know: new ones may come. */
export type WebhookMessage = {
    [Type in keyof messages]: MessageOf<messages[Type]>;
}[keyof messages];
/** The headers of the request, as Node's `request.headers` or as `Headers`. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
export interface VerifyOptions {
    /** How far the message's time may be from this machine's, in seconds. 300 unless said otherwise. */
    readonly toleranceSeconds?: number;
}
/** Not a message of the service, or too old: answer 401, and do nothing. */
export declare class WebhookVerificationError extends Error {
    name: string;
}
/**
 * Verifies a message by Standard Webhooks 1.0, and parses it.
 * @param body as it came: parsing and writing it again breaks the signature
 * @param secret of the endpoint; several where one receiver serves several endpoints
 * @throws WebhookVerificationError for a message that the service has not signed, or not within the tolerance
 */
declare function verify(body: string | Uint8Array, headers: WebhookHeaders, secret: string | readonly string[], { toleranceSeconds }?: VerifyOptions): Promise<WebhookMessage>;
/** Messages that the service sends to your endpoints. */
export declare const webhooks: {
    verify: typeof verify;
};
export {};
