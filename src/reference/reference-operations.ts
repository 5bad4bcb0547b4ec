import { answersText } from '#src/http/answer-shapes.ts';
import { operation } from '#src/http/operation.ts';

export const getReference = operation({
  operationId: 'getReference',
  summary: 'Read the overview of the reference',
  method: 'GET',
  path: '/',
  scope: 'none',
  answers: answersText('text/html', 'A page.'),
});

export const getReferencePage = operation({
  operationId: 'getReferencePage',
  summary: 'Read a guide or a section of the reference',
  method: 'GET',
  path: '/:page',
  scope: 'none',
  answers: answersText('text/html', 'A page.'),
});
