import { Hono } from 'hono';
import { z } from 'zod';
import type { Deps } from '#src/deps.ts';
import { gone } from '#src/http/answer.ts';
import { type AnswerShapes, answersNothing, answersText } from '#src/http/answer-shapes.ts';
import { body } from '#src/http/body.ts';
import { STRANGER } from '#src/http/caller.ts';
import type { Env } from '#src/http/env.ts';
import type { ObservedRequest } from '#src/http/errors.ts';
import { operation } from '#src/http/operation.ts';
import { readRequestBody } from '#src/http/read-body.ts';
import { answer } from '#src/http/send.ts';
import { HOUR_MS } from '#src/platform/clock.ts';
import { notFound } from '#src/platform/errors.ts';
import { resendMessage } from '#src/webhooks/newest-deliveries.ts';
import { INBOX_NAME, verifyAtInbox } from '#src/webhooks/own-inbox.ts';
import type { ConsoleFeed } from './console-feed.ts';
import { requireToken } from './guard-console.ts';
import { streamLive } from './live-stream.ts';
import { MAIL_POLICY, mailPage, renderConsolePage } from './render-console-page.ts';
import { advanceClock, decidePayment, OUTCOMES, pageIdField } from './sandbox-payments.ts';

/** Declares an operation of the console: undocumented, without a key, untraced and not rate-limited. */
const ofConsole = <Path extends string>(
  operationId: string,
  summary: string,
  route: `${'GET' | 'POST'} ${Path}`,
  answers: AnswerShapes,
  more: { readonly bytes?: true } = {},
) =>
  operation(operationId, route, {
    ...{ summary, scope: 'none', answers, ...more },
    ...{ undocumented: true, untraced: true, unlimited: true },
  });

/** Whether a request was for the console itself, which does not show such requests. */
export const isOfConsole = ({ route }: Pick<ObservedRequest, 'route'>): boolean => /^\/console(?:\/|$)/.test(route);

const replayBody = z.strictObject({ endpointId: z.string().max(100), messageId: z.string().max(100) });

const decideBody = z.strictObject({ pageId: pageIdField(), outcome: z.enum(OUTCOMES) });

const advanceBody = z.strictObject({
  advanceMs: z
    .int()
    .min(1)
    .max(48 * HOUR_MS),
});

/** Most bytes of a received message, more than any message of this service. */
const MAX_MESSAGE_BYTES = 256 * 1024;

const HTML = 'text/html; charset=utf-8';
/** Headers that isolate the console's pages from other pages. */
const PRIVATE = {
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** Mounted only if `offersConsole` allows it, and always behind `guardConsole`. */
export function consoleRouter(deps: Deps, feed: ConsoleFeed): Hono<Env> {
  const token = requireToken(() => feed.start.token);
  /** @throws ApiError 404 if no sandbox runs */
  const requireSandbox = (): string => {
    if (deps.sandboxUrl === undefined) throw notFound();
    return deps.sandboxUrl;
  };
  const router = new Hono<Env>();
  router.on(
    ...ofConsole('getConsole', 'The console of a developer', 'GET /', answersText('text/html', 'The page.')),
    async (c) => {
      const { text, policy } = renderConsolePage(deps.config.companyName, feed.start);
      const headers = { ...PRIVATE, 'Content-Security-Policy': policy };
      return answer(c, { status: 200, text: { content: text, type: HTML }, headers });
    },
  );
  router.on(
    ...ofConsole(
      'streamConsole',
      'What the console shows, as it happens',
      'GET /live',
      answersText('text/event-stream', 'Server-sent events.'),
    ),
    async (c) => {
      const life = c.get('life');
      await life.take(deps.leases.consoleStreams, STRANGER);
      const left = new AbortController();
      life.gone.addEventListener('abort', () => left.abort());
      // `life.gone` does not fire if a peer closes only its sending side, as it may still read an answer. The stream must end then, too.
      c.env.incoming.socket.once('end', () => left.abort());
      const stream = { open: () => streamLive(deps, feed, left.signal), type: 'text/event-stream' };
      // Close the connection with the stream: otherwise a service that stops would wait for it.
      return answer(c, { status: 200, stream, headers: { ...PRIVATE, Connection: 'close' } });
    },
  );
  router.on(
    ...ofConsole(
      'getConsoleMail',
      'A mail as mail programs show it',
      'GET /mails/:id',
      answersText('text/html', 'The mail.'),
    ),
    async (c) => {
      const mail = feed.findMail(c.req.param('id'));
      if (mail === undefined || mail.html === null) throw notFound();
      const headers = { ...PRIVATE, 'Content-Security-Policy': MAIL_POLICY };
      return answer(c, { status: 200, text: { content: mailPage(mail.html), type: HTML }, headers });
    },
  );
  router.on(
    ...ofConsole(
      'receiveInConsole',
      'Receive a message of a webhook endpoint',
      `POST /inbox/:name{${INBOX_NAME.source.slice(1, -1)}}`,
      answersNothing('It is shown in the console.'),
      { bytes: true },
    ),
    async (c) => {
      const text = Buffer.from(await readRequestBody(c.env.incoming, MAX_MESSAGE_BYTES)).toString('utf8');
      const inbox = c.req.param('name');
      const headers = Object.fromEntries(
        Object.entries(c.env.incoming.headers).map(([name, value]) => [name, String(value)]),
      );
      const at = deps.clock.now();
      const verdict = await verifyAtInbox(deps, inbox, headers, text, at);
      feed.addMessage({ at, inbox, headers, body: text, ...verdict });
      return answer(c, gone);
    },
  );
  /** Adds an operation for an action of the page, after which the stream sends what has changed. */
  const addAction = <Body extends z.ZodType>(
    operationId: string,
    summary: string,
    route: `POST /${string}`,
    done: string,
    schema: Body,
    act: (sent: z.output<Body>) => Promise<void>,
  ) =>
    router.on(...ofConsole(operationId, summary, route, answersNothing(done)), token, body(schema), async (c) => {
      await act(c.get('body'));
      feed.noteChange();
      return answer(c, gone);
    });
  addAction(
    'replayInConsole',
    'Send a message to its endpoint again',
    'POST /replays',
    'It is sent within a second.',
    replayBody,
    ({ endpointId, messageId }) => resendMessage(deps.db, endpointId, messageId),
  );
  addAction(
    'decideInConsole',
    'Pay, decline or cancel on a page of the sandbox',
    'POST /payments',
    'The sandbox has done so.',
    decideBody,
    ({ pageId, outcome }) => decidePayment(requireSandbox(), pageId, outcome),
  );
  addAction(
    'advanceInConsole',
    'Make the open pages of the sandbox older',
    'POST /clock',
    'They are.',
    advanceBody,
    ({ advanceMs }) => advanceClock(requireSandbox(), advanceMs),
  );
  return router;
}
