import { expect, test } from 'vitest';
import { verifyLog } from '../../../verifier/verify-log.ts';
import { OLD_FORMS, PRESENT_FORM } from './old-forms.ts';
import { EVENT, serve } from './stored-log.ts';

test('a log in the one form of everything is right', async () => {
  const { log, since, promise } = PRESENT_FORM;
  expect(await verifyLog({ read: serve(log), event: EVENT, since, promise })).toMatchObject({ verified: 'yes' });
});

test.each(Object.entries(OLD_FORMS))('%s is wrong, though the service signed it', async (_what, form) => {
  const { log, fails, ...given } = form;
  const { verified, checks } = await verifyLog({ read: serve(log), event: EVENT, ...given });
  expect(verified).toBe('no');
  expect(checks.find(({ name }) => name === fails)).toMatchObject({ status: 'failed' });
});
