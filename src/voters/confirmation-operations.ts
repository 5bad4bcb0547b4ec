import { answersText } from '#src/http/answer-shapes.ts';
import { operation } from '#src/http/operation.ts';

export const getAddressConfirmation = operation({
  operationId: 'getAddressConfirmation',
  summary: 'The page behind the link that is mailed at registration',
  method: 'GET',
  path: '/:token',
  scope: 'none',
  description: 'The same page for every link, with a button that sends the POST.',
  answers: answersText('text/html', 'A page with a button.'),
});

export const confirmAddress = operation({
  operationId: 'confirmAddress',
  summary: 'Confirm the address of a registration',
  method: 'POST',
  path: '/:token',
  scope: 'none',
  description:
    'Confirms the address at any time before the close, any number of times, and casts nothing. With automatic approval, a registration whose link is not used within 7 days expires.',
  requestsPerMinute: 120,
  answers: answersText('text/html', 'A page that tells whether the address is confirmed.'),
  bytes: true,
});
