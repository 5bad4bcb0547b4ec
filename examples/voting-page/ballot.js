// The questions of a ballot: each becomes a fieldset, and gives its entries of `votes`.

/** An element with properties or attributes, and children. */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties))
    name in element ? Reflect.set(element, name, value) : element.setAttribute(name, value);
  element.append(...children);
  return element;
}
const button = (text, label, onclick, disabled = false) =>
  el('button', { type: 'button', className: 'small', textContent: text, ariaLabel: label, onclick, disabled });

/** One choice, or several. */
function choices({ id, votingMethod, maxSelections }, candidates, { saved, mayAbstain }) {
  const isOne = votingMethod === 'referendum' || maxSelections === 1;
  const rows = isOne && mayAbstain ? [...candidates, { id: '', name: 'No answer' }] : candidates;
  const inputs = rows.map(({ id: value }) => {
    const checked = value === '' ? saved.length === 0 : saved.some(({ candidateId }) => candidateId === value);
    return el('input', { type: isOne ? 'radio' : 'checkbox', name: id, value, checked });
  });
  const labels = rows.map(({ name, description }, index) => {
    const hint = description ? [el('span', { className: 'hint', textContent: description })] : [];
    return el('label', { className: 'row' }, inputs[index], el('span', {}, name, ...hint));
  });
  const chosen = () => inputs.filter(({ checked, value }) => checked && value !== '');
  return [labels, () => chosen().map(({ value }) => ({ candidateId: value }))];
}

/** A number for each candidate: points, or votes that cost their square. */
function numbers({ id: positionId, votingMethod, ...position }, candidates, { saved, credits }) {
  const [isScore, isQuadratic] = [votingMethod === 'score', votingMethod === 'quadratic'];
  const budget = credits?.available ?? position.quadraticBaseCreditBudget ?? position.cumulativePointBudget ?? 0;
  const max = isScore ? position.scoreMax : isQuadratic ? Math.floor(Math.sqrt(budget)) : budget;
  const min = isScore ? position.scoreMin : 0;
  const start = min > 0 || max < 0 ? Math.trunc((min + max) / 2) : 0;
  const left = el('p', { className: 'left', role: 'status' });
  const inputs = candidates.map(({ id: own }) => {
    const value = saved.find(({ candidateId }) => candidateId === own)?.value ?? '';
    return el('input', { id: `${positionId}-${own}`, type: 'number', inputMode: 'numeric', min, max, step: 1, value });
  });
  const update = () => {
    const used = inputs.reduce((sum, { value }) => sum + Number(value) ** (isQuadratic ? 2 : 1), 0);
    left.textContent = isScore ? '' : `${budget - used} of ${budget} ${isQuadratic ? 'credits' : 'points'} left.`;
    left.classList.toggle('wrong', used > budget);
  };
  const rows = candidates.map(({ name }, index) => {
    const input = inputs[index];
    const step = (by) => () => {
      input.value = Math.min(max, Math.max(min, Number(input.value || start) + by));
      update();
    };
    input.addEventListener('input', update);
    const [less, more] = [button('−', `Less for ${name}`, step(-1)), button('+', `More for ${name}`, step(1))];
    return el('div', { className: 'row' }, el('label', { htmlFor: input.id, textContent: name }), less, input, more);
  });
  update();
  const entries = () => inputs.map(({ value }, at) => ({ candidateId: candidates[at].id, value: Number(value) }));
  // A score of 0 says something; no points, or no votes, are no entry.
  const isGiven = ({ value }, at) => value !== 0 || (isScore && inputs[at].value !== '');
  return [[...rows, left], () => entries().filter(isGiven)];
}

