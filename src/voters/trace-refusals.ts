import { recordChange } from '#src/accounts/record-change.ts';
import { type Database, inTransaction } from '#src/database/client.ts';
import { ApiError } from '#src/platform/errors.ts';
import type { Organizer } from '#src/voting-events/access.ts';
import type { VoterDeps } from './create-voters.ts';

/** A change of voters that somebody asks for. */
interface Asked {
  readonly voterIds: readonly string[];
  /** What was to be changed: `weight`, `status`, `delete` and so on. Values do not matter here. */
  readonly what: readonly string[];
}

/**
 * Makes a change of voters. One that is refused because of a ballot shows the asker who voted, before anybody else is shown it:
 * each such try stands in the audit trail (completions 5.6).
 */
export async function tracingRefusals<T>(
  deps: VoterDeps & { readonly db: Database },
  { event, caller }: Organizer,
  { voterIds, what }: Asked,
  change: () => Promise<T>,
): Promise<T> {
  try {
    return await change();
  } catch (fault) {
    if (fault instanceof ApiError && fault.details?.['reason'] === 'event_has_ballots') {
      const [only, ...others] = voterIds;
      const one = others.length === 0 ? only : undefined;
      // The change's own transaction is undone.
      await inTransaction(deps.db, (tx) =>
        recordChange(tx, deps, {
          accountId: event.accountId,
          votingEventId: event.id,
          keyId: caller.keyId,
          action: one === undefined ? 'voters.change_refused' : 'voter.change_refused',
          resource: one ?? event.id,
          after: { asked: what, reason: 'event_has_ballots', ...(one === undefined ? { voterIds } : {}) },
        }),
      );
    }
    throw fault;
  }
}
