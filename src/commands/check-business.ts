import type { Deps } from '#src/deps.ts';
import type { PaymentProvider, ProviderCredentials, ProviderKind } from '#src/payment-providers/provider.ts';
import { PaymentProviderRefused, PaymentProviderUnavailable } from '#src/payment-providers/provider-fault.ts';
import { providerKind } from '#src/payment-providers/registered.ts';
import { findBusinessEver, openCredentials } from '#src/payments/business-repository.ts';
import type { PaymentBusiness } from '#src/payments/payment.ts';
import { findNewestEvent } from '#src/payments/receive-provider-event.ts';
import { orNotFound } from '#src/platform/errors.ts';
import { type Answer, commandLine } from './cli.ts';

interface Finding {
  readonly [column: string]: unknown;
  readonly what: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** Checks a business at its provider, even if disconnected: its refunds need its key (completions 9.3). @throws ApiError 404 */
export async function checkBusiness(deps: Deps, businessId: string): Promise<Answer> {
  const business = orNotFound(await findBusinessEver(deps.db, businessId));
  const provider = deps.payments.of(business);
  const credentials = openCredentials(deps.secrets, business);
  const findings = [
    ...(await checkAccount(provider, credentials, business)),
    checkSecret(providerKind(business.provider), credentials),
    await checkMessages(deps, provider, credentials, business),
  ];
  return {
    value: { businessId, findings },
    shown: findings,
    next: findings.some(({ what, ok }) => what === 'webhook secret' && !ok)
      ? [`PAYMENT_WEBHOOK_SECRET=whsec_… ${commandLine(`payment-businesses refresh ${businessId}`)}`]
      : [],
    refused: findings.some(({ ok }) => !ok),
  };
}

/** Describes a provider's refusal or missing answer. @throws any other fault */
function faultText(fault: unknown): string {
  if (fault instanceof PaymentProviderRefused) {
    return `the provider refuses (${fault.status}${fault.code === null ? '' : ` ${fault.code}`})`;
  }
  if (fault instanceof PaymentProviderUnavailable) return `the provider does not answer (${fault.reason})`;
  throw fault;
}

async function checkAccount(
  provider: PaymentProvider,
  credentials: ProviderCredentials,
  business: PaymentBusiness,
): Promise<Finding[]> {
  try {
    const described = await provider.describeAccount(credentials);
    const mode = described.livemode ? 'live: real money moves' : 'test: play money';
    const country = described.country ?? business.country;
    const missing = business.supportedCurrencies.filter((code) => !described.supportedCurrencies.includes(code));
    return [
      { what: 'keys', ok: true, detail: 'the provider takes them' },
      { what: 'mode', ok: described.livemode === business.livemode, detail: mode },
      { what: 'country', ok: country === business.country, detail: `${country}, stored as ${business.country}` },
      {
        what: 'ready',
        ok: described.ready && business.ready,
        detail: described.ready
          ? `the account takes payments${business.ready ? '' : ', and is not known to: refresh the business'}`
          : 'the account takes no payments: look at what the provider asks of its owner',
      },
      {
        what: 'currencies',
        ok: missing.length === 0,
        detail:
          missing.length === 0 ? described.supportedCurrencies.join(' ') : `no longer taken: ${missing.join(' ')}`,
      },
    ];
  } catch (fault) {
    return [{ what: 'keys', ok: false, detail: faultText(fault) }];
  }
}

function checkSecret({ needsWebhookSecret }: ProviderKind, { webhookSecret }: ProviderCredentials): Finding {
  const what = 'webhook secret';
  if (!needsWebhookSecret) return { what, ok: true, detail: 'none needed: the secret key signs messages' };
  const isSet = webhookSecret !== undefined;
  return { what, ok: isSet, detail: isSet ? 'is set' : 'is not set: every message of the provider is refused' };
}

async function checkMessages(
  deps: Deps,
  provider: PaymentProvider,
  credentials: ProviderCredentials,
  business: PaymentBusiness,
): Promise<Finding> {
  const what = 'messages';
  const url = `${deps.config.baseUrl}/provider-webhooks/${business.provider}/${business.id}`;
  const newest = await findNewestEvent(deps.db, business.id);
  const last =
    newest === undefined ? 'none came yet' : `the last one came ${new Date(newest.receivedAt).toISOString()}`;
  if (provider.listMessageTargets === undefined) {
    return {
      what,
      ok: true,
      detail: `have them sent to ${url}; the provider cannot be asked whether they are, ${last}`,
    };
  }
  try {
    const own = (await provider.listMessageTargets(credentials)).filter((target) => target.url === url);
    const best = own.find(({ enabled, missingKinds }) => enabled && missingKinds.length === 0) ?? own[0];
    if (best === undefined) return { what, ok: false, detail: `none go to ${url}: add it at the provider` };
    if (!best.enabled) return { what, ok: false, detail: `${url} is switched off at the provider` };
    const missing = best.missingKinds.join(' ');
    return { what, ok: missing === '', detail: missing === '' ? `all are sent, ${last}` : `not selected: ${missing}` };
  } catch (fault) {
    return { what, ok: false, detail: faultText(fault) };
  }
}
