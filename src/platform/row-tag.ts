import { equalSecrets, type Secrets } from './secrets.ts';

const KEY_ID_BYTES = 4;
const MAC_BYTES = 16;

/** The table of a row, and the columns that decide what the row permits, in a fixed order. */
export type DecidingRow = readonly [table: string, ...columns: (string | number | boolean | null)[]];

const macOf = (mac: Buffer): Buffer => mac.subarray(0, MAC_BYTES);

/** A row's MAC, so that SQL alone cannot forge the row (completions 6.7): 4 bytes of the key's ID, 16 of the MAC. */
export const tagOfRow = (secrets: Secrets, row: DecidingRow): Buffer =>
  Buffer.concat([Buffer.from(secrets.id, 'hex'), macOf(secrets.mac('row-tag', JSON.stringify(row)))]);

/** Whether the service wrote exactly this row, under any of the listed secret keys. */
export function isTagged(secrets: Secrets, tag: Buffer | null, row: DecidingRow): boolean {
  if (tag?.length !== KEY_ID_BYTES + MAC_BYTES) return false;
  const own = tag.subarray(KEY_ID_BYTES);
  return secrets.macs('row-tag', JSON.stringify(row)).some((mac) => equalSecrets(macOf(mac), own));
}
