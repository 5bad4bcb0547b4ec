import type { Deps } from '#src/deps.ts';
import type { Answer } from '#src/http/answer.ts';
import { cutPage, decodeCursor, encodeCursor } from '#src/http/cursor.ts';
import { refuse } from '#src/http/refusals.ts';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { notFound } from '#src/platform/errors.ts';
import type { VotingEvent } from '#src/voting-events/types.ts';
import { openClose } from './close-opening.ts';
import { configurationOf } from './configuration.ts';
import { openingOf } from './leaf-of-ballot.ts';
import { openSeed } from './lot.ts';
import { findHead, readSealedBallots } from './repository.ts';

/**
 * What opens the ballots of the log, in its order: `{ index, votes, weight, salt }` (salt in base64), and beside them the
 * seed that ties are drawn from (hex), whose hash stands in the `open` leaf. Void ballots are opened too; their `void` leaf
 * distinguishes them. The first page has the configuration too, whose hash the last `open` or `config` leaf holds.
 */
export async function listOpenings(
  deps: Deps,
  event: VotingEvent,
  limit: number,
  cursor: string | undefined,
): Promise<Answer> {
  const paper = await deps.papers.take(event);
  if (paper === undefined) throw notFound();
  const name = canonicalJson(['openings', event.id]);
  const after = Number(decodeCursor(deps.secrets, name, cursor) ?? -1);
  const rows = await readSealedBallots(deps.db, event.id, after, limit + 1);
  const { page, nextCursor } = cutPage(
    rows,
    limit,
    ({ leafIndex }) => String(leafIndex),
    (key) => encodeCursor(deps.secrets, name, key),
  );
  const data = page.map((row) => {
    const { votes, weight } = openingOf(paper, row);
    return { index: row.leafIndex, votes, weight, salt: row.salt.toString('base64') };
  });
  const head = await findHead(deps.db, event.id);
  // With the seed of the lot, and before the result is final: a reader could plan the ballots to come.
  if (head?.lotRoot == null) throw refuse('openings_before_final');
  const tieSeed = openSeed(deps.secrets, event, head.lotSeed).toString('hex');
  // A thousand candidates are long: once is enough.
  const configuration = cursor === undefined ? { configuration: configurationOf(paper) } : {};
  const { closeSalt, closeContent } = head;
  const close = closeSalt === null || closeContent === null ? null : openClose(closeSalt, closeContent);
  return { status: 200, body: { data, nextCursor, tieSeed, close, ...configuration } };
}
