import { expect, test } from 'vitest';
import { MINUTE_MS } from '#src/platform/clock.ts';
import {
  CONFIRM_GRACE_MS,
  isFinalAt,
  type Lifecycle,
  lifeOf,
  statusAt,
  wasOpened,
} from '#src/voting-events/lifecycle.ts';
import { withClient } from '#test/harness/empty-database.ts';
import { useDatabase } from '#test/harness/use.ts';

const database = await useDatabase();

const LIFE = lifeOf('e');
const NOW = 2_000_000_000_000;
const STARTS = [null, NOW - MINUTE_MS, NOW, NOW + 1];
const GRACE_OVER = NOW - CONFIRM_GRACE_MS;
const ENDS = [null, GRACE_OVER - 1, GRACE_OVER, GRACE_OVER + 1, NOW, NOW + 1];
const PAST = [null, NOW - MINUTE_MS];

/** Every order of an event's times and the moment that is asked about. */
const lives: Lifecycle[] = STARTS.flatMap((startsAt) =>
  ENDS.flatMap((endsAt) =>
    ENDS.flatMap((closedAt) =>
      PAST.flatMap((openedAt) =>
        PAST.flatMap((rehearsalSince) =>
          [true, false].map((ready) => ({ startsAt, endsAt, openedAt, closedAt, ready, rehearsalSince })),
        ),
      ),
    ),
  ),
);

test('the database and the program say the same of an event’s status, and of whether it is final', async () => {
  const rows = lives.map((life) => ({
    starts_at: life.startsAt,
    ends_at: life.endsAt,
    opened_at: life.openedAt,
    closed_at: life.closedAt,
    ready: life.ready,
    rehearsal_since: life.rehearsalSince,
  }));
  const answer = await withClient(database.url, (client) =>
    client.query(
      `SELECT event_status(${LIFE}, $2) AS status, is_final(${LIFE}, $2) IS TRUE AS final, was_opened(${LIFE}, $2) IS TRUE AS opened
       FROM jsonb_array_elements($1) WITH ORDINALITY AS given(row, place)
       CROSS JOIN LATERAL jsonb_populate_record(NULL::voting_events, given.row) AS e ORDER BY place`,
      [JSON.stringify(rows), NOW],
    ),
  );
  expect(answer.rows).toEqual(
    lives.map((life) => ({ status: statusAt(life, NOW), final: isFinalAt(life, NOW), opened: wasOpened(life, NOW) })),
  );
  // Each answer is among them, so that agreeing means something.
  expect(new Set(answer.rows.map(({ status, final }) => `${status} ${final}`))).toEqual(
    new Set(['draft false', 'scheduled false', 'open false', 'closed false', 'closed true']),
  );
});