/** First, second, third choice, by buttons: dragging is closed to many. */
function ranking({ maxSelections }, candidates, { saved }) {
  let order = saved.toSorted((a, b) => a.rank - b.rank).map(({ candidateId }) => candidateId);
  const list = el('ol', { role: 'list' });
  const live = el('p', { className: 'left', role: 'status' });
  /** One candidate. A press draws all rows again, and puts the focus where it was, or on what is left there. */
  const rowOf = ({ id, name }) => {
    const place = order.indexOf(id);
    const act = (text, label, to, disabled) => {
      const press = () => {
        order = order.filter((other) => other !== id);
        if (to >= 0) order.splice(to, 0, id);
        live.textContent = to >= 0 ? `${name} is choice ${to + 1} of ${order.length}.` : `${name} is not ranked.`;
        draw();
        const buttons = [...list.children[rows().findIndex((row) => row.id === id)].querySelectorAll('button:enabled')];
        (buttons.find(({ textContent }) => textContent === text) ?? buttons[0])?.focus();
      };
      return button(text, `${label} ${name}`, press, disabled);
    };
    const buttons =
      place < 0
        ? [act('Rank', 'Rank', order.length, order.length >= maxSelections)]
        : [
            act('↑', 'Move up', place - 1, place === 0),
            act('↓', 'Move down', place + 1, place === order.length - 1),
            act('✕', 'Do not rank', -1),
          ];
    const badge = el('span', { className: 'place', textContent: place < 0 ? '–' : place + 1 });
    return el(
      'li',
      { className: place < 0 ? 'row' : 'row ranked' },
      badge,
      el('span', { className: 'name' }, name),
      ...buttons,
    );
  };
  const rows = () => [
    ...order.map((id) => candidates.find((candidate) => candidate.id === id)),
    ...candidates.filter(({ id }) => !order.includes(id)),
  ];
  const draw = () => list.replaceChildren(...rows().map(rowOf));
  draw();
  return [[list, live], () => order.map((candidateId, index) => ({ candidateId, rank: index + 1 }))];
}

function hintOf({ votingMethod: method, minSelections: least, maxSelections: most, scoreMin, scoreMax, seats }, count) {
  const bounds = least === most ? most : least > 1 ? `${least} to ${most}` : `up to ${most}`;
  const say = (free, limited) => (most < count || least > 1 ? limited : free);
  const hints = {
    score: `Give ${say('each', bounds)} of them ${scoreMin} to ${scoreMax} points. One left empty counts 0.`,
    cumulative: `Share your points out as you like.${say('', ` Give points to ${bounds}.`)}`,
    quadratic: `Each vote costs its square: 1 vote costs 1 credit, 2 cost 4, 3 cost 9.${say('', ` Vote for ${bounds}.`)}`,
    ranked_choice: `Rank whom you like best first. ${say('You need not rank all.', `Rank ${bounds}.`)}`,
  };
  const hint = hints[method] ?? (most === 1 ? 'Choose one.' : say('Choose as many as you like.', `Choose ${bounds}.`));
  return seats > 1 ? `${hint} ${seats} will be elected.` : hint;
}

const METHODS = { ranked_choice: ranking, score: numbers, cumulative: numbers, quadratic: numbers };

/** One question. `read` gives its entries; `fail` shows what is wrong by it, or with an empty text nothing. */
export function question(position, candidates, { shop, ...given }) {
  const { id, title, description, votingMethod } = position;
  const [body, read] = (METHODS[votingMethod] ?? choices)(position, candidates, given);
  const hint = [description, hintOf(position, candidates.length)].filter(Boolean).join(' ');
  const wrong = el('p', { className: 'wrong', id: `wrong-${id}` });
  const element = el('fieldset', { 'aria-describedby': `hint-${id} wrong-${id}` });
  element.append(
    el('legend', { textContent: title }),
    el('p', { className: 'hint', id: `hint-${id}`, textContent: hint }),
  );
  element.append(wrong, ...body, ...shop);
  return {
    position,
    candidates,
    element,
    read: () => read().map((entry) => ({ positionId: id, ...entry })),
    fail: (text) => {
      wrong.textContent = text.replace(`position ${id}`, () => `"${title}"`);
    },
  };
}
