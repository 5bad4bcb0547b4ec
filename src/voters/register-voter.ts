import type { z } from 'zod';
import type { Transaction } from '#src/database/client.ts';
import { forbidden, invalidField } from '#src/platform/errors.ts';
import type { VoteCaller } from '#src/voting-events/access.ts';
import { notOpen, statusAt } from '#src/voting-events/lifecycle.ts';
import { addVoters, singleField, type VoterDeps } from './create-voters.ts';
import type { DomainCheck } from './email-domain.ts';
import type { registerVoterBody } from './schemas.ts';
import type { Voter } from './types.ts';

/**
 * Registers a voter that starts `pending` (contract, "Voter registration body"; completions 4.9).
 * @throws ApiError 422 for an address whose domain takes no mail; 403 `registration_closed`, `event_closed`; 409 for a duplicate
 */
export async function registerVoter(
  tx: Transaction,
  deps: VoterDeps & { readonly domainCheck: DomainCheck },
  { caller, event }: VoteCaller,
  body: z.output<typeof registerVoterBody>,
): Promise<Voter> {
  if (!event.voterSelfRegistration) throw forbidden('registration_closed', 'Voters cannot register themselves for this event.');
  const status = statusAt(event, deps.clock.now());
  if (status === 'closed') throw notOpen(status);
  if (!(await deps.domainCheck(body.email))) throw invalidField('email', 'has a domain that does not accept mail');
  const source = { source: 'registration', status: 'pending', plan: caller.plan } as const;
  const [voter] = await addVoters(tx, deps, event, [body], source, singleField);
  if (voter === undefined) throw new Error('one voter was added and none came back');
  return voter;
}
