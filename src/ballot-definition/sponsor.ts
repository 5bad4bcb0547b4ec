import { z } from 'zod';
import { timeShape, viewer } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { changesSomething, httpsUrlField, nameField, sortOrderField } from '#src/http/fields.ts';

const sponsorFields = z.object({
  name: nameField(),
  logoUrl: httpsUrlField().nullable(),
  websiteUrl: httpsUrlField().nullable(),
  tier: nameField().nullable(),
  sortOrder: sortOrderField(),
});

export const createSponsorBody = z.strictObject({ ...sponsorFields.partial().shape, name: sponsorFields.shape.name });

export const updateSponsorBody = z.strictObject(sponsorFields.partial().shape).refine(...changesSomething);

export const sponsorView = z
  .object({
    id: z.string(),
    votingEventId: z.string(),
    name: z.string(),
    logoUrl: z.string().nullable(),
    websiteUrl: z.string().nullable(),
    tier: z.string().nullable(),
    sortOrder: z.int(),
    createdAt: timeShape(),
    updatedAt: timeShape(),
  })
  .meta({
    id: 'Sponsor',
    description: 'Who supports an event.',
    examples: [
      {
        id: EXAMPLE.sponsor,
        votingEventId: EXAMPLE.event,
        name: 'The corner bookshop',
        logoUrl: 'https://bookshop.example/logo.png',
        websiteUrl: 'https://bookshop.example/',
        tier: 'gold',
        sortOrder: 0,
        createdAt: EXAMPLE.createdAt,
        updatedAt: EXAMPLE.createdAt,
      },
    ],
  });

export const viewSponsor = viewer(sponsorView);
