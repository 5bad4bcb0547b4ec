import type { Database } from '#src/database/client.ts';
import { csvCell, csvLine } from '#src/platform/csv.ts';
import { listVoters } from './repository.ts';
import type { VoterView } from './view-schemas.ts';
import { viewVoter } from './views.ts';

const COLUMNS = [
  ...(['id', 'name', 'email', 'voterId', 'groupId', 'weight', 'status', 'hasVoted'] as const),
  ...(['source', 'keyStatus', 'createdAt', 'updatedAt'] as const),
] satisfies readonly (keyof VoterView)[];
const ROWS_AT_ONCE = 500;
const EVERYBODY = {
  ...{ search: undefined, status: undefined, groupId: undefined, voted: undefined, keyStatus: undefined },
};

/** The roll of an event as a table: what the list of voters shows, who took part as far as that is disclosed. */
export async function* writeVotersCsv(db: Database, eventId: string): AsyncGenerator<string> {
  yield `\ufeff${csvLine([...COLUMNS])}`;
  for (let after: string | undefined; ; ) {
    const page = await listVoters(db, eventId, { ...EVERYBODY, after }, ROWS_AT_ONCE);
    for (const voter of page.voters) {
      const view = viewVoter(voter);
      yield csvLine(COLUMNS.map((column) => csvCell(view[column])));
    }
    if (page.after === null) return;
    after = page.after;
  }
}
