import type { Client } from 'pg';
import { codeTagOf } from '#src/ballots/waiting-ballot.ts';
import type { Deps } from '#src/deps.ts';
import { confirmationCodePlace } from '#src/payments/payment.ts';
import { checkCount } from '#src/results/check-count.ts';
import { EventCounter } from '#src/results/count-event.ts';
import { findAnyEvent } from '#src/voting-events/access.ts';
import { readOverHttp } from '../../verifier/read-service.ts';
import { verifyLog } from '../../verifier/verify-log.ts';

/** Ballots of an event, whether they stand in the box already or wait for it. */
const KEPT = `(SELECT code_tag, voter_id FROM sealed_ballots($1)
  UNION ALL SELECT code_tag, voter_id FROM ballot_queue WHERE voting_event_id = $1)`;
const LEDGER = (kinds: string): string =>
  `coalesce((SELECT sum(c.credits) FROM credit_entries c WHERE c.voting_event_id = b.voting_event_id
    AND c.position_id = b.position_id AND c.visitor_id = b.visitor_id AND c.kind IN (${kinds})), 0)`;

/** Each answers a row, with `line`, for everything that must not be. `$1` is the event. */
const INVARIANTS: readonly string[] = [
  `SELECT 'I1: ' || count(*) || ' ballots of one voter ID in a poll without repeat votes' AS line
    FROM ${KEPT} AS k JOIN voting_events e ON e.id = $1
    WHERE e.type = 'poll' AND NOT e.repeat_votes GROUP BY k.voter_id HAVING count(*) > 1`,
  `SELECT 'I1: one code in the box and in the queue' AS line FROM ${KEPT} AS k GROUP BY code_tag HAVING count(*) > 1`,
  `SELECT format('I2: credits %s/%s/%s below zero', position_id, visitor_id, base + purchased - held - spent) AS line
    FROM credit_balances WHERE voting_event_id = $1 AND (base + purchased - held - spent < 0 OR purchased < 0 OR held < 0 OR spent < 0)`,
  `SELECT format('I2: balance of %s at %s: base %s, purchased %s, held %s, spent %s; by the ledger %s, %s, %s, %s',
      visitor_id, position_id, base, purchased, held, spent, l_base, l_purchased, l_held, l_spent) AS line
    FROM (SELECT b.*, ${LEDGER(`'grant'`)} AS l_base, ${LEDGER(`'purchase'`)} - ${LEDGER(`'refund'`)} AS l_purchased,
      ${LEDGER(`'hold'`)} - ${LEDGER(`'release', 'spend'`)} AS l_held, ${LEDGER(`'spend'`)} AS l_spent
      FROM credit_balances b WHERE b.voting_event_id = $1) AS b
    WHERE (base, purchased, held, spent) IS DISTINCT FROM (l_base, l_purchased, l_held, l_spent)`,
  `SELECT format('I2: %s credits of %s at %s are held, pending ballots hold %s', held, visitor_id, position_id, pending) AS line
    FROM (SELECT b.*, coalesce((SELECT sum((one ->> 'credits')::int) FROM pending_ballots p, jsonb_array_elements(p.credits) AS one
      WHERE p.voting_event_id = $1 AND p.visitor_id = b.visitor_id AND one ->> 'position' = b.position_id), 0) AS pending
      FROM credit_balances b WHERE b.voting_event_id = $1) AS b WHERE held <> pending`,
  `SELECT format('I3: attempt %s was paid, is %s (%s), and no refund is noted', id, status, end_reason) AS line
    FROM payment_attempts a WHERE voting_event_id = $1 AND status IN ('failed', 'cancelled') AND provider_payment_id IS NOT NULL
    AND end_reason NOT IN ('amount_mismatch', 'refunded') AND NOT EXISTS (SELECT 1 FROM payment_refunds r
      WHERE r.voting_event_id = $1 AND r.attempt_id = a.id AND r.provider_payment_id = a.provider_payment_id)`,
  `SELECT format('I3: attempt %s is fulfilled and its payment is given back (%s)', a.id, r.status) AS line
    FROM payment_attempts a JOIN payment_refunds r ON r.voting_event_id = $1 AND r.attempt_id = a.id
      AND r.provider_payment_id = a.provider_payment_id
    WHERE a.voting_event_id = $1 AND a.status = 'fulfilled' AND a.reversed_at IS NULL AND a.purpose <> 'vote'`,
  `SELECT format('I3: attempt %s is fulfilled with %s purchases of credits', a.id, count(c.*)) AS line
    FROM payment_attempts a LEFT JOIN credit_entries c ON c.voting_event_id = $1 AND c.kind = 'purchase' AND c.reason = a.id
    WHERE a.voting_event_id = $1 AND a.purpose = 'quadratic_credits' GROUP BY a.id, a.status
    HAVING count(c.*) <> CASE WHEN a.status = 'fulfilled' THEN 1 ELSE 0 END`,
  `SELECT format('I3: candidate %s belongs to attempt %s, which is %s', c.id, a.id, a.status) AS line
    FROM candidates c JOIN payment_attempts a ON a.voting_event_id = $1 AND a.id = c.payment_attempt_id
    WHERE c.voting_event_id = $1 AND a.status <> 'fulfilled'`,
  `SELECT format('I9: %s ballots are kept, %s took part', kept, took) AS line FROM (
      SELECT (SELECT count(*) FROM ${KEPT} AS k) AS kept, (SELECT count(*) FROM participation p
        WHERE p.voting_event_id = $1 AND (e.type = 'election' OR p.participant LIKE 'v:%')) AS took,
        e.type = 'poll' AND e.repeat_votes AS repeats FROM voting_events e WHERE e.id = $1) AS n
    WHERE CASE WHEN repeats THEN kept < took ELSE kept <> took END`,
  `SELECT format('I9: the log counts %s ballots, the box holds %s', l.ballots, b.ballots) AS line
    FROM ballot_logs l, LATERAL (SELECT count(*) AS ballots FROM sealed_ballots($1)) AS b
    WHERE l.voting_event_id = $1 AND l.ballots <> b.ballots`,
  `SELECT format('I9: weight %s as kept, %s on the roll', kept, roll) AS line FROM (
      SELECT (SELECT weight_micro FROM electorate($1)) AS kept,
        (SELECT coalesce(sum(weight_micro), 0) FROM voters WHERE voting_event_id = $1 AND status = 'approved'
          AND deleted_at IS NULL AND source <> 'poll') AS roll FROM voting_events WHERE id = $1 AND type = 'election') AS w
    WHERE kept <> roll`,
  `SELECT format('I11: %s voters have the address %s', count(*), lower(email)) AS line FROM voters
    WHERE voting_event_id = $1 AND deleted_at IS NULL AND email_key IS NOT NULL GROUP BY lower(email) HAVING count(*) > 1`,
  `SELECT format('I11: %s voters have the voter ID %s', count(*), voter_id) AS line FROM voters
    WHERE voting_event_id = $1 AND deleted_at IS NULL AND voter_id IS NOT NULL AND source <> 'poll' GROUP BY voter_id HAVING count(*) > 1`,
];

