import { drawTable } from './draw-table.ts';
import { groupDigits } from './exact-figures.ts';
import type { ReportInput } from './report-input.ts';
import { INK, MUTED, type Sheet } from './sheet.ts';

const BODY = { size: 9, color: INK };

/** Log, lot and how anybody can check the figures from the outside. */
export async function writeVerification(sheet: Sheet, input: ReportInput): Promise<void> {
  const { log, lot, issuer, event } = input;
  sheet.y += 10;
  sheet.heading(2, 'Ballot log and verification', { size: 14, bold: true }, 170);
  sheet.doc.outline.addItem('Ballot log and verification');
  const text =
    'Every confirmed ballot is sealed into an append-only Merkle log (RFC 6962 hashing). Size and root hash stand for its whole content: a ballot that was changed or removed would give another root.';
  sheet.paragraph(text, BODY, 8);
  const rows = [
    ['Log size', `${groupDigits(log.size)} ${log.size === 1 ? 'leaf' : 'leaves'}`],
    ['Root hash (base64)', log.rootHash],
    ['Lot, SHA-256 of the seed', lot.seedHash ?? 'published at the opening'],
    ['Lot, seed', lot.seed ?? 'revealed when the result is final'],
    ...(lot.root === null ? [] : [['Lot, log root before the close', lot.root] as const]),
    ['Event ID', event.id],
  ].map(([name = '', value = '']) => [{ text: name, color: MUTED }, { text: value }]);
  await drawTable(sheet, [{ title: 'What', width: 140 }, { title: 'Value' }], rows);
  sheet.heading(3, 'How to verify', { size: 10.5, bold: true }, 60, 2);
  const reference = event.code;
  for (const step of [
    `1. In a browser: open ${issuer.baseUrl}/verify#event=${event.id}. The page reads the whole log and checks it; with a confirmation code it finds that ballot. With an observe key it also counts the opened ballots again and compares them with this report.`,
    `2. On a machine of your own: ${issuer.baseUrl}/verify/voting-verifier.mjs is the same program in one file: VOTING_KEY=… node voting-verifier.mjs --base-url ${issuer.baseUrl} --event ${event.id}`,
    `3. By hand: read the signed checkpoint at ${issuer.baseUrl}/public/voting-events/${reference}/log/checkpoint and check its signature with the key at ${issuer.baseUrl}/.well-known/voting-log-key. Once all ballots are sealed, size and root hash are those above or a later extension of them.`,
    '4. CSV, JSON and the cast vote records (NIST SP 1500-103) hold the same figures for programs.',
  ]) {
    sheet.paragraph(step, BODY, 4);
  }
}
