import decodeQR from 'qr/decode.js';
import { describe, expect, test } from 'vitest';
import { type Letter, type LetterOrder, modulesOf, work } from '#src/letters/draw-letters.ts';
import { readPdf } from '#test/harness/read-pdf.ts';

const KEY = '7H2K-ABCD-EFGH-JKMN';
const LINK = `https://vote.club.example/board#key=${KEY}&id=M-1042`;
const letter = (changes: Partial<Letter> = {}): Letter => ({
  name: 'Vera Okafor',
  key: KEY,
  identity: { kind: 'voterId', value: 'M-1042' },
  link: LINK,
  ...changes,
});
const draw = async (letters: readonly Letter[], changes: Partial<LetterOrder> = {}) =>
  readPdf(
    await work({
      ...{ paper: 'a4', language: 'en', title: 'Board of the club', author: 'Votes', madeAt: 0, rehearsal: false },
      ...{ times: ['Voting ends on Sunday.'], contactEmail: 'board@club.example', letters, ...changes },
    }),
  );

/** What a camera reads of a code. */
function scan(modules: readonly (readonly boolean[])[]): string {
  const scale = 4;
  const side = modules.length * scale;
  const data = new Uint8Array(side * side * 4).fill(255);
  for (let y = 0; y < side; y += 1)
    for (let x = 0; x < side; x += 1)
      if (modules[Math.floor(y / scale)]?.[Math.floor(x / scale)] === true)
        data.fill(0, (y * side + x) * 4, (y * side + x) * 4 + 3);
  return decodeQR({ width: side, height: side, data });
}

describe('a letter', () => {
  test('fills one page, whatever it has to say', async () => {
    const longest = letter({
      name: 'Maximiliane-Philippina '.repeat(9).trim(),
      identity: { kind: 'email', value: `${'a'.repeat(200)}@${'b'.repeat(110)}.example` },
      link: `https://vote.example/${'p'.repeat(1_900)}#key=${KEY}`,
    });
    const letters = [letter(), longest, letter({ link: null }), letter({ name: 'محمد بن عبد الله آل سعود' })];
    for (const paper of ['a4', 'letter'] as const)
      for (const language of ['en', 'de', 'es', 'fr'] as const) {
        const title = 'Title of many words '.repeat(10).trim();
        const { pages } = await draw(letters, { paper, language, title, rehearsal: true });
        expect(pages).toHaveLength(letters.length);
        for (const page of pages) expect(page).toContain(KEY);
        // What has to be typed is never cut.
        expect(pages[1]?.replaceAll(/\s/g, '')).toContain(longest.identity.value);
        expect(pages[3]).toContain('محمد بن عبد الله آل سعود');
      }
  });

  test('has the address of the voting page in a code, and none where there is no page or it is too long', async () => {
    const modules = modulesOf(LINK);
    expect(modules === undefined ? undefined : scan(modules)).toBe(LINK);
    expect(modulesOf(`https://vote.example/#${'e'.repeat(3_000)}`)).toBeUndefined();
    expect((await draw([letter()])).alternatives).toEqual(['Scan to vote']);
    expect((await draw([letter({ link: null })])).alternatives).toEqual([]);
    const [page = ''] = (await draw([letter()])).pages;
    // Its fragment stands in the code alone: it is longer than what people type.
    expect(page).toContain('https://vote.club.example/board');
    expect(page).not.toContain('#key=');
  });

  test.each([
    ['en', 'voter key', 'voter ID', 'e-mail address'],
    ['de', 'Wahlschlüssel', 'Wählernummer', 'E-Mail-Adresse'],
    ['es', 'clave de voto', 'número de votante', 'correo electrónico'],
    ['fr', 'clé de vote', 'identifiant d’électeur', 'adresse e-mail'],
  ] as const)('in %s says that the key and what goes with it are both typed in', async (language, key, id, email) => {
    const byMail = letter({ identity: { kind: 'email', value: 'vera@club.example' } });
    const { pages } = await draw([letter(), byMail], { language });
    const [first = '', second = ''] = pages.map((page) => page.replaceAll(/\s+/g, ' '));
    expect(first).toContain(`${key}, `);
    expect(first).toContain(id);
    expect(second).toContain(email);
    expect(second).not.toContain(id);
  });

  test('of a rehearsal says so', async () => {
    expect((await draw([letter()], { rehearsal: true })).pages[0]).toContain('rehearsal');
    expect((await draw([letter()])).pages[0]).not.toContain('rehearsal');
  });
});
