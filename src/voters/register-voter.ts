import { Resolver } from 'node:dns/promises';
import type { z } from 'zod';
import { changeBy, recordChange } from '#src/accounts/changes.ts';
import { groupIssues } from '#src/ballot-definition/record-ballot-change.ts';
import { inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import type { Deps } from '#src/deps.ts';
import { refuse } from '#src/http/refusals.ts';
import { type Judge, NOTHING_FAULTY } from '#src/http/sound-parts.ts';
import { enqueue } from '#src/jobs/queue.ts';
import { elsewhere } from '#src/platform/turns.ts';
import type { VoteCaller } from '#src/voting-events/access.ts';
import { requireNoIssues } from '#src/voting-events/guard-change.ts';
import { lifeRefusal, statusAt } from '#src/voting-events/lifecycle.ts';
import { holdWorld } from '#src/voting-events/rehearsal.ts';
import { MAIL_REGISTRATION } from './mail-registration.ts';
import { storeVoter } from './repository.ts';
import { addVoters, singleField, takeRoomForVoters, type VoterDeps } from './take-rows.ts';
import type { registerVoterBody, Voter } from './voter.ts';
import { identityIssues } from './voter-identity.ts';

export type DomainCheck = (address: string) => Promise<boolean>;

const TIMEOUT_MS = 2_000;
/** DNS errors that prove that there is no record. Any other error may be temporary, so the address is accepted. */
const NOTHING = new Set(['ENOTFOUND', 'ENODATA']);

function codeOf(fault: unknown): string {
  return fault instanceof Error ? String(Reflect.get(fault, 'code')) : '';
}

/** Whether a domain can accept mail: it has an MX record other than the null MX (RFC 7505), or an address. True if DNS fails. */
export const canReceiveMail: DomainCheck = async (address) => {
  const domain = address.slice(address.lastIndexOf('@') + 1);
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 1 });
  try {
    const records = await elsewhere(resolver.resolveMx(domain));
    return records.some((record) => record.exchange !== '');
  } catch (fault) {
    if (!NOTHING.has(codeOf(fault))) return true;
  }
  const looks = await elsewhere(Promise.allSettled([resolver.resolve4(domain), resolver.resolve6(domain)]));
  return looks.some((look) =>
    look.status === 'fulfilled' ? look.value.length > 0 : !NOTHING.has(codeOf(look.reason)),
  );
};

/** Used when the DNS look-up is switched off. */
export const acceptEveryDomain: DomainCheck = async () => true;

type Body = z.output<typeof registerVoterBody>;
type RegistrationDeps = VoterDeps & Pick<Deps, 'db' | 'domainCheck'>;

/** Validates the values of a registration. @param isFaulty whether a field has a wrong shape, and so is not missing */
export const judgeRegistration =
  ({ db, domainCheck }: Pick<Deps, 'db' | 'domainCheck'>): Judge<VoteCaller, Body> =>
  async ({ event }, { voterId, email, groupId }, isFaulty) => {
    const [ofGroup, takesMail] = await Promise.all([
      groupIssues(db, event.id, groupId),
      email === undefined || domainCheck(email),
    ]);
    return [
      ...identityIssues(event, { voterId, email }, isFaulty),
      ...ofGroup,
      ...(takesMail ? [] : [{ field: 'email', message: 'has a domain that does not accept mail' }]),
    ];
  };

/** @throws ApiError 422 for an unknown group, a missing voter ID, or an address whose domain accepts no mail */
export async function checkRegistration(deps: RegistrationDeps, target: VoteCaller, body: Body): Promise<void> {
  requireNoIssues(await judgeRegistration(deps)(target, body, NOTHING_FAULTY, target.caller));
}

/**
 * Registers a voter as `pending` (contract, "Voter registration body"; completions 4.9). Call `checkRegistration` before: it asks DNS,
 * and must hold neither a database connection nor the caller's turn while it waits.
 * @throws ApiError 403 `registration_closed`; 409 `event_closed`, 409 for a duplicate
 */
export async function registerVoter(
  deps: RegistrationDeps,
  { caller, event: read, ownerPlan }: VoteCaller,
  body: Body,
  store: (tx: Transaction, voter: Voter) => Promise<void>,
): Promise<Voter> {
  return inTransaction(deps.db, async (tx) => {
    // Check again under the lock, because the look-up of the domain may have taken seconds.
    const event = await holdWorld(tx, read);
    if (!event.voterSelfRegistration || event.type === 'poll') throw refuse('registration_closed');
    if (statusAt(event, await readNow(tx)) === 'closed') throw lifeRefusal('event_closed', event);
    const beforeRehearsal = event.rehearsalSince === null ? null : ({ new: true } as const);
    const source = { source: 'registration', status: 'pending' } as const;
    const [added] = await addVoters(tx, deps, event, [body], source, { atomic: singleField });
    if (added?.voter === undefined) throw new Error('one voter was added and none came back');
    const { voter } = added;
    if (beforeRehearsal !== null) await storeVoter(tx, event.id, voter.id, { beforeRehearsal });
    const { name, email, voterId, groupId } = voter;
    const after = { name, email, voterId, groupId };
    await recordChange(tx, deps, changeBy({ event, caller }, 'voter.registered', voter.id, { after }));
    await enqueue(tx, MAIL_REGISTRATION, { eventId: event.id, voterId: voter.id });
    await store(tx, voter);
    await takeRoomForVoters(tx, deps, event, ownerPlan, 'registration');
    return voter;
  });
}
