import path from 'node:path';
import type { PathClient } from '#sdk/index.ts';
import { writeWhole } from '#src/platform/files.ts';
import type { Answer } from './cli.ts';

export type SaveKind =
  | { readonly kind: 'pdf'; readonly paper: 'a4' | 'letter' }
  | { readonly kind: 'csv'; readonly layout: 'figures' | 'table' }
  | { readonly kind: 'json' };
export type SaveOptions = SaveKind & { readonly event: string; readonly output?: string };

function fetchResults(client: PathClient, idOrCode: string, options: SaveOptions): Promise<Response> {
  const at = { path: { idOrCode } };
  if (options.kind === 'pdf')
    return client.fetch('get', '/voting-events/{idOrCode}/results/pdf', {
      ...at,
      query: { paper: options.paper },
    });
  if (options.kind === 'csv')
    return client.fetch('get', '/voting-events/{idOrCode}/results/csv', { ...at, query: { layout: options.layout } });
  return client.fetch('get', '/voting-events/{idOrCode}/results/json', at);
}

/** Saves the results to a file atomically. @throws VotingServiceError such as 403 `plan_feature`; file errors */
export async function saveResults(client: PathClient, options: SaveOptions): Promise<Answer> {
  const { data: event } = await client.get('/voting-events/{idOrCode}', { path: { idOrCode: options.event } });
  const file = path.resolve(options.output ?? `${event.code}-results.${options.kind}`);
  const bytes = Buffer.from(await (await fetchResults(client, event.id, options)).arrayBuffer());
  await writeWhole(file, bytes, 0o666);
  const final = event.finalAt !== null;
  return {
    value: { votingEventId: event.id, code: event.code, file, bytes: bytes.length, final },
    ...(final
      ? {}
      : { next: ['These results are not final: votes may still be added. Save them again after the close.'] }),
  };
}
