import { z } from 'zod';
import { notFound } from '#src/platform/errors.ts';

/** Timeout of the sandbox, which is another program on this machine: it answers at once or not at all. */
const ANSWER_MS = 2_000;

export const OUTCOMES = ['pay', 'fail', 'cancel'] as const;
type Outcome = (typeof OUTCOMES)[number];

/** The last segment of a payment page's URL. */
export const pageIdField = () => z.string().regex(/^[\w-]{1,200}$/, 'must be the end of the address of a payment page');

/** The console passes the sandbox's pages on unchanged, and reads none of their fields. */
const pagesAnswer = z.object({ data: z.array(z.looseObject({})) });

const ask = async (url: string, init: RequestInit): Promise<Response> =>
  fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(ANSWER_MS) });

/** The newest payment pages, newest first. @param sandboxUrl base URL of the sandbox */
export async function listPayments(sandboxUrl: string): Promise<object[]> {
  const answer = await ask(`${sandboxUrl}/_sandbox/pages`, {});
  return pagesAnswer.parse(await answer.json()).data;
}

/** Pays, declines or cancels as a payer does on the page. @throws ApiError `not_found` for an unknown page */
export async function decidePayment(sandboxUrl: string, pageId: string, outcome: Outcome): Promise<void> {
  const answer = await ask(`${sandboxUrl}/pay/${pageId}`, { method: 'POST', body: new URLSearchParams({ outcome }) });
  await answer.body?.cancel();
  if (answer.status === 404) throw notFound();
  if (answer.status !== 303) throw new Error(`the sandbox answered ${answer.status} to a decision`);
}

/** Ages the open pages, so that they expire. @param advanceMs milliseconds */
export async function advanceClock(sandboxUrl: string, advanceMs: number): Promise<void> {
  const headers = { 'Content-Type': 'application/json' };
  const answer = await ask(`${sandboxUrl}/_sandbox/clock`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ advanceMs }),
  });
  await answer.body?.cancel();
  if (!answer.ok) throw new Error(`the sandbox answered ${answer.status} to its clock`);
}
