/**
 * The names that all examples of the API document share, so that they form one story: an event with one position, its
 * candidates, a voter, a visitor. A test puts real ones in their place and sends the examples.
 */
export const EXAMPLE = {
  event: 'evt_01m8wz3q0r9k2v7h4n6t1c',
  eventCode: 'CLUB2026',
  position: 'pos_01m8wz3q1x5d8g2j7p4s0b',
  candidate: 'cnd_01m8wz3q2a6f9h3k8q5t1c',
  otherCandidate: 'cnd_01m8wz3q2a6f9h3k8q5t1d',
  group: 'grp_01m8wz3q3b7g0j4m9r6v2d',
  sponsor: 'spn_01m8wz3q4c8h1k5n0s7w3e',
  voter: 'vtr_01m8wz3q5d9j2m6p1t8x4f',
  visitor: 'vi_3f8a1c0b9d2e4f60718293a4b5c6d7e8',
  voterKey: 'K7QM-2XVT-9F4D-HW3B',
  confirmationCode: '7Q2M9XVT4FDHW3BK8RJ5N6PYZC',
  payment: 'pay_01m8wz3q6e0k3n7q2v9y5g',
  business: 'biz_01m8wz3q7f1m4p8r3w0z6h',
  provider: 'provider_a',
  endpoint: 'whe_01m8wz3q8g2n5q9s4x1a7j',
  delivery: 'whd_01m8wz3q9h3p6r0t5y2b8k',
  invite: 'inv_01m8wz3qcj6s9u4x8b5e1p',
  inviteToken: 'vit_8h3k6p1r4t7w0z2c5f9j3m6q1s4v7x0a',
  downloadToken: 'Qm9hcmQgb2YgdGhlIHJlYWRpbmcgY2x1Yg',
  notification: 'ntf_01m8wz3qek8v1w6z0d7g3r',
  change: 'aud_01m8wz3qdk7t0v5y9c6f2q',
  account: 'acc_01m8wz3qah4q7s1v6z3c9m',
  key: 'key_01m8wz3qbj5r8t2w7a4d0n',
  vote: 'vot_5t2w7a4d0n8k3p6r9v1x4c7f0h',
  openedAt: 1_795_233_600_000,
  closesAt: 1_795_838_400_000,
  createdAt: 1_795_147_200_000,
  updatedAt: 1_795_233_600_000,
} as const;
