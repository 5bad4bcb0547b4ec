import { answersText } from '#src/http/answer-shapes.ts';
import { operation } from '#src/http/operation.ts';

export const getVerifierPage = operation({
  operationId: 'getVerifierPage',
  summary: 'Verify a ballot log in the browser',
  description:
    'The verifier as a page, for voters without a terminal. The fragment of its address may bring `event`, `key`, `code` (the confirmation code), `promise` and `since` along: `/verify#event=evt_…&code=…`. No server is sent a fragment.',
  method: 'GET',
  path: '/',
  scope: 'none',
  answers: answersText('text/html', 'The page.'),
});

export const getVerifierScript = operation({
  operationId: 'getVerifierScript',
  summary: 'Read the program of the page',
  method: 'GET',
  path: '/page.js',
  scope: 'none',
  answers: answersText('text/javascript', 'The verifier, for browsers.'),
});

export const getVerifierFile = operation({
  operationId: 'getVerifierFile',
  summary: 'Download the verifier as one file',
  description: 'Runs with Node 20 or newer, and needs nothing else: `node voting-verifier.mjs --help`.',
  method: 'GET',
  path: '/voting-verifier.mjs',
  scope: 'none',
  answers: answersText('text/javascript', 'The verifier, for a terminal.'),
});