/** A paid ballot must stand somewhere, be void, or be given back. */
async function paidBallots(client: Client, deps: Deps, eventId: string): Promise<string[]> {
  const { rows: attempts } = await client.query<{
    id: string;
    status: string;
    code: string | null;
    reversed: boolean;
    refunded: boolean;
  }>(
    `SELECT id, status, confirmation_code AS code, reversed_at IS NOT NULL AS reversed,
       EXISTS (SELECT 1 FROM payment_refunds r WHERE r.voting_event_id = $1 AND r.attempt_id = a.id
         AND r.provider_payment_id = a.provider_payment_id) AS refunded
     FROM payment_attempts a WHERE voting_event_id = $1 AND purpose = 'vote'`,
    [eventId],
  );
  const lines: string[] = [];
  for (const { id, status, code, reversed, refunded } of attempts) {
    if (code === null) continue;
    const tag = codeTagOf(deps.secrets.open(code, confirmationCodePlace(id)).toString('utf8'));
    const { rows } = await client.query<{ kept: number; counts: number; pending: number }>(
      `SELECT (SELECT count(*)::int FROM ${KEPT} AS k WHERE k.code_tag = $2) AS kept,
         (SELECT count(*)::int FROM ${KEPT} AS k WHERE k.code_tag = $2 AND NOT EXISTS (
           SELECT 1 FROM voided_ballots v WHERE v.voting_event_id = $1 AND v.code_tag = k.code_tag)) AS counts,
         (SELECT count(*)::int FROM pending_ballots p WHERE p.voting_event_id = $1 AND p.code_tag = $2) AS pending`,
      [eventId, tag],
    );
    const [found] = rows;
    if (found === undefined) continue;
    if (found.kept + found.pending > 1) lines.push(`I3: attempt ${id} bought ${found.kept + found.pending} ballots`);
    if (reversed && found.counts > 0) lines.push(`I3: the ballot of attempt ${id} counts, though its money went back`);
    if (status !== 'fulfilled' && found.kept + found.pending > 0)
      lines.push(`I3: attempt ${id} is ${status}, and there is a ballot of it`);
    // A ballot that was dropped unconfirmed, or refused at its confirm, is given back: the attempt stays fulfilled.
    if (status === 'fulfilled' && !reversed && !refunded && found.kept + found.pending === 0)
      lines.push(`I3: attempt ${id} is fulfilled, and neither a ballot nor a refund of it is kept`);
    // What an organizer pays back is void, and stays in the log.
    if (refunded && !reversed && found.counts + found.pending > 0)
      lines.push(`I3: the ballot of attempt ${id} is kept, though its payment is given back`);
  }
  return lines;
}

export async function findBrokenInvariants(client: Client, deps: Deps, eventId: string): Promise<string[]> {
  const lines: string[] = [];
  for (const invariant of INVARIANTS) {
    const { rows } = await client.query<{ line: string }>(invariant, [eventId]);
    lines.push(...rows.map(({ line }) => line));
  }
  return [...lines, ...(await paidBallots(client, deps, eventId))];
}

/** What `recount` on the command line says of an event. */
export async function recountEvent(deps: Deps, eventId: string): Promise<string[]> {
  const definition = await deps.definitions.get(await findAnyEvent(deps.db, eventId));
  if (definition === undefined) return ['there is no such event'];
  const count = () => new EventCounter(deps).results(definition, 'auditor', deps.clock.now());
  const { checks } = await checkCount(deps, definition, count);
  return checks.flatMap(({ check, status, detail }) => (status === 'differs' ? [`${check}: ${detail}`] : []));
}

export async function verifyFromOutside(baseUrl: string, event: string, key: string): Promise<string[]> {
  const report = await verifyLog({ event, read: readOverHttp(baseUrl, key) });
  const failed = report.checks.filter(({ name, status }) => status === 'failed' || name === 'reading');
  return failed.map(({ name, detail }) => `${name}: ${detail}`);
}
