import { Hono } from 'hono';
import { listChanges, type RecordedChange } from '#src/accounts/list-changes.ts';
import { shortened } from '#src/accounts/record-change.ts';
import type { Deps } from '#src/deps.ts';
import { csv } from '#src/http/answer-csv.ts';
import { costly } from '#src/http/costly-reads.ts';
import type { Env } from '#src/http/env.ts';
import { listNewest } from '#src/http/newest.ts';
import { loadEvent } from './access.ts';
import * as operations from './audit-operations.ts';
import type { ChangeView } from './view-schemas.ts';
import { writeChangesCsv } from './write-changes-csv.ts';

function viewChange(change: RecordedChange): ChangeView {
  const { keyId, keyName, keyHint, accountId, accountName } = change;
  return {
    id: change.id,
    votingEventId: change.votingEventId,
    key: keyId === null ? null : { id: keyId, name: keyName, hint: keyHint, accountId, accountName },
    action: change.action,
    resource: change.resource,
    before: shortened(change.before),
    after: shortened(change.after),
    createdAt: change.createdAt,
  };
}

/** The author, kind and time of each change (completions 3, "Results, votes, exports", 5). `key` is null where the service or its operator acted. */
export function auditRouter(deps: Deps): Hono<Env> {
  const event = loadEvent(deps);
  const router = new Hono<Env>();
  router.on(...operations.listChanges, event, (c) =>
    costly(c, c.get('caller').accountId, async () => {
      const { since, ...query } = c.get('query');
      const found = await listChanges(deps.reads, c.get('target').event.id, { ...query, from: query.from ?? since });
      return listNewest(found, found.rows.map(viewChange).reverse());
    }),
  );
  router.on(...operations.getChangesCsv, event, (c) =>
    costly(c, c.get('caller').accountId, async () => csv(() => writeChangesCsv(deps.reads, c.get('target').event.id))),
  );
  return router;
}
